"""Find the stored fingerprints within a Hamming radius of a given one, or of many at once.

Whatever finds candidates (runs of the index, segment columns, tables in memory, a scan), the answer
is the same: those whose distance is at most the radius, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_integers, to_words, word_count
from simstore.index.hamming import FingerprintRuns, Matches
from simstore.index.segments import probe_count, probe_values, segment_values, segment_widths
from simstore.search.hamming import BatchResults, verified, verify_values
from simstore.search.plan import (
    PAGE_RATES,
    TAIL_RATES,
    Plan,
    Rates,
    choose_plan,
    threshold_cost,
    uniform_costs,
)
from simstore.search.scan import scan_many
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import index_pages
from simstore.storage.fingerprints import fingerprints, packed, tail
from simstore.storage.generations import GenerationRow

if TYPE_CHECKING:
    from simstore.search.sorted_tables import GrowingTables, SortedTables
    from simstore.services.open_store.resident_index import ResidentIndex

# Rows of the segment columns for one query above which the tail is read into memory instead.
_CROWDED_ROWS = 1_000


_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The fingerprints within the radius of a query, and how they were found.

    Attributes:
        method: As of :class:`SampleExplanation`, set by the code that ran.
        found: Fingerprints and their distances, ascending by distance, then fingerprint.
        thresholds: Bits flipped in each segment; -1: the segment was not looked at.
        probe_count: Segment values looked up.
        candidate_count: Postings compared; a fingerprint counts for each probe that it shares.
    """

    method: str
    found: list[tuple[int, int]]
    thresholds: tuple[int, ...]
    probe_count: int
    candidate_count: int


def by_tables(
    tables: GrowingTables, queries: NDArray[np.uint64], radius: int
) -> list[LookupResult]:
    """Return the results of many queries, found in tables in memory.

    Args:
        tables: All fingerprints.
        queries: Shape (m, ceil(M / 64)).
        radius: Largest distance, in bits, inclusive.
    """
    if len(queries) == 1:
        found_of = [tables.near(value, radius) for value in to_integers(queries)]
    else:
        found_of = by_query(*tables.near_many(queries, radius), len(queries))
    return [
        LookupResult(
            "sorted" if one.plan.method == "segments" else "scan",
            found,
            one.plan.thresholds,
            one.probe_count,
            one.candidate_count,
        )
        for found, one in zip(found_of, tables.look_ups(queries, radius), strict=True)
    ]


