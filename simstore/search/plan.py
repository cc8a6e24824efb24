"""Query plans: choose the segment values to look up so that nothing within the radius is missed.

The pigeonhole rule: cut the bits into parts and give each a threshold t with sum(t + 1) = radius
+ 1; then two fingerprints within the radius differ in at most t bits in some part. (Were it false,
they would differ in at least sum(t + 1) = radius + 1 bits.) A threshold of -1 leaves a part out. A
part is one segment, or two neighbours that are looked up together, as one value.

References:
    Norouzi, Punjani, Fleet: Fast search in Hamming space with multi-index hashing, CVPR 2012,
    section 3.1. Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007,
    section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from simstore.errors import InvalidParameter
from simstore.index.segments import probe_count, segment_widths
from simstore.model.query import DEFAULT_RADIUS

# Most bits that are flipped in two segments together: 529 values of 32 bits.
MOST_JOINED_FLIPS = 2


class Rates(NamedTuple):
    """Estimated costs of the steps of a search in one kind of index, microseconds.

    Attributes:
        probe: Finding the fingerprints of one segment value.
        candidate: Fetching and verifying one fingerprint of it.
        narrowing: Finding those of one value of two segments among those of the first one.
        read: Reading one fingerprint in a scan.
        compare: Comparing one fingerprint with one query in a scan.
        query: What each query costs besides.
        scan: What each scan costs besides.
    """

    probe: float
    candidate: float
    narrowing: float
    read: float
    compare: float
    query: float
    scan: float


# Fitted to measurements on one core; only their relation matters.
# Segment columns of SQLite. Two segments are not joined: each column has its own index.
TAIL_RATES = Rates(3.0, 1.2, 0.0, 0.7, 0.004, 60.0, 0.0)
# Segment pages of SQLite, filtered by NumPy. A page is read whole, so joining saves nothing.
PAGE_RATES = Rates(2.7, 0.013, 0.0, 0.05, 0.004, 35.0, 0.0)
# Sorted tables in memory, by their compiled form.
TABLE_RATES = Rates(0.2, 0.0005, 0.1, 0.0, 0.0004, 2.0, 60.0)


class Part(NamedTuple):
    """A part of the fingerprint that a plan looks at.

    Attributes:
        segment: The segment, from 0.
        joined: Whether the next segment belongs to it.
        threshold: Most bits to flip in it, not negative.
    """

    segment: int
    joined: bool
    threshold: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A query plan: how the candidates of a query are found.

    Attributes:
        method: ``segments``: look up the probes of each segment; ``scan``: look at everything.
        thresholds: Bits to flip in each segment, -1: not looked at.
        cost: Estimated cost of one query, microseconds.
        joined: Segments that are looked up together with the next one, ascending. The threshold of
            such a segment is that of both; the next one's is -1.
    """

    method: Literal["segments", "scan"]
    thresholds: tuple[int, ...]
    cost: float
    joined: tuple[int, ...] = ()

    def parts(self) -> Iterator[Part]:
        """Yield the parts that are looked at, from the first segment on."""
        for segment, threshold in enumerate(self.thresholds):
            if threshold >= 0:
                yield Part(segment, segment in self.joined, threshold)


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


def joined_cost(
    first_width: int, second_width: int, threshold: int, candidates: float, rates: Rates
) -> float:
    """Return the cost of looking up two segments as one value, microseconds."""
    values = probe_count(first_width + second_width, threshold)
    return (
        probe_count(first_width, threshold) * rates.probe
        + values * rates.narrowing
        + candidates * rates.candidate
    )


def cheapest_parts(
    costs: Sequence[Sequence[float]], joined_costs: Sequence[Sequence[float]], radius: int
) -> tuple[tuple[int, ...], tuple[int, ...], float]:
    """Choose the thresholds of least total cost, where neighbours may be looked up together.

    Args:
        costs: ``costs[segment][threshold + 1]``, as :func:`uniform_costs` gives them.
        joined_costs: The same for a segment with the next one, as :func:`uniform_joined_costs`
            gives them; empty: none are joined.
        radius: Largest distance to find, in bits, inclusive.

    Returns:
        A threshold a segment, the joined segments, and the total cost. Earlier segments are
        preferred among equals.
    """
    # best[segment][units] = cheapest way for the segments so far to cover sum(t + 1) = units.
    best: list[dict[int, _Way]] = [{} for _ in range(len(costs) + 1)]
    best[0][0] = _Way(0.0, (), ())
    for segment, row in enumerate(costs):
        joinable = joined_costs[segment] if joined_costs else []
        for units, way in best[segment].items():
            for more, cost in enumerate(row[: radius + 2 - units]):
                _keep(best[segment + 1], units + more, way.with_one(cost, more - 1))
            # A part that is left out need not be joined.
            for more in range(1, min(len(joinable), radius + 2 - units)):
                following = way.with_two(segment, joinable[more], more - 1)
                _keep(best[segment + 2], units + more, following)
    chosen = best[-1][radius + 1]
    return tuple(-t for t in chosen.negated), chosen.joined, chosen.cost


class _Way(NamedTuple):
    """Thresholds of the first segments; ordered by cost, then by the larger earlier thresholds."""

    cost: float
    negated: tuple[int, ...]
    joined: tuple[int, ...]

    def with_one(self, cost: float, threshold: int) -> _Way:
        return _Way(self.cost + cost, (*self.negated, -threshold), self.joined)

    def with_two(self, segment: int, cost: float, threshold: int) -> _Way:
        return _Way(self.cost + cost, (*self.negated, -threshold, 1), (*self.joined, segment))


def _keep(ways: dict[int, _Way], units: int, way: _Way) -> None:
    known = ways.get(units)
    if known is None or way < known:
        ways[units] = way


def choose_plan(
    costs: Sequence[Sequence[float]],
    radius: int,
    fingerprint_count: int,
    *,
    query_count: int = 1,
    method: str = "auto",
    joined_costs: Sequence[Sequence[float]] = (),
    rates: Rates = TAIL_RATES,
) -> Plan:
    """Choose between looking up segments and a scan, by estimated cost.

    Args:
        costs: As for :func:`cheapest_parts`.
        radius: Largest distance to find, in bits, inclusive.
        fingerprint_count: Fingerprints in the generation.
        query_count: Queries that would share a scan.
        method: ``auto``, or one method to use whatever it costs.
        joined_costs: As for :func:`cheapest_parts`.
        rates: What the costs were made of.
    """
    thresholds, joined, cost = cheapest_parts(costs, joined_costs, radius)
    by_segments = Plan("segments", thresholds, cost + rates.query, joined)
    each = rates.read / query_count + rates.compare
    scan = Plan("scan", (), rates.scan + fingerprint_count * each)
    if method == "segments":
        return by_segments
    if method == "scan":
        return scan
    return scan if scan.cost < by_segments.cost else by_segments
