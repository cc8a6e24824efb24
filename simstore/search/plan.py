"""Plans: which segment values to look up so that nothing within the radius is missed.

The pigeonhole rule: for thresholds t with sum(t[i] + 1) = radius + 1, two fingerprints within the
radius differ in at most t[i] bits in some segment i. (Were it false, they would differ in at least
sum(t[i] + 1) = radius + 1 bits.) t[i] = -1 leaves segment i out.

References:
    Norouzi, Punjani, Fleet: Fast search in Hamming space with multi-index hashing, CVPR 2012,
    section 3.1. Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007,
    section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simstore.errors import InvalidParameter
from simstore.search.segments import probe_count, segment_widths

# Costs in microseconds, measured on SQLite (benchmarks/): one index probe, one candidate fetched
# and verified, one fingerprint read in a scan, one fingerprint compared in a scan, one query.
_PROBE_COST = 2.5
_CANDIDATE_COST = 1.2
_SCAN_READ_COST = 0.7
_SCAN_COMPARE_COST = 0.004
_QUERY_COST = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How to find the candidates of a query.

    Attributes:
        method: ``segments``: look up the probes of each segment; ``scan``: look at everything.
        thresholds: Bits to flip in each segment, -1: not looked at.
        cost: Estimated cost of one query, microseconds.
    """

    method: Literal["segments", "scan"]
    thresholds: tuple[int, ...]
    cost: float


def default_radius(bits: int) -> int:
    """Return the radius where none is given: min(3, M)."""
    return min(3, bits)


def check_radius(radius: int, bits: int) -> None:
    """Raise InvalidParameter unless ``0 <= radius <= bits``."""
    if not 0 <= radius <= bits:
        raise InvalidParameter(
            f"radius {radius}: it must be from 0 to {bits}, the fingerprint's bits"
        )


def uniform_costs(bits: int, radius: int, fingerprint_count: int) -> list[list[float]]:
    """Return the cost of each threshold of each segment if fingerprints were spread evenly.

    Returns:
        ``costs[segment][threshold + 1]`` for thresholds -1 to min(radius, width), microseconds.
    """
    costs = []
    for width in segment_widths(bits):
        row = [0.0]
        for threshold in range(min(radius, width) + 1):
            probes = probe_count(width, threshold)
            row.append(threshold_cost(probes, fingerprint_count * probes / 2**width))
        costs.append(row)
    return costs


def threshold_cost(probes: int, candidates: float) -> float:
    """Return the cost of looking up so many probes with so many candidates, microseconds."""
    return probes * _PROBE_COST + candidates * _CANDIDATE_COST


def cheapest_thresholds(
    costs: Sequence[Sequence[float]], radius: int
) -> tuple[tuple[int, ...], float]:
    """Choose the thresholds of least total cost that obey the pigeonhole rule.

    Args:
        costs: ``costs[segment][threshold + 1]``, as :func:`uniform_costs` gives them.
        radius: Largest distance to find, in bits, inclusive.

    Returns:
        A threshold a segment, and their total cost. Earlier segments are preferred among equals.
    """
    # best[units] = cheapest way for the segments so far to cover sum(t + 1) = units.
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for row in costs:
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        for units, (spent, chosen) in best.items():
            for more, cost in enumerate(row):
                total = units + more
                if total > radius + 1:
                    break
                known = following.get(total)
                option = (spent + cost, (*chosen, more - 1))
                if known is None or (option[0], [-t for t in option[1]]) < (
                    known[0],
                    [-t for t in known[1]],
                ):
                    following[total] = option
        best = following
    cost, thresholds = best[radius + 1]
    return thresholds, cost


def choose_plan(
    costs: Sequence[Sequence[float]],
    radius: int,
    fingerprint_count: int,
    *,
    query_count: int = 1,
    method: str = "auto",
) -> Plan:
    """Choose between looking up segments and a scan, by estimated cost.

    Args:
        costs: As for :func:`cheapest_thresholds`.
        radius: Largest distance to find, in bits, inclusive.
        fingerprint_count: Fingerprints in the generation.
        query_count: Queries that would share a scan.
        method: ``auto``, or one method to use whatever it costs.
    """
    thresholds, cost = cheapest_thresholds(costs, radius)
    by_segments = Plan("segments", thresholds, cost + _QUERY_COST)
    scan = Plan(
        "scan",
        (),
        fingerprint_count * (_SCAN_READ_COST / query_count + _SCAN_COMPARE_COST),
    )
    if method == "segments":
        return by_segments
    if method == "scan":
        return scan
    return scan if scan.cost < by_segments.cost else by_segments