class FingerprintIndex:
    """The look-up of fingerprints in one snapshot.

    Args:
        snapshot: The store in a transaction.
        row: Its generation.
        resident: Answer many from what is kept in memory.
        exact: Return no fingerprint that has gone. Caches may still hold some, which no document
            has any more.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        row: GenerationRow,
        *,
        resident: ResidentIndex | None = None,
        exact: bool = True,
    ) -> None:
        self.bits = bits = snapshot.scheme.bits
        self.count = row.fingerprint_count
        self.tables: GrowingTables | None = None
        if resident is not None:
            where = snapshot.connection, snapshot, row
            self.tables = resident.tables(*where) if exact else resident.current(*where).tables
        self._snapshot = snapshot
        self._row = row
        self._is_exact = exact
        self._widths = segment_widths(bits)
        self._plans: dict[int, Plan] = {}
        self._kept: GrowingTables | None = None
        self._rates = PAGE_RATES if 2 * row.packed_count > row.fingerprint_count else TAIL_RATES

    @cached_property
    def _runs(self) -> FingerprintRuns:
        index_pages.map_file(self._snapshot.connection)
        return packed.runs_of(self._snapshot.connection, self.bits, self._row.generation_id)

    @cached_property
    def _has_gone(self) -> bool:
        return self._runs.count > self._row.packed_count

    def near_many(self, queries: NDArray[np.uint64], radius: int) -> BatchResults:
        """Return the fingerprints within a radius of each of many queries.

        Args:
            queries: Shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.

        Returns:
            Ascending by query, then distance, then fingerprint.

        Raises:
            CorruptStore: A page is damaged.
        """
        if self.tables is not None:
            return self.tables.near_many(queries, radius)
        plan = _plan(self.bits, radius, self.count.bit_length(), len(queries), self._rates)
        if plan.method == "scan":
            return self.scan(queries, radius)
        rows, words, _ = self._survivors(queries, radius, plan.thresholds)
        return verified(rows, words, queries, radius)

    def _survivors(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        thresholds: Sequence[int],
        compared: NDArray[np.int64] | None = None,
        *,
        in_file: bool = False,
        own: dict[int, tuple[int, ...]] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64], bool]:
        """Return what may be near by the values of segments, in runs and in the tail.

        Args:
            queries: Shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
            thresholds: Bits flipped in each segment, -1: it is not looked at.
            compared: How many entries each query was compared with, to be added to.
            in_file: Look the tail up by its columns, whatever is in memory.
            own: Thresholds of queries whose segments are crowded, to be added to.

        Returns:
            Rows of queries, fingerprints, some several times, still to be verified; and whether
            tables in memory gave those of the tail.
        """
        parts = []
        by_tables = False
        if self._row.packed_count:
            parts.append(self._in_runs(queries, radius, thresholds, compared))
        if self._row.fingerprint_count > self._row.packed_count:
            kept = None if in_file else self._tail_tables(len(queries))
            found = None
            if kept is None:
                other = (own if own is not None else {}) if in_file else None
                found = self._in_columns(queries, radius, thresholds, compared, other)
            if found is None:
                if kept is None:
                    opened, connection = self._snapshot.store, self._snapshot.connection
                    kept = opened.read_tail(connection, self.bits, self._row)
                found = self._in_tables(kept, queries, radius, compared)
                by_tables = True
            parts.append(found)
        some = [part for part in parts if len(part[0])]
        if len(some) == 1:
            return *some[0], by_tables
        if not some:
            return _NO_ROWS, queries[:0], by_tables
        rows, words = (np.concatenate(each) for each in zip(*some, strict=True))
        return rows, words, by_tables

    def _in_runs(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        thresholds: Sequence[int],
        compared: NDArray[np.int64] | None,
    ) -> Matches:
        rows, words = self._runs.near(queries, radius, thresholds, compared)
        if len(rows) and self._has_gone:
            there = ~packed.are_gone(
                self._snapshot.connection, self.bits, self._row.generation_id, words
            )
            rows, words = rows[there], words[there]
        return rows, words

    def _tail_tables(self, query_count: int) -> GrowingTables | None:
        """Return the tail in memory, where that repays; it may hold some that have gone."""
        if self._kept is None:
            opened, connection = self._snapshot.store, self._snapshot.connection
            self._kept = opened.tail_tables(connection, self.bits, self._row, query_count)
        return self._kept

    def _in_tables(
        self,
        kept: GrowingTables,
        queries: NDArray[np.uint64],
        radius: int,
        compared: NDArray[np.int64] | None,
    ) -> Matches:
        """Return what is near in a tail in memory."""
        if compared is not None:
            compared += [one.candidate_count for one in kept.look_ups(queries, radius)]
        if len(queries) == 1:
            (value,) = to_integers(queries)
            close = kept.near(value, radius)
            if not close:
                return _NO_ROWS, queries[:0]
            words = to_words([found for found, _ in close], self.bits)
            rows = np.zeros(len(words), np.int64)
        else:
            rows, words, _ = kept.near_many(queries, radius)
        if len(rows) and self._is_exact:
            # Some of those in memory may have left the tail.
            number = self._row.generation_id
            there = tail.among(self._snapshot.connection, self.bits, number, words)
            rows, words = rows[there], words[there]
        return rows, words

    def _in_columns(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        thresholds: Sequence[int],
        compared: NDArray[np.int64] | None,
        own: dict[int, tuple[int, ...]] | None,
    ) -> Matches | None:
        """Return what shares a segment's value by the indexed columns of the tail.

        Args:
            queries: Shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
            thresholds: Bits flipped in each segment, -1: it is not looked at.
            compared: How many rows each query was compared with, to be added to.
            own: Thresholds of queries whose segments are crowded, to be added to.

        Returns:
            None: a query's segments are crowded, and it is to have no thresholds of its own.
        """
        rows, parts = [np.empty(0, np.int64)], [queries[:0]]
        for row, value in enumerate(to_integers(queries)):
            words = self._of_columns(value, thresholds, _CROWDED_ROWS)
            if len(words) > _CROWDED_ROWS:
                if own is None:
                    return None
                own[row] = self._less_crowded(value, radius)
                words = self._of_columns(value, own[row], None)
            if compared is not None:
                compared[row] += len(words)
            rows.append(np.full(len(words), row))
            parts.append(words)
        return np.concatenate(rows), np.concatenate(parts)

    def _of_columns(
        self, value: int, thresholds: Sequence[int], limit: int | None
    ) -> NDArray[np.uint64]:
        segments = segment_values(value, self.bits)
        probes = [
            (segment, probe_values(segments[segment], self._widths[segment], threshold))
            for segment, threshold in enumerate(thresholds)
            if threshold >= 0
        ]
        return tail.candidates(
            self._snapshot.connection, self.bits, self._row.generation_id, probes, limit
        )

    def _less_crowded(self, value: int, radius: int) -> tuple[int, ...]:
        """Return thresholds that suit a query, by the rows that have its segments' values."""
        where = self._snapshot.connection, self.bits, self._row.generation_id
        segments = segment_values(value, self.bits)
        uniform = uniform_costs(self.bits, radius, self.count, self._rates)
        costs = []
        for segment, width in enumerate(self._widths):
            row = [0.0]
            for threshold in range(min(radius, width) + 1):
                if threshold <= 1:
                    values = probe_values(segments[segment], width, threshold)
                    count = tail.posting_count(*where, segment, values)
                    row.append(threshold_cost(len(values), count, self._rates))
                else:
                    # Not counted: at least as crowded as with one bit less.
                    row.append(max(uniform[segment][threshold + 1], row[-1]))
            costs.append(row)
        chosen = choose_plan(costs, radius, self.count, method="segments", rates=self._rates)
        return chosen.thresholds

    def may_be_near(self, words: NDArray[np.uint64], radius: int) -> bool:
        """Return whether a fingerprint is within a radius of one.

        Args:
            words: Shape (ceil(M / 64),).
            radius: Largest distance, in bits, inclusive.

        Raises:
            CorruptStore: A page is damaged.
        """
        return len(self.near_many(words[None], radius).query_rows) > 0

    def search_many(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        plan: Plan,
        *,
        first: bool = False,
        in_file: bool = False,
    ) -> list[LookupResult]:
        """Return what is found for each of many queries, and how.

        Args:
            queries: Shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
            plan: From :meth:`plan`.
            first: Stop at the first segment that gives a match.
            in_file: Look the tail up by its columns, whatever is in memory.

        Raises:
            CorruptStore: A page is damaged.
        """
        if plan.method == "scan":
            found_of = by_query(*self.scan(queries, radius), len(queries))
            return [LookupResult("scan", found, (), 0, self.count) for found in found_of]
        if first:
            each = [queries[row : row + 1] for row in range(len(queries))]
            return [self._first(query, radius, plan) for query in each]
        compared = np.zeros(len(queries), np.int64)
        own: dict[int, tuple[int, ...]] = {}
        rows, words, by_tables = self._survivors(
            queries, radius, plan.thresholds, compared, in_file=in_file, own=own
        )
        method = "sorted" if by_tables and not self._row.packed_count else "segments"
        found_of = by_query(*verified(rows, words, queries, radius), len(queries))
        return [
            LookupResult(
                method,
                found,
                own.get(row, plan.thresholds),
                sum(map(probe_count, self._widths, own.get(row, plan.thresholds))),
                count,
            )
            for row, (found, count) in enumerate(zip(found_of, compared.tolist(), strict=True))
        ]

    def _first(self, query: NDArray[np.uint64], radius: int, plan: Plan) -> LookupResult:
        """Return the matches of the first segment that gives any."""
        compared = np.zeros(1, np.int64)
        probes = 0
        near: list[tuple[int, int]] = []
        for segment, threshold in enumerate(plan.thresholds):
            if threshold >= 0 and not near:
                alone = [-1] * len(self._widths)
                alone[segment] = threshold
                _, words, _ = self._survivors(query, radius, alone, compared, in_file=True)
                (value,) = to_integers(query)
                near = verify_values(to_integers(words), value, radius)
                probes += probe_count(self._widths[segment], threshold)
        return LookupResult("segments", near, plan.thresholds, probes, int(compared[0]))

    def near(self, value: int, radius: int) -> list[tuple[int, int]]:
        """Return the fingerprints within a radius and their distances, by its segments.

        Args:
            value: A non-negative integer below 2**M.
            radius: Largest distance, in bits, inclusive.

        Returns:
            Ascending by distance, then fingerprint.

        Raises:
            CorruptStore: A page is damaged.
        """
        plan = self._plans.get(radius)
        if plan is None:
            plan = self._plans[radius] = self.plan(radius, method="segments")
        query = to_words([value], self.bits)
        _, words, _ = self._survivors(query, radius, plan.thresholds)
        return verify_values(to_integers(words), value, radius) if len(words) else []

    def everything(self) -> Iterator[NDArray[np.uint64]]:
        """Yield all fingerprints, in no order, as arrays of shape (n, words)."""
        return fingerprints.scan(self._snapshot.connection, self.bits, self._row.generation_id)

    def sorted(self) -> SortedTables:
        """Return tables of all fingerprints, and no others."""
        if self.tables is not None and self._is_exact:
            return self.tables.levels[0]
        from simstore.services.open_store.resident_index import read_tables

        where = self._snapshot.connection, self.bits, self._row.generation_id
        return read_tables(*where).levels[0]

    def scan(self, queries: NDArray[np.uint64], radius: int) -> BatchResults:
        """Return the result of :meth:`near_many`, by comparing all fingerprints."""
        rows = [np.empty(0, np.int64)]
        words = [np.empty((0, word_count(self.bits)), np.uint64)]
        for part in self.everything():
            turns, places, _ = scan_many(part, queries, radius)
            rows.append(turns)
            words.append(part[places])
        return verified(np.concatenate(rows), np.concatenate(words), queries, radius)

    def plan(self, radius: int, *, query_count: int = 1, method: str = "auto") -> Plan:
        """Return a plan of the look-up that does not depend on the query's value.

        Where each segment's own value is enough, the columns or pages are the index, however few
        fingerprints there are.
        """
        if method == "auto" and radius < len(self._widths):
            method = "segments"
        return choose_plan(
            uniform_costs(self.bits, radius, self.count, self._rates),
            radius,
            self.count,
            query_count=query_count,
            method=method,
            rates=self._rates,
        )


def by_query(
    rows: NDArray[np.int64],
    words: NDArray[np.uint64],
    distances: NDArray[np.int64],
    query_count: int,
) -> list[list[tuple[int, int]]]:
    """Return the fingerprints that were found and their distances, for each query."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(query_count)]
    near = zip(to_integers(words), distances.tolist(), strict=True)
    for row, one in zip(rows.tolist(), near, strict=True):
        found[row].append(one)
    return found


@lru_cache(256)
def _plan(bits: int, radius: int, count_bits: int, query_count: int, rates: Rates) -> Plan:
    """Return how to look among about ``2**count_bits`` fingerprints; any plan finds all."""
    count = 1 << count_bits
    costs = uniform_costs(bits, radius, count, rates)
    return choose_plan(costs, radius, count, query_count=query_count, rates=rates)
