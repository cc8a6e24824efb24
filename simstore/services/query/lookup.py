"""Look up one fingerprint: the plan for it, its postings, and those of them that are matches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.simhash import to_integers, to_words
from simstore.search import pages
from simstore.search.hamming import verify, verify_values
from simstore.search.plan import (
    PAGE_RATES,
    TAIL_RATES,
    Plan,
    choose_plan,
    threshold_cost,
    uniform_costs,
)
from simstore.search.segments import (
    probe_count,
    probe_values,
    segment_values,
    segment_widths,
)
from simstore.storage.engine import Connection
from simstore.storage.generations import GenerationRow
from simstore.storage.postings import Postings, Probe

Page = tuple[int, bytes]

# Rows of the plain plan above which the planner asks for the posting counts of others.
_SKEWED = 1_000
# Bytes of the plan's pages above which the planner asks for the lengths of others.
_CROWDED_PAGE_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The fingerprints within the radius of one, and how they were found.

    Attributes:
        found: Fingerprints and their distances, ascending by distance, then fingerprint.
        thresholds: Bits flipped in each segment; -1: the segment was not looked at.
        probe_count: Segment values looked up.
        candidate_count: Postings compared; a fingerprint counts for each probe that it shares.
    """

    found: list[tuple[int, int]]
    thresholds: tuple[int, ...]
    probe_count: int
    candidate_count: int


class Lookup:
    """The look-up of fingerprints in one snapshot.

    Args:
        connection: The snapshot.
        bits: Fingerprint length M.
        row: The generation.
        label: The store, for messages.
    """

    def __init__(self, connection: Connection, bits: int, row: GenerationRow, label: str) -> None:
        self.bits = bits
        self.count = row.fingerprint_count
        self._label = label
        self._postings = Postings(connection, bits, row)
        self._widths = segment_widths(bits)
        self._is_packed = self._postings.has_pages and not self._postings.has_tail
        self._uniform: dict[int, list[list[float]]] = {}
        self._plans: dict[int, Plan] = {}
        self._exact: set[int] = set()
        self._rates = PAGE_RATES if 2 * row.packed_count > row.fingerprint_count else TAIL_RATES

    def plan(self, radius: int, *, query_count: int = 1, method: str = "auto") -> Plan:
        """Return how to look, whatever the fingerprint."""
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
                raise CorruptStore(self._label, str(error)) from error
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
        return LookupResult(found, thresholds, len(probes), compared)

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
        return LookupResult(found, thresholds, looked_up, compared)

    def _fetch(
        self, probes: list[Probe], limit: int = -1
    ) -> tuple[list[Page], NDArray[np.uint64] | None, bool]:
        """Return pages, rows of the tail, and whether there are so many that others may be fewer.

        Args:
            probes: What to look up.
            limit: Rows from which they are many, and may be incomplete; -1: never.
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
                    raise CorruptStore(self._label, str(error)) from error
        if self._postings.has_tail and not crowded:
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
                raise CorruptStore(self._label, str(error)) from error
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
