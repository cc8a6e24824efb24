"""In-memory fingerprint indexes: a sorted table for each segment, for search within a radius.

Table i holds every fingerprint rotated so that it begins with segment i, sorted: fingerprints that
share a segment value are neighbours. Plans of :mod:`simstore.search.plan` name the ranges to
compare.

References:
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3 (sorted,
    permuted tables); the rotations and thresholds are by the pigeonhole rule, as for segments.
    Bentley, Saxe: Decomposable searching problems I: static-to-dynamic transformation,
    Journal of Algorithms 1, 1980, section 2 (the logarithmic method, for tables that grow).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import pays
from simstore.fingerprint.simhash import to_integers, to_words
from simstore.index.hamming import sortable
from simstore.index.segments import (
    SEGMENT_BITS,
    restored,
    rotated,
    turned_value,
)
from simstore.search.hamming import (
    BatchResults,
    FoundPairs,
    distinct_results,
    verified_pairs,
    verify,
    verify_values,
)
from simstore.search.plan import PAIR_RATES, Plan, check_radius
from simstore.search.scan import scan_many
from simstore.search.table_lookup import (
    NEAR_PLACES,
    NEAR_PLACES_OF_FEW,
    NEAR_VALUES,
    PAIRED_PLACES,
    bounds,
    expanded,
    near_places,
    offsets_of,
    sorted_copies,
)
from simstore.search.table_plans import (
    CROWDED,
    TablePlan,
    TablePlanner,
    TableRange,
    found_before,
)

# Who keeps so many in memory asks often: seconds of NumPy work expected for one of them.
_SECONDS_EACH = 1e-6
# Matches of one query for which there is room at first.
_FIRST_ROOM = 256
# Look-ups in a table that take less time than a thread may wait for the interpreter's lock.
_FEW_LOOK_UPS = 64
# Pairs that are held at a time.
_HELD_PAIRS = 1 << 22
# Fingerprints that are looked up at a time without Numba, to find pairs.
_PLAIN_ROWS = 1 << 12
# Queries that a scan for pairs compares at a time.
_SCAN_ROWS = 1 << 10


class LookUp(NamedTuple):
    """The plan that one query ran, and what it cost.

    Attributes:
        plan: The plan that was run.
        probe_count: Ranges of the tables that were looked at; 0 for a scan.
        candidate_count: Fingerprints compared; one counts for each range that it is in.
    """

    plan: Plan
    probe_count: int
    candidate_count: int


class SortedTables:
    """Sorted tables of a set of fingerprints, to find those near others.

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
        self._held = (self._tables, self._offsets)
        self.count: int = self._tables.shape[1]
        self._compiled_seconds = self.count * _SECONDS_EACH
        self._planner = TablePlanner(self._offsets, bits)

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
        found = self.near_many(to_words([value], self.bits), radius)
        return list(zip(to_integers(found.words), found.distances.tolist(), strict=True))

    def near_many(self, words: NDArray[np.uint64], radius: int) -> BatchResults:
        """Return the fingerprints within a radius of each of many.

        Args:
            words: Fingerprints, shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        parts = [
            self._matches(prepared, words, rows, radius)
            for prepared, rows in self._plans(words, radius)
        ]
        rows, found, far = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((*found.T[::-1], far, rows))
        return BatchResults(rows[order], found[order], far[order])

    def look_ups(self, words: NDArray[np.uint64], radius: int) -> list[LookUp]:
        """Return how `near` and `near_many` look up each query.

        Args:
            words: Fingerprints, shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        found = {}
        for prepared, rows in self._plans(words, radius):
            probe_count = sum(len(one.masks) for one in prepared.ranges)
            counts = np.full(len(rows), 0 if prepared.ranges else self.count)
            for one in prepared.ranges:
                counts += self._planner.candidate_counts(one, words[rows])
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                found[row] = LookUp(prepared.plan, probe_count, count)
        return [found[row] for row in range(len(words))]

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
                left, right = (self._words_at(one.segment, at) for at in (lefts, rights))
                fresh = ~found_before(prepared.ranges[:number], left ^ right)
                yield verified_pairs(left[fresh], right[fresh], radius)

    # One query

    def _compiled_candidates(
        self, prepared: TablePlan, value: int, radius: int
    ) -> list[int] | None:
        """Return candidates within the radius; None: they are too many to look at."""
        room = _FIRST_ROOM
        while True:
            found = np.empty(room, np.uint64)
            count = NEAR_VALUES(
                self._held, prepared.asked, self.bits, value, radius, CROWDED, found
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
            segment = one.segment
            table, offsets = self._tables[segment], self._offsets[segment]
            query = np.uint64(turned_value(value, self.bits, one.start) << unused)
            for begin, end in np.transpose(bounds(offsets, query ^ one.masks, one.length)).tolist():
                looked_at += end - begin
                if looked_at > CROWDED:
                    return None
                words = table[begin:end]
                for word in words[np.bitwise_count(words ^ query) <= radius].tolist():
                    back = self.bits - one.start
                    candidates.append(turned_value(word >> unused, self.bits, back))
        return candidates

    # Many queries

    def _plans(
        self, words: NDArray[np.uint64], radius: int
    ) -> list[tuple[TablePlan, NDArray[np.int64]]]:
        """Return the plans that together look up all queries, and the rows of each plan."""
        prepared = self._planner.plan(radius)
        crowded = self._planner.crowded(prepared, words)
        own = [
            (self._planner.own_plan(words[row : row + 1], radius), np.array([row]))
            for row in np.flatnonzero(crowded)
        ]
        return [(prepared, np.flatnonzero(~crowded)), *own]

    def _matches(
        self,
        prepared: TablePlan,
        words: NDArray[np.uint64],
        selected: NDArray[np.int64],
        radius: int,
    ) -> BatchResults:
        """Return the matches of some of the queries, in no order."""
        if not prepared.ranges:
            everything = self._words_at(0, np.arange(self.count))
            rows, positions, far = scan_many(everything, words[selected], radius)
            return BatchResults(selected[rows], everything[positions], far)
        results = []
        for number, one in enumerate(prepared.ranges):
            rows, places = self._near_places(one, words, selected, radius)
            found = self._words_at(one.segment, places)
            kept, far = verify(found, words[rows], radius)
            rows, found = rows[kept], found[kept]
            fresh = ~found_before(prepared.ranges[:number], found ^ words[rows])
            results.append(BatchResults(rows[fresh], found[fresh], far[fresh]))
        rows, found, far = (np.concatenate(each) for each in zip(*results, strict=True))
        return BatchResults(rows, found, far)

    def _near_places(
        self, one: TableRange, words: NDArray[np.uint64], selected: NDArray[np.int64], radius: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        segment = one.segment
        queries = np.ascontiguousarray(rotated(words, self.bits, one.start)[0])
        # Neighbours in the table are asked for one after the other: they are in the cache.
        prefixes = (queries[selected] >> np.uint64(64 - SEGMENT_BITS)).astype(np.uint16)
        order = selected[np.argsort(prefixes, kind="stable")]
        look_up: Callable[..., Any] = near_places
        if pays(self._compiled_seconds):
            few = len(selected) * len(one.masks) <= _FEW_LOOK_UPS
            look_up = NEAR_PLACES_OF_FEW if few else NEAR_PLACES
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
        segment = one.segment
        table, offsets = self._tables[segment], self._offsets[segment]
        for mask in one.masks.tolist():
            if not pays(self._compiled_seconds):
                for order in np.split(np.arange(self.count), range(0, self.count, _PLAIN_ROWS)):
                    lefts, rights, _ = near_places(
                        table,
                        offsets,
                        table,
                        order,
                        np.array([mask], np.uint64),
                        one.length,
                        radius,
                    )
                    later = rights > lefts
                    yield lefts[later], rights[later]
                continue
            begin = 0
            while begin < self.count:
                lefts, rights, begin = PAIRED_PLACES(
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


# Fingerprints of a buffer: a thousand queries compare with them in some milliseconds.
_BUFFERED = 2_048


class GrowingTables:
    """Immutable sorted tables of some fingerprints; growing makes new ones.

    Args:
        bits: M, from 1 to 128.
        words: Fingerprints to begin with, shape (n, ceil(M / 64)); None: none.

    Attributes:
        levels: Tables, the largest first; an extension merges the smallest.
    """

    def __init__(self, bits: int, words: NDArray[np.uint64] | None = None) -> None:
        self._bits = bits
        self._buffer = np.empty((0, -(-bits // 64)), np.uint64)
        self.levels: tuple[SortedTables, ...] = ()
        if words is not None:
            self.levels = (SortedTables(words, bits),)

    def __len__(self) -> int:
        return len(self._buffer) + sum(tables.count for tables in self.levels)

    @property
    def memory_bytes(self) -> int:
        """Bytes that the tables hold in memory."""
        return self._buffer.nbytes + sum(tables.memory_bytes for tables in self.levels)

    @property
    def is_merged(self) -> bool:
        """Return whether one sorted table a segment holds everything."""
        return len(self.levels) == 1 and not len(self._buffer)

    def merged(self) -> GrowingTables:
        """Return the same fingerprints in one level."""
        if self.is_merged:
            return self
        words = [self._buffer, *(tables.words() for tables in self.levels)]
        return GrowingTables(self._bits, np.concatenate(words))

    def extended(self, words: NDArray[np.uint64]) -> GrowingTables:
        """Return tables with more fingerprints; these do not change.

        Args:
            words: Fingerprints, shape (n, ceil(M / 64)).
        """
        if not len(words):
            return self
        grown = GrowingTables(self._bits)
        grown.levels, grown._buffer = self.levels, np.concatenate((self._buffer, words))
        if len(grown._buffer) >= _BUFFERED:
            last, levels = grown._buffer, self.levels
            while levels and levels[-1].count <= len(last):
                last, levels = np.concatenate((levels[-1].words(), last)), levels[:-1]
            grown.levels = (*levels, SortedTables(last, self._bits))
            grown._buffer = words[:0]
        return grown

    def near(self, value: int, radius: int) -> list[tuple[int, int]]:
        """Return the fingerprints within a radius of one; arguments as of `SortedTables.near`.

        Returns:
            (fingerprint, distance), ascending by distance, then fingerprint, each once.
        """
        found = [tables.near(value, radius) for tables in self.levels]
        close: list[int] = []
        if len(self._buffer) and self._bits <= 64:
            column = self._buffer[:, 0]
            close = column[np.bitwise_count(column ^ np.uint64(value)) <= radius].tolist()
        elif len(self._buffer):
            _, places, _ = scan_many(self._buffer, to_words([value], self._bits), radius)
            close = to_integers(self._buffer[places])
        if len(found) == 1 and not close:
            return found[0]
        return verify_values([*close, *(one for some in found for one, _ in some)], value, radius)

    def near_many(self, words: NDArray[np.uint64], radius: int) -> BatchResults:
        """Return the fingerprints within a radius of each of many.

        Args:
            words: Fingerprints, shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
        """
        parts = [tables.near_many(words, radius) for tables in self.levels]
        if self.is_merged:
            return parts[0]
        rows, places, far = scan_many(self._buffer, words, radius)
        parts.append(BatchResults(rows, self._buffer[places], far))
        return distinct_results(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def look_ups(self, words: NDArray[np.uint64], radius: int) -> list[LookUp]:
        """Return how each query is looked up: the plan of the largest tables, candidates of all."""
        scan = LookUp(Plan("scan", (), 0.0), 0, 0)
        each = [tables.look_ups(words, radius) for tables in self.levels] or [[scan] * len(words)]
        return [
            own[0]._replace(
                candidate_count=len(self._buffer) + sum(one.candidate_count for one in own)
            )
            for own in zip(*each, strict=True)
        ]


# Fingerprints up to which comparing each with each is quicker than sorting them.
_FEW = 1_000

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def near_pairs(words: NDArray[np.uint64], bits: int, radius: int) -> Pairs:
    """Return all pairs of fingerprints within a radius; equal ones too.

    Args:
        words: Fingerprints of M bits, shape (n, ceil(M / 64)).
        bits: M.
        radius: Largest distance, in bits, inclusive.

    Returns:
        Rows of the one and of the other of each pair, the first smaller, ascending, distinct;
        int64, shape (pairs,) each.

    Raises:
        InvalidParameter: The radius is not from 0 to M.
    """
    check_radius(radius, bits)
    if len(words) <= _FEW:
        first, second, _ = scan_many(words, words, radius)
        later = second > first
        return first[later], second[later]
    keys = sortable(words)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(starts, append=len(words))
    distinct = ordered[starts]
    codes = [_codes_of_equals(order, starts, sizes)]
    for found in SortedTables(words[order[starts]], bits).near_pairs(radius):
        left, right = (np.searchsorted(distinct, sortable(side)) for side in found[:2])
        # Each row of the one with each row of the other.
        for pairs, ones in expanded(starts[left], sizes[left]):
            for places, others in expanded(starts[right[pairs]], sizes[right[pairs]]):
                codes.append(_codes(order[ones[places]], order[others], len(order)))
    # Sorted, not np.unique, which hashes first.
    ascending = np.sort(np.concatenate(codes))
    return ascending // len(words), ascending % len(words)


def _codes_of_equals(
    order: NDArray[np.int64], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the pairs of rows that hold one fingerprint."""
    places = np.arange(len(order))
    behind = np.repeat(starts + sizes, sizes) - places - 1
    codes = [np.empty(0, np.int64)]
    for ones, others in expanded(places + 1, behind):
        codes.append(_codes(order[ones], order[others], len(order)))
    return np.concatenate(codes)


def _codes(one: NDArray[np.int64], other: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return a number for each pair of rows, ascending as the pairs are."""
    return np.minimum(one, other) * count + np.maximum(one, other)
