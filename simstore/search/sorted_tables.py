"""Fingerprints in memory, sorted once for each segment: the fastest index, and the largest.

Table i holds every fingerprint rotated so that it begins with segment i, sorted: what shares a
segment value stands together, and what shares the next segment's too, within it. Plans of
:mod:`simstore.search.plan` say which ranges to look at.

References:
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3 (sorted,
    permuted tables); the rotations and thresholds are by the pigeonhole rule, as for segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import pays
from simstore.search import table_kernels
from simstore.search.batch_results import BatchResults, FoundPairs, verified_pairs
from simstore.search.hamming import verify, verify_values
from simstore.search.plan import Plan, Rates
from simstore.search.rotation import integers_of, restored, rotated, turned_value, words_of
from simstore.search.scan import scan_many
from simstore.search.segments import SEGMENT_BITS
from simstore.search.table_build import sorted_copies
from simstore.search.table_lookup import bounds_of_one, near_places, offsets_of, paired_places
from simstore.search.table_plans import (
    CROWDED,
    TablePlan,
    TablePlanner,
    TableRange,
    found_before,
    table_plan,
)

# Who keeps so many in memory asks often: seconds of NumPy work expected for one of them.
_SECONDS_EACH = 1e-6
# Matches of one query for which there is room at first.
_FIRST_ROOM = 256
# Look-ups in a table that take less time than a thread may wait for the interpreter's lock.
_FEW_LOOK_UPS = 64
# Pairs that are held at a time.
_HELD_PAIRS = 1 << 22
# Queries that a scan for pairs compares at a time.
_SCAN_ROWS = 1 << 10
# One number joined with those of its range, and compared with one of them.
PAIR_RATES = Rates(0.012, 0.0006, 0.1, 0.0, 0.0004, 0.0, 0.0)


class SortedTables:
    """All fingerprints of a set, to be asked for those near others.

    It holds ceil(M / 16) copies. Any number of threads may ask it. Compiled look-ups of many let go
    of the interpreter's lock; those of one or a few take microseconds, and keep it.

    Args:
        words: Fingerprints of M bits, shape (n, ceil(M / 64)), in any order; not kept. Repeated
            ones count once.
        bits: M, from 1 to 128.

    Attributes:
        bits: M.
        count: Distinct fingerprints.
    """

    def __init__(self, words: NDArray[np.uint64], bits: int) -> None:
        self.bits = bits
        self._tables, self._rests = sorted_copies(words, bits)
        self._offsets = np.stack([offsets_of(table) for table in self._tables])
        self.count: int = self._tables.shape[1]
        self._compiled_seconds = self.count * _SECONDS_EACH
        self._planner = TablePlanner(self._tables, self._offsets, bits)

    @property
    def memory_bytes(self) -> int:
        """Bytes that the tables hold in memory."""
        return self._tables.nbytes + self._rests.nbytes + self._offsets.nbytes

    def words(self) -> NDArray[np.uint64]:
        """Return the fingerprints, shape (n, ceil(M / 64)), ascending."""
        return self._words_at(0, np.arange(self.count))

    def near(self, value: int, radius: int) -> list[tuple[int, int]]:
        """Return the fingerprints within a radius of one.

        Args:
            value: A fingerprint, a non-negative integer below ``2**M``.
            radius: Largest distance, in bits, inclusive.

        Returns:
            (fingerprint, distance), ascending by distance, then fingerprint.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        prepared = self._planner.plan(radius)
        if prepared.ranges and self.bits <= 64:
            candidates = (
                self._compiled_candidates(prepared, value, radius)
                if pays(self._compiled_seconds)
                else self._plain_candidates(prepared, value, radius)
            )
            if candidates is not None:
                return verify_values(candidates, value, radius)
        found = self.near_many(words_of(value, self.bits), radius)
        return list(zip(integers_of(found.words), found.distances.tolist(), strict=True))

    def near_many(
        self, words: NDArray[np.uint64], radius: int, *, plan: Plan | None = None
    ) -> BatchResults:
        """Return the fingerprints within a radius of each of many.

        Args:
            words: Fingerprints, shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
            plan: A plan for this radius or a larger one; None: the cheapest.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        prepared = table_plan(plan, self.bits) if plan else self._planner.plan(radius)
        crowded = np.zeros(len(words), np.bool_)
        if not plan:
            crowded = self._planner.crowded(prepared, words)
        parts = [self._matches(prepared, words, np.flatnonzero(~crowded), radius)]
        for row in np.flatnonzero(crowded):
            own = self._planner.own_plan(words[row : row + 1], radius)
            parts.append(self._matches(own, words, np.array([row]), radius))
        rows, found, far = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((*found.T[::-1], far, rows))
        return BatchResults(rows[order], found[order], far[order])

    def candidate_counts(self, words: NDArray[np.uint64], plan: Plan) -> NDArray[np.int64]:
        """Return how many fingerprints a plan compares with each query; int64, shape (m,)."""
        counts = np.zeros(len(words), np.int64)
        for one in table_plan(plan, self.bits).ranges:
            counts += self._planner.candidate_counts(one, words)
        return counts

    def near_pairs(self, radius: int) -> Iterator[FoundPairs]:
        """Yield all pairs of different fingerprints within a radius, each once, in no order.

        Args:
            radius: Largest distance, in bits, inclusive.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        prepared = self._planner.plan(radius, PAIR_RATES)
        if not prepared.ranges:
            yield from self._scanned_pairs(radius)
        for number, one in enumerate(prepared.ranges):
            for lefts, rights in self._paired(one, radius):
                left, right = (self._words_at(one.part.segment, at) for at in (lefts, rights))
                fresh = ~found_before(prepared.ranges[:number], left ^ right)
                yield verified_pairs(left[fresh], right[fresh], radius)

    def explain(self, value: int, radius: int) -> tuple[Plan, int, int]:
        """Return the plan for a query, its probes, and the candidates that it compares.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        words = words_of(value, self.bits)
        prepared = self._planner.plan(radius)
        if self._planner.crowded(prepared, words)[0]:
            prepared = self._planner.own_plan(words, radius)
        if not prepared.ranges:
            return prepared.plan, 0, self.count
        looked_at = sum(
            int(self._planner.candidate_counts(one, words)[0]) for one in prepared.ranges
        )
        return prepared.plan, sum(len(one.masks) for one in prepared.ranges), looked_at

    def explain_many(
        self, words: NDArray[np.uint64], radius: int
    ) -> tuple[Plan, int, NDArray[np.int64]]:
        """Return the plan for most queries, its probes, and the candidates of each query by it.

        Args:
            words: Fingerprints, shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        prepared = self._planner.plan(radius)
        if not prepared.ranges:
            return prepared.plan, 0, np.full(len(words), self.count)
        probes = sum(len(one.masks) for one in prepared.ranges)
        return prepared.plan, probes, self.candidate_counts(words, prepared.plan)

    # One query

    def _compiled_candidates(
        self, prepared: TablePlan, value: int, radius: int
    ) -> list[int] | None:
        """Return candidates within the radius; None: they are too many to look at."""
        room = _FIRST_ROOM
        while True:
            found = np.empty(room, np.uint64)
            count = table_kernels.near_values(
                tables=self._tables,
                offsets=self._offsets,
                parts=prepared.parts,
                masks=prepared.masks,
                used_bits=self.bits,
                query=value,
                radius=radius,
                limit=CROWDED,
                found=found,
            )
            if count < 0:
                return None
            if count <= room:
                values: list[int] = found[:count].tolist()
                return values
            room = count

    def _plain_candidates(self, prepared: TablePlan, value: int, radius: int) -> list[int] | None:
        candidates: list[int] = []
        looked_at = 0
        unused = 64 - self.bits
        for one in prepared.ranges:
            segment = one.part.segment
            table, offsets = self._tables[segment], self._offsets[segment]
            wanted = turned_value(value, self.bits, one.start) << unused
            query = np.uint64(wanted)
            for mask in one.masks.tolist():
                begin, end = bounds_of_one(table, offsets, wanted ^ mask, one.length)
                looked_at += end - begin
                if looked_at > CROWDED:
                    return None
                words = table[begin:end]
                for word in words[np.bitwise_count(words ^ query) <= radius].tolist():
                    back = self.bits - one.start
                    candidates.append(turned_value(word >> unused, self.bits, back))
        return candidates

    # Many queries

    def _matches(
        self,
        prepared: TablePlan,
        words: NDArray[np.uint64],
        asked: NDArray[np.int64],
        radius: int,
    ) -> BatchResults:
        """Return the matches of some of the queries, in no order."""
        if not prepared.ranges:
            everything = self._words_at(0, np.arange(self.count))
            rows, positions, far = scan_many(everything, words[asked], radius)
            return BatchResults(asked[rows], everything[positions], far)
        results = []
        for number, one in enumerate(prepared.ranges):
            rows, places = self._near_places(one, words, asked, radius)
            found = self._words_at(one.part.segment, places)
            kept, far = verify(found, words[rows], radius)
            rows, found = rows[kept], found[kept]
            fresh = ~found_before(prepared.ranges[:number], found ^ words[rows])
            results.append(BatchResults(rows[fresh], found[fresh], far[fresh]))
        rows, found, far = (np.concatenate(each) for each in zip(*results, strict=True))
        return BatchResults(rows, found, far)

    def _near_places(
        self, one: TableRange, words: NDArray[np.uint64], asked: NDArray[np.int64], radius: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        segment = one.part.segment
        queries = np.ascontiguousarray(rotated(words, self.bits, one.start)[0])
        # Neighbours in the table are asked for one after the other: they are in the cache.
        prefixes = (queries[asked] >> np.uint64(64 - SEGMENT_BITS)).astype(np.uint16)
        order = asked[np.argsort(prefixes, kind="stable")]
        look_up: Callable[..., Any] = near_places
        if pays(self._compiled_seconds):
            few = len(asked) * len(one.masks) <= _FEW_LOOK_UPS
            look_up = table_kernels.near_places_of_few if few else table_kernels.near_places
        rows, places, _ = look_up(
            self._tables[segment],
            self._offsets[segment],
            queries,
            order,
            one.masks,
            one.length,
            radius,
        )
        return rows, places

    def _words_at(self, segment: int, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        parts = [self._tables[segment][places]]
        if self.bits > 64:
            parts.append(self._rests[segment][places])
        return restored(np.stack(parts), self.bits, SEGMENT_BITS * segment)

    # Pairs

    def _paired(
        self, one: TableRange, radius: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        segment = one.part.segment
        table, offsets = self._tables[segment], self._offsets[segment]
        for mask in one.masks.tolist():
            if not pays(self._compiled_seconds):
                yield from paired_places(table, offsets, mask, one.length, radius)
                continue
            begin = 0
            while begin < self.count:
                lefts, rights, begin = table_kernels.paired_places(
                    table, offsets, mask, one.length, radius, begin, _HELD_PAIRS
                )
                yield lefts, rights

    def _scanned_pairs(self, radius: int) -> Iterator[FoundPairs]:
        words = self._words_at(0, np.arange(self.count))
        for begin in range(0, self.count, _SCAN_ROWS):
            rows, positions, _ = scan_many(words[begin:], words[begin : begin + _SCAN_ROWS], radius)
            later = positions > rows
            yield verified_pairs(
                words[begin + rows[later]], words[begin + positions[later]], radius
            )
