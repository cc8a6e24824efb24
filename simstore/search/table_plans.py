"""Query plans for sorted tables: choose ranges by the number of fingerprints in them."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_words
from simstore.index.segments import (
    SEGMENT_BITS,
    probe_count,
    probe_values,
    rotated,
    segment_widths,
)
from simstore.search.hamming import distances
from simstore.search.plan import (
    TABLE_RATES,
    Plan,
    Rates,
    check_radius,
    choose_plan,
    threshold_cost,
)
from simstore.search.table_lookup import bounds

# Candidates of one query from which a plan of its own is worth making.
CROWDED = 50_000
# Thresholds up to which the candidates of a query are counted for its own plan.
_COUNTED_FLIPS = 2


class TableRange(NamedTuple):
    """A segment that a plan looks at, as a range of its table.

    Attributes:
        segment: The segment, from 0.
        threshold: Most bits to flip in it, not negative.
        start: Its first bit.
        length: Its bits.
        masks: What to flip in a rotated fingerprint for each probe; uint64, shape (probes,).
        own_bits: A fingerprint in which the segment's bits are set; uint64, shape (ceil(M / 64),).
    """

    segment: int
    threshold: int
    start: int
    length: int
    masks: NDArray[np.uint64]
    own_bits: NDArray[np.uint64]


class TablePlan(NamedTuple):
    """A plan and its ranges.

    Attributes:
        plan: The plan.
        ranges: What to look at; none for a scan.
        asked: The same for a kernel: the ranges as numbers, table, start, length, and where their
            masks begin and end, int64, shape (ranges, 5); and the masks of all ranges.
    """

    plan: Plan
    ranges: tuple[TableRange, ...]
    asked: tuple[NDArray[np.int64], NDArray[np.uint64]]


class TablePlanner:
    """Makes the plans for one set of sorted tables.

    Args:
        offsets: Where each 16-bit prefix begins in the tables, shape (segments, 65537).
        bits: M.
    """

    def __init__(self, offsets: NDArray[np.uint32], bits: int) -> None:
        self._offsets = offsets
        self._bits = bits
        self._widths = segment_widths(bits)
        self._count = int(offsets[0, -1])
        self._known: dict[tuple[int, Rates], TablePlan] = {}
        groups = [self._group_sizes(segment) for segment in range(len(self._widths))]
        self._largest = [int(sizes.max()) for sizes in groups]
        # Fingerprints that share a segment with a stored one, on average. A probe with flipped bits
        # meets no more of them: a sum of products is at most the sum of squares.
        self._crowds = [
            float(np.square(sizes, dtype=np.float64).sum()) / max(self._count, 1)
            for sizes in groups
        ]

    def plan(self, radius: int, rates: Rates = TABLE_RATES) -> TablePlan:
        """Return the cheapest plan for queries like the stored fingerprints.

        Raises:
            InvalidParameter: The radius is not from 0 to M.
        """
        known = self._known.get((radius, rates))
        if known is None:
            check_radius(radius, self._bits)
            known = table_plan(self._expected_plan(radius, rates), self._bits)
            self._known[radius, rates] = known
        return known

    def own_plan(self, words: NDArray[np.uint64], radius: int) -> TablePlan:
        """Return the cheapest plan for one query, by counting its candidates.

        Args:
            words: The query, shape (1, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.
        """
        most = min(radius, _COUNTED_FLIPS)
        costs = []
        for segment, width in enumerate(self._widths):
            row, counted = [0.0], 0.0
            for threshold, probes in enumerate(_probe_counts(width, radius)):
                if threshold <= most:
                    one = _range_of(segment, threshold, self._bits)
                    counted = float(self.candidate_counts(one, words)[0])
                else:
                    # Not counted: as crowded as those with a bit less.
                    counted *= probes / probe_count(width, threshold - 1)
                row.append(threshold_cost(probes, counted, TABLE_RATES))
            costs.append(row)
        chosen = choose_plan(costs, radius, self._count, rates=TABLE_RATES)
        return table_plan(chosen, self._bits)

    def crowded(self, prepared: TablePlan, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return the queries that meet so many candidates that a plan of their own pays.

        Args:
            prepared: The plan for all.
            words: The queries, shape (m, ceil(M / 64)).
        """
        met = np.zeros(len(words), np.int64)
        for one in prepared.ranges:
            if len(one.masks) * self._largest[one.segment] > CROWDED // len(prepared.ranges):
                met += self.candidate_counts(one, words)
        return met > CROWDED

    def candidate_counts(self, one: TableRange, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how many fingerprints stand in a range for each query; int64, shape (m,)."""
        queries = rotated(words, self._bits, one.start)[0]
        total = np.zeros(len(words), np.int64)
        for mask in one.masks:
            begins, ends = bounds(self._offsets[one.segment], queries ^ mask, one.length)
            total += ends - begins
        return total

    def _expected_plan(self, radius: int, rates: Rates) -> Plan:
        costs = [
            [0.0, *(threshold_cost(n, n * crowd, rates) for n in _probe_counts(width, radius))]
            for width, crowd in zip(self._widths, self._crowds, strict=True)
        ]
        return choose_plan(costs, radius, self._count, rates=rates)

    def _group_sizes(self, segment: int) -> NDArray[np.int64]:
        step = 1 << (SEGMENT_BITS - self._widths[segment])
        offsets = self._offsets[segment, ::step].astype(np.int64)
        return offsets[1:] - offsets[:-1]


def table_plan(plan: Plan, bits: int) -> TablePlan:
    """Return a plan with its ranges."""
    ranges = tuple(
        _range_of(segment, threshold, bits)
        for segment, threshold in enumerate(plan.thresholds)
        if threshold >= 0
    )
    ends = list(accumulate((len(one.masks) for one in ranges), initial=0))
    parts = [
        (one.segment, one.start, one.length, ends[number], ends[number + 1])
        for number, one in enumerate(ranges)
    ]
    masks = np.concatenate([np.empty(0, np.uint64), *(one.masks for one in ranges)])
    return TablePlan(plan, ranges, (np.array(parts, np.int64).reshape(-1, 5), masks))


@cache
def _range_of(segment: int, threshold: int, bits: int) -> TableRange:
    start, length = SEGMENT_BITS * segment, segment_widths(bits)[segment]
    masks = np.array(probe_values(0, length, threshold), np.uint64) << np.uint64(64 - length)
    own = ((1 << length) - 1) << (bits - start - length)
    return TableRange(segment, threshold, start, length, masks, to_words([own], bits)[0])


def found_before(
    earlier: tuple[TableRange, ...], differences: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Return which differences an earlier part of the plan has found as well.

    Args:
        earlier: The ranges before this one.
        differences: Fingerprints exclusive-or queries, shape (n, ceil(M / 64)).
    """
    found = np.zeros(len(differences), np.bool_)
    for one in earlier:
        inside = distances(differences & one.own_bits, np.zeros_like(one.own_bits))
        found |= inside <= one.threshold
    return found


def _probe_counts(width: int, radius: int) -> list[int]:
    return [probe_count(width, threshold) for threshold in range(min(radius, width) + 1)]
