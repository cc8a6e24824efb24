"""Query plans: choose the segment values to look up so that nothing within the radius is missed.

The pigeonhole rule: cut the bits into parts and give each a threshold t with sum(t + 1) = radius
+ 1; then two fingerprints within the radius differ in at most t bits in some part. (Were it false,
they would differ in at least sum(t + 1) = radius + 1 bits.) A threshold of -1 leaves a part out. A
part is a segment.

References:
    Norouzi, Punjani, Fleet: Fast search in Hamming space with multi-index hashing, CVPR 2012,
    section 3.1. Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007,
    section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from simstore.errors import InvalidParameter
from simstore.index.segments import probe_count, segment_widths
from simstore.model.query import DEFAULT_RADIUS


class Rates(NamedTuple):
    """Estimated costs of the steps of a search in one kind of index, microseconds.

    Attributes:
        probe: Finding the fingerprints of one segment value.
        candidate: Fetching and verifying one fingerprint of it.
        read: Reading one fingerprint in a scan.
        compare: Comparing one fingerprint with one query in a scan.
        query: What each query costs besides.
        scan: What each scan costs besides.
    """

    probe: float
    candidate: float
    read: float
    compare: float
    query: float
    scan: float


# Fitted to measurements on one core; only their relation matters.
# Segment columns of SQLite.
TAIL_RATES = Rates(3.0, 1.2, 0.7, 0.004, 60.0, 0.0)
# Segment pages of SQLite, filtered by NumPy.
PAGE_RATES = Rates(2.7, 0.013, 0.05, 0.004, 35.0, 0.0)
# Sorted tables in memory, by their compiled form.
TABLE_RATES = Rates(0.2, 0.0005, 0.0, 0.0004, 2.0, 60.0)
# The same to find pairs: one number is compared with all of its range.
PAIR_RATES = Rates(0.012, 0.0006, 0.0, 0.0004, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Plan:
    """A query plan: how the candidates of a query are found.

    Attributes:
        method: ``segments``: look up the probes of each segment; ``scan``: look at everything.
        thresholds: Bits to flip in each segment, -1: not looked at.
        cost: Estimated cost of one query, microseconds.
    """

    method: Literal["segments", "scan"]
    thresholds: tuple[int, ...]
    cost: float


def default_radius(bits: int) -> int:
    """Return the radius where none is given."""
    return min(DEFAULT_RADIUS, bits)


def check_radius(radius: int, bits: int) -> None:
    """Raise InvalidParameter unless the radius is a whole number, ``0 <= radius <= bits``."""
    if isinstance(radius, bool) or not hasattr(radius, "__index__"):
        kind = type(radius).__name__
        raise InvalidParameter(f"a radius is a whole number of bits, not {kind}")
    if not 0 <= radius <= bits:
        raise InvalidParameter(
            f"radius {radius}: it must be from 0 to {bits}, the fingerprint's bits"
        )


def uniform_costs(
    bits: int, radius: int, fingerprint_count: int, rates: Rates = TAIL_RATES
) -> list[list[float]]:
    """Return the cost of each threshold of each segment if fingerprints were spread evenly.

    Returns:
        ``costs[segment][threshold + 1]`` for thresholds -1 to min(radius, width), microseconds.
    """
    costs = []
    for width in segment_widths(bits):
        row = [0.0]
        for threshold in range(min(radius, width) + 1):
            probes = probe_count(width, threshold)
            row.append(threshold_cost(probes, fingerprint_count * probes / 2**width, rates))
        costs.append(row)
    return costs


def threshold_cost(probes: int, candidates: float, rates: Rates = TAIL_RATES) -> float:
    """Return the cost of looking up so many probes with so many candidates, microseconds."""
    return probes * rates.probe + candidates * rates.candidate


def cheapest_thresholds(
    costs: Sequence[Sequence[float]], radius: int
) -> tuple[tuple[int, ...], float]:
    """Choose the thresholds of least total cost.

    Args:
        costs: ``costs[segment][threshold + 1]``, as :func:`uniform_costs` gives them.
        radius: Largest distance to find, in bits, inclusive.

    Returns:
        A threshold a segment, and the total cost. Earlier segments are preferred among equals.
    """
    # The cheapest way for the segments so far to cover sum(t + 1) = units; thresholds negated, so
    # that of two ways of one cost the smaller has the larger earlier thresholds.
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for row in costs:
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        for units, (cost, negated) in best.items():
            for more, added in enumerate(row[: radius + 2 - units]):
                way = cost + added, (*negated, 1 - more)
                following[units + more] = min(way, following.get(units + more, way))
        best = following
    cost, negated = best[radius + 1]
    return tuple(-threshold for threshold in negated), cost


def choose_plan(
    costs: Sequence[Sequence[float]],
    radius: int,
    fingerprint_count: int,
    *,
    query_count: int = 1,
    method: str = "auto",
    rates: Rates = TAIL_RATES,
) -> Plan:
    """Choose between looking up segments and a scan, by estimated cost.

    Args:
        costs: As for :func:`cheapest_thresholds`.
        radius: Largest distance to find, in bits, inclusive.
        fingerprint_count: Fingerprints in the generation.
        query_count: Queries that would share a scan.
        method: ``auto``, or one method to use whatever it costs.
        rates: What the costs were made of.
    """
    thresholds, cost = cheapest_thresholds(costs, radius)
    by_segments = Plan("segments", thresholds, cost + rates.query)
    each = rates.read / query_count + rates.compare
    scan = Plan("scan", (), rates.scan + fingerprint_count * each)
    if method == "segments":
        return by_segments
    if method == "scan":
        return scan
    return scan if scan.cost < by_segments.cost else by_segments
