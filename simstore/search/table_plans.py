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
    MOST_JOINED_FLIPS,
    TABLE_RATES,
    Part,
    Plan,
    Rates,
    check_radius,
    choose_plan,
    joined_cost,
    threshold_cost,
)
from simstore.search.table_lookup import bounds

# Candidates of one query from which a plan of its own is worth making.
CROWDED = 50_000
# Thresholds up to which the candidates of a query are counted for its own plan; joined ones: 1.
_COUNTED_FLIPS = 2
_COUNTED_JOINED_FLIPS = 1


class TableRange(NamedTuple):
    """One part of a plan, as a range of a table.

    Attributes:
        part: The part.
        start: Its first bit.
        length: Its bits.
        masks: What to flip in a rotated fingerprint for each probe; uint64, shape (probes,).
        own_bits: A fingerprint in which the part's bits are set; uint64, shape (ceil(M / 64),).
    """

    part: Part
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
        tables: The first 64 bits of the rotated fingerprints, sorted, shape (segments, n).
        offsets: Where each 16-bit prefix begins in them, shape (segments, 65537).
        bits: M.
    """

    def __init__(self, tables: NDArray[np.uint64], offsets: NDArray[np.uint32], bits: int) -> None:
        self._tables = tables
        self._offsets = offsets
        self._bits = bits
        self._widths = segment_widths(bits)
        self._count: int = tables.shape[1]
        self._known: dict[tuple[int, Rates], TablePlan] = {}
        self._expected: tuple[list[float], list[float]] | None = None
        self._largest = [self._largest_group(segment) for segment in range(len(self._widths))]

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
        costs, joined_costs = [], []
        for segment, width in enumerate(self._widths):
            row, counted = [0.0], 0.0
            for threshold, probes in enumerate(_probe_counts(width, radius)):
                if threshold <= most:
                    counted = self._counted(Part(segment, False, threshold), words)
                else:
                    # Not counted: as crowded as those with a bit less.
                    counted *= probes / probe_count(width, threshold - 1)
                row.append(threshold_cost(probes, counted, TABLE_RATES))
            costs.append(row)
            joined = [0.0]
            for following in self._widths[segment + 1 : segment + 2]:
                for threshold in range(min(radius, _COUNTED_JOINED_FLIPS) + 1):
                    counted = self._counted(Part(segment, True, threshold), words)
                    joined.append(joined_cost(width, following, threshold, counted, TABLE_RATES))
            joined_costs.append(joined)
        chosen = choose_plan(
            costs, radius, self._count, joined_costs=joined_costs, rates=TABLE_RATES
        )
        return table_plan(chosen, self._bits)

    def crowded(self, prepared: TablePlan, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return the queries that meet so many candidates that a plan of their own pays.

        Args:
            prepared: The plan for all.
            words: The queries, shape (m, ceil(M / 64)).
        """
        met = np.zeros(len(words), np.int64)
        for one in prepared.ranges:
            if len(one.masks) * self._largest[one.part.segment] > CROWDED // len(prepared.ranges):
                met += self.candidate_counts(one, words)
        return met > CROWDED

    def candidate_counts(self, one: TableRange, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how many fingerprints stand in a range for each query; int64, shape (m,)."""
        segment = one.part.segment
        queries = rotated(words, self._bits, one.start)[0]
        total = np.zeros(len(words), np.int64)
        for mask in one.masks:
            prefixes = (queries ^ mask) >> np.uint64(64 - one.length)
            begins, ends = bounds(
                self._tables[segment], self._offsets[segment], prefixes, one.length
            )
            total += ends - begins
        return total

    def _counted(self, part: Part, words: NDArray[np.uint64]) -> float:
        return float(self.candidate_counts(_range_of(part, self._bits), words)[0])

    def _expected_plan(self, radius: int, rates: Rates) -> Plan:
        crowds, joined_crowds = self._expected_crowds()
        costs = [
            [0.0, *(threshold_cost(n, n * crowd, rates) for n in _probe_counts(width, radius))]
            for width, crowd in zip(self._widths, crowds, strict=True)
        ]
        joined_costs = []
        for segment, crowd in enumerate(joined_crowds):
            first, second = self._widths[segment : segment + 2]
            probes = _probe_counts(first + second, min(radius, MOST_JOINED_FLIPS))
            joined_costs.append(
                [
                    0.0,
                    *(
                        joined_cost(first, second, t, n * crowd, rates)
                        for t, n in enumerate(probes)
                    ),
                ]
            )
        return choose_plan(
            costs, radius, self._count, joined_costs=[*joined_costs, []], rates=rates
        )

    def _expected_crowds(self) -> tuple[list[float], list[float]]:
        """Return how many share a segment, and two segments, with a stored one on average.

        Those of a probe with flipped bits are fewer than these, or as many: a sum of products is
        at most the sum of squares.
        """
        if self._expected is None:
            crowds, joined = [], []
            for segment, width in enumerate(self._widths):
                crowds.append(self._mean_crowd(self._group_sizes(segment)))
                for following in self._widths[segment + 1 : segment + 2]:
                    prefixes = self._tables[segment] >> np.uint64(64 - width - following)
                    ends = np.append(np.flatnonzero(np.diff(prefixes)) + 1, self._count)
                    joined.append(self._mean_crowd(np.diff(ends, prepend=0)))
            self._expected = crowds, joined
        return self._expected

    def _mean_crowd(self, sizes: NDArray[np.int64]) -> float:
        squares = float(np.square(sizes, dtype=np.float64).sum())
        return squares / max(self._count, 1)

    def _group_sizes(self, segment: int) -> NDArray[np.int64]:
        step = 1 << (SEGMENT_BITS - self._widths[segment])
        offsets = self._offsets[segment, ::step].astype(np.int64)
        return offsets[1:] - offsets[:-1]

    def _largest_group(self, segment: int) -> int:
        return int(self._group_sizes(segment).max())


def table_plan(plan: Plan, bits: int) -> TablePlan:
    """Return a plan with its ranges."""
    ranges = tuple(_range_of(part, bits) for part in plan.parts())
    ends = list(accumulate((len(one.masks) for one in ranges), initial=0))
    parts = [
        (one.part.segment, one.start, one.length, ends[number], ends[number + 1])
        for number, one in enumerate(ranges)
    ]
    masks = np.concatenate([np.empty(0, np.uint64), *(one.masks for one in ranges)])
    return TablePlan(plan, ranges, (np.array(parts, np.int64).reshape(-1, 5), masks))


@cache
def _range_of(part: Part, bits: int) -> TableRange:
    widths = segment_widths(bits)
    start = SEGMENT_BITS * part.segment
    length = sum(widths[part.segment : part.segment + 1 + part.joined])
    masks = np.array(probe_values(0, length, part.threshold), np.uint64)
    own = ((1 << length) - 1) << (bits - start - length)
    return TableRange(
        part, start, length, masks << np.uint64(64 - length), to_words([own], bits)[0]
    )


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
        found |= inside <= one.part.threshold
    return found


def _probe_counts(width: int, radius: int) -> list[int]:
    return [probe_count(width, threshold) for threshold in range(min(radius, width) + 1)]
