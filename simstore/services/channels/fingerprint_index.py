"""Find the stored fingerprints within a Hamming radius of a given one, or of many at once.

Whatever engine finds candidates (postings in pages or in the tail, sorted tables, a scan), the
answer is the same: those whose distance is at most the radius, each once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_integers, to_words, word_count
from simstore.search import pages
from simstore.search.hamming import BatchResults, distinct_results, verify, verify_values
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
from simstore.search.segments import (
    SEGMENT_BITS,
    probe_count,
    probe_values,
    segment_values,
    segment_widths,
)
from simstore.search.table_lookup import expanded
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.fingerprints import fingerprints, segment_pages, tail
from simstore.storage.fingerprints.postings import Postings, Probe
from simstore.storage.generations import GenerationRow

if TYPE_CHECKING:
    from simstore.search.sorted_tables import GrowingTables, SortedTables
    from simstore.services.open_store.resident_index import ResidentIndex, ResidentTables

Page = tuple[int, bytes]
_WORD_BITS = 64
_ALL_ONES = (1 << _WORD_BITS) - 1

# Rows of the plain plan above which the planner asks for the posting counts of others.
_SKEWED = 1_000
# Queries from which reading each page once for all of them repays.
_BATCH = 50
# Fingerprints of a tail for each query up to which sorting the tail repays.
_TAIL_EACH = 60
# Costs in microseconds, measured on one core: one query by itself; one page read and unpacked for a
# batch; one record compared there; one fingerprint read and sorted for tables in memory; the tables
# of however few; one fingerprint compared with one query.
_ONE_COST = 40.0
_PAGE_COST = 4.0
_COMPARE_COST = 0.04
_SORT_COST = 0.25
_TABLES_COST = 2_700.0
_SCAN_COST = 0.0002
# Bytes of the plan's pages above which the planner asks for the lengths of others.
_CROWDED_PAGE_BYTES = 1 << 17
# And postings of one of many queries above which it is looked up by itself, so that they are asked.
_CROWDED_POSTINGS = _CROWDED_PAGE_BYTES // 8


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
    tables: SortedTables | ResidentTables, queries: NDArray[np.uint64], radius: int
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
        self.tables: SortedTables | ResidentTables | None = None
        if resident is not None:
            kept = resident.tables if exact else resident.current
            self.tables = kept(snapshot.connection, snapshot, row)
        self._snapshot = snapshot
        self._row = row
        self._is_exact = exact
        self._widths = segment_widths(bits)
        self._is_packed = 0 < row.packed_count == row.fingerprint_count
        self._uniform: dict[int, list[list[float]]] = {}
        self._plans: dict[int, Plan] = {}
        self._exact: set[int] = set()
        self._sorted: SortedTables | None = None
        self._rates = PAGE_RATES if 2 * row.packed_count > row.fingerprint_count else TAIL_RATES

    @cached_property
    def _postings(self) -> Postings:
        return Postings(self._snapshot.connection, self.bits, self._row)

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
            if len(queries) == 1:
                (value,) = to_integers(queries)
                return self._results([self.tables.near(value, radius)])
            return self.tables.near_many(queries, radius)
        if len(queries) == 1 and not self._is_exact:
            (value,) = to_integers(queries)
            known = self._snapshot.store.tail_cache.near(self._row, radius, value)
            if known is not None:
                return self._results([known])
        plan = _plan(self.bits, radius, self.count.bit_length(), len(queries), self._rates)
        tail_tables = self._tail_tables(len(queries))
        if tail_tables is not None and not self._row.packed_count:
            rows, words = tail_tables.near_many(queries, radius)
            return _verified(queries, rows, words, radius)
        if plan.method == "scan" or len(queries) == 1:
            tail_tables = None
        engine = self.engine(len(queries), plan, has_tail_tables=tail_tables is not None)
        is_cheaper = len(queries) * self.count * _SCAN_COST < _TABLES_COST
        if engine == "scan" or (engine == "sorted" and is_cheaper):
            return self.scan(queries, radius)
        if engine == "sorted":
            return self.sorted().near_many(queries, radius)
        if engine == "batch":
            return self._batch(queries, radius, plan.thresholds, tail_tables)
        found = [self.search(value, radius, plan).found for value in to_integers(queries)]
        return self._results(found)

    def _results(self, found: list[list[tuple[int, int]]]) -> BatchResults:
        """Return what was found for each query as one."""
        near = [one for some in found for one in some]
        return BatchResults(
            np.repeat(np.arange(len(found)), [len(some) for some in found]),
            to_words([value for value, _ in near], self.bits),
            np.array([distance for _, distance in near], np.int64),
        )

    def may_be_near(self, words: NDArray[np.uint64], radius: int) -> bool:
        """Return whether a fingerprint may be within a radius of one; False: none is.

        Args:
            words: Shape (ceil(M / 64),).
            radius: Largest distance, in bits, inclusive.

        Raises:
            CorruptStore: A page is damaged.
        """
        (value,) = to_integers(words[None])
        if self.tables is not None:
            return bool(self.tables.near(value, radius))
        plan = _plan(self.bits, radius, self.count.bit_length(), 1, self._rates)
        is_single = plan.method != "scan" and self.engine(1, plan) == "single"
        packed_count = self._row.packed_count
        held = self._tail_tables(1)
        if held is not None and (is_single or not packed_count):
            if held.near(value, radius):
                return True
            if not packed_count:
                return False
            held_pages, _, crowded = self._fetch(
                self._probes(value, plan.thresholds), _SKEWED, in_tail=False
            )
            if not crowded:
                return bool(self._compare(value, radius, held_pages, None)[0])
        elif is_single and not packed_count and self.bits <= _WORD_BITS:
            values = self._postings.tail_values(self._probes(value, plan.thresholds), _SKEWED)
            if values is not None:
                # Those of the table have a sign.
                near = [
                    stored & _ALL_ONES
                    for stored in values
                    if (stored & _ALL_ONES ^ value).bit_count() <= radius
                ]
                found = verify_values(near, value, radius) if near else []
                # What is not new is looked up again, to be compared.
                self._snapshot.store.tail_cache.note_near(self._row, radius, value, found)
                return bool(found)
        return len(self.near_many(words[None], radius).query_rows) > 0

    def engine(
        self, query_count: int, plan: Plan, *, has_tail_tables: bool = False
    ) -> Literal["scan", "sorted", "batch", "single"]:
        """Return the fastest way to answer many queries.

        Args:
            query_count: How many.
            plan: The plan for them.
            has_tail_tables: The tail is in memory.

        Returns:
            ``scan``: all fingerprints are compared; ``sorted``: all are read and sorted; ``batch``:
            each page is read once for all queries; ``single``: one query after the other.
        """
        if plan.method == "scan":
            return "scan"
        tail_count = self._row.fingerprint_count - self._row.packed_count
        is_batch = query_count >= _BATCH and query_count * _TAIL_EACH >= tail_count
        each = _ONE_COST
        if is_batch:
            probes = sum(map(probe_count, self._widths, plan.thresholds))
            each = probes * (_PAGE_COST + _COMPARE_COST * self.count / (1 << SEGMENT_BITS))
        if not has_tail_tables and query_count * each > self.count * _SORT_COST:
            return "sorted"
        return "batch" if has_tail_tables or is_batch else "single"

    def search_many(
        self, queries: NDArray[np.uint64], radius: int, plan: Plan
    ) -> list[LookupResult]:
        """Return the result of :meth:`search` for each of many; pages are read once for all.

        What is crowded, where another plan is cheaper, is looked up by itself.

        Args:
            queries: Shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
            plan: From :meth:`plan`.
        """
        values = to_integers(queries)
        engine = self.engine(len(queries), plan)
        if engine == "scan":
            found_of = by_query(*self.scan(queries, radius), len(queries))
            return [LookupResult("scan", found, (), 0, self.count) for found in found_of]
        if engine == "sorted":
            if self._sorted is None:
                self._sorted = self.sorted()
            return by_tables(self._sorted, queries, radius)
        if engine == "single" or not self._is_packed:
            return [self.search(value, radius, plan) for value in values]
        thresholds, probes = plan.thresholds, 0
        compared = np.zeros(len(queries), np.int64)
        rows, words = [np.empty(0, np.int64)], [queries[:0]]
        for segment, threshold in enumerate(thresholds):
            probes += probe_count(self._widths[segment], threshold)
            for turns, found in self._in_pages(queries, radius, segment, threshold, compared):
                rows.append(turns)
                words.append(found)
        results = _verified(queries, np.concatenate(rows), np.concatenate(words), radius)
        found_of = by_query(*results, len(queries))
        return [
            self.search(value, radius, plan)
            if count > _CROWDED_POSTINGS
            else LookupResult("segments", near, thresholds, probes, count)
            for value, near, count in zip(values, found_of, compared.tolist(), strict=True)
        ]

    def everything(self) -> Iterator[NDArray[np.uint64]]:
        """Yield all fingerprints, in no order, as arrays of shape (n, words)."""
        return fingerprints.scan(self._snapshot.connection, self.bits, self._row.generation_id)

    def sorted(self) -> SortedTables:
        """Read and sort all fingerprints."""
        from simstore.search.sorted_tables import SortedTables

        empty = np.empty((0, word_count(self.bits)), np.uint64)
        return SortedTables(np.concatenate([empty, *self.everything()]), self.bits)

    def scan(self, queries: NDArray[np.uint64], radius: int) -> BatchResults:
        """Return the result of :meth:`near_many`, by comparing all fingerprints."""
        rows = [np.empty(0, np.int64)]
        words = [np.empty((0, word_count(self.bits)), np.uint64)]
        for part in self.everything():
            turns, places, _ = scan_many(part, queries, radius)
            rows.append(turns)
            words.append(part[places])
        return _verified(queries, np.concatenate(rows), np.concatenate(words), radius)

    def _tail_tables(self, query_count: int) -> GrowingTables | None:
        """Return the tail in memory; it may hold fingerprints that have gone."""
        snapshot = self._snapshot
        connection = snapshot.connection
        if self._is_exact:
            return None
        return snapshot.store.tail_tables(connection, self.bits, self._row, query_count)

    def _batch(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        thresholds: tuple[int, ...],
        tail_tables: GrowingTables | None,
    ) -> BatchResults:
        """Read each page that any of the queries needs once."""
        connection, bits, row = self._snapshot.connection, self.bits, self._row
        rows = [np.empty(0, np.int64)]
        words = [np.empty((0, word_count(bits)), np.uint64)]
        if row.packed_count:
            for segment, threshold in enumerate(thresholds):
                for turns, found in self._in_pages(queries, radius, segment, threshold):
                    rows.append(turns)
                    words.append(found)
        if tail_tables is not None:
            near = tail_tables.near_many(queries, radius)
        elif row.fingerprint_count > row.packed_count:
            from simstore.search.sorted_tables import SortedTables

            held = np.concatenate([words[0], *tail.scan(connection, bits, row.generation_id)])
            near = SortedTables(held, bits).near_many(queries, radius)[:2]
        else:
            near = rows[0], words[0]
        return _verified(
            queries, np.concatenate([*rows, near[0]]), np.concatenate([*words, near[1]]), radius
        )

    def _in_pages(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        segment: int,
        threshold: int,
        compared: NDArray[np.int64] | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
        """Yield rows of queries, and what is near them in the pages of one segment.

        Args:
            queries: Shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
            segment: Which.
            threshold: Bits of it that are flipped; -1: it is not looked at.
            compared: How many postings each query was compared with, to be added to; what is
                crowded is left out then.
        """
        if threshold < 0:
            return
        turned = pages.rotated(queries, segment)
        leads = pages.leading_values(turned)
        for mask in probe_values(0, SEGMENT_BITS, threshold):
            values = leads ^ mask
            order = np.argsort(values, kind="stable")
            values = values[order]
            for start, end, held in segment_pages.read_for(
                self._snapshot.connection, self.bits, self._row.generation_id, segment, values
            ):
                wanted = values[start:end]
                held_leads = pages.leading_values(held)
                begins = np.searchsorted(held_leads, wanted, "left")
                ends = np.searchsorted(held_leads, wanted, "right")
                if compared is not None:
                    # Each query has one value of a mask.
                    compared[order[start:end]] += ends - begins
                    ends = np.where(compared[order[start:end]] > _CROWDED_POSTINGS, begins, ends)
                for turns, places in expanded(begins, ends - begins):
                    asked = order[start + turns]
                    near, _ = verify(held[places], turned[asked], radius)
                    yield asked[near], pages.restored(held[places[near]], segment)

    def plan(self, radius: int, *, query_count: int = 1, method: str = "auto") -> Plan:
        """Return a plan of the look-up that does not depend on the query's value."""
        return choose_plan(
            self._costs(radius),
            radius,
            self.count,
            query_count=query_count,
            method=method,
            rates=self._rates,
        )

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
        if radius in self._exact:
            bits = self.bits
            turned = pages.rotations(value, bits)
            held = self._postings.own_pages(turned)
            try:
                survivors, compared = pages.near(
                    held, turned, bits, radius, exact=True, most_bytes=_CROWDED_PAGE_BYTES
                )
            except (TypeError, ValueError) as error:
                raise self._snapshot.corrupt(error) from error
            if compared >= 0:
                return verify_values(survivors, value, radius) if survivors else []
        plan = self._plans.get(radius)
        if plan is None:
            plan = self._plans[radius] = self.plan(radius, method="segments")
            if self._is_packed and not any(plan.thresholds):
                # Most asked, and quickest: each segment's own value, in pages alone.
                self._exact.add(radius)
        return self.search(value, radius, plan).found

    def search(self, value: int, radius: int, plan: Plan, *, first: bool = False) -> LookupResult:
        """Return the answer by a plan of segments, or a cheaper one where they are crowded.

        Args:
            value: A non-negative integer below 2**M.
            radius: Largest distance, in bits, inclusive.
            plan: From :meth:`plan`.
            first: Stop at the first segment that gives one.

        Raises:
            CorruptStore: A page is damaged.
        """
        thresholds = plan.thresholds
        probes = self._probes(value, thresholds)
        if first:
            return self._first(value, radius, thresholds, probes)
        held, rows, crowded = self._fetch(probes, _SKEWED)
        if crowded:
            thresholds = self._less_crowded(value, radius)
            probes = self._probes(value, thresholds)
            held, rows, _ = self._fetch(probes)
        found, compared = self._compare(value, radius, held, rows)
        return LookupResult("segments", found, thresholds, len(probes), compared)

    def _first(
        self, value: int, radius: int, thresholds: tuple[int, ...], probes: list[Probe]
    ) -> LookupResult:
        """Return the matches of the first segment that gives any."""
        looked_up = compared = 0
        found: list[tuple[int, int]] = []
        for segment in range(len(thresholds)):
            step = [probe for probe in probes if probe[0] == segment]
            if step and not found:
                held, rows, _ = self._fetch(step)
                found, more = self._compare(value, radius, held, rows)
                looked_up += len(step)
                compared += more
        return LookupResult("segments", found, thresholds, looked_up, compared)

    def _fetch(
        self, probes: list[Probe], limit: int = -1, *, in_tail: bool = True
    ) -> tuple[list[Page], NDArray[np.uint64] | None, bool]:
        """Return pages, rows of the tail, and whether there are so many that others may be fewer.

        Args:
            probes: What to look up.
            limit: Rows from which they are many, and may be incomplete; -1: never.
            in_tail: Look in the tail, too.
        """
        held: list[Page] = []
        rows = None
        crowded = False
        if self._postings.has_pages:
            held = self._postings.pages([pages.page_number(*probe) for probe in probes])
            if limit >= 0:
                try:
                    crowded = sum(len(page[1]) for page in held) > _CROWDED_PAGE_BYTES
                except TypeError as error:
                    raise self._snapshot.corrupt(error) from error
        if in_tail and self._postings.has_tail and not crowded:
            rows = self._postings.tail(probes, limit)
            crowded = limit >= 0 and len(rows) > limit
        return held, rows, crowded

    def _compare(
        self, value: int, radius: int, held: list[Page], rows: NDArray[np.uint64] | None
    ) -> tuple[list[tuple[int, int]], int]:
        """Return the matches among what was fetched, and how many postings were compared."""
        survivors: list[int] = []
        compared = 0
        if held:
            try:
                survivors, compared = pages.near(
                    held, pages.rotations(value, self.bits), self.bits, radius
                )
            except (TypeError, ValueError) as error:
                raise self._snapshot.corrupt(error) from error
        if rows is not None and len(rows):
            compared += len(rows)
            places, _ = verify(rows, to_words([value], self.bits)[0], radius)
            if len(places):
                survivors += to_integers(rows[places])
        return verify_values(survivors, value, radius) if survivors else [], compared

    def _probes(self, value: int, thresholds: tuple[int, ...]) -> list[Probe]:
        segments = segment_values(value, self.bits)
        if not any(thresholds):
            return list(enumerate(segments))
        return [
            (segment, near)
            for segment, threshold in enumerate(thresholds)
            for near in probe_values(segments[segment], self._widths[segment], threshold)
        ]

    def _less_crowded(self, value: int, radius: int) -> tuple[int, ...]:
        """Return thresholds that suit this query, by the posting counts of its segments."""
        segments = segment_values(value, self.bits)
        plain = [
            self._postings.count(segment, [segments[segment]])
            for segment in range(len(self._widths))
        ]
        uniform = self._costs(radius)
        costs = []
        for segment, width in enumerate(self._widths):
            row = [0.0, threshold_cost(1, plain[segment], self._rates)]
            if radius >= 1 and width >= 1:
                near = probe_values(segments[segment], width, 1)
                count = self._postings.count(segment, near)
                row.append(threshold_cost(len(near), count, self._rates))
            for threshold in range(2, min(radius, width) + 1):
                # Not counted: at least as crowded as with one bit less.
                estimate = uniform[segment][threshold + 1]
                row.append(max(estimate, row[-1]) + probe_count(width, threshold))
            costs.append(row)
        chosen = choose_plan(costs, radius, self.count, method="segments", rates=self._rates)
        return chosen.thresholds

    def _costs(self, radius: int) -> list[list[float]]:
        known = self._uniform.get(radius)
        if known is None:
            known = uniform_costs(self.bits, radius, self.count, self._rates)
            self._uniform[radius] = known
        return known


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


def _verified(
    queries: NDArray[np.uint64], rows: NDArray[np.int64], words: NDArray[np.uint64], radius: int
) -> BatchResults:
    """Return the matches, each once, in order."""
    near, distances = verify(words, queries[rows], radius)
    return distinct_results(rows[near], words[near], distances)
