"""Find all pairs of sets whose resemblance reaches a threshold, by an exact similarity join.

Two sets of resemblance t or more have a shingle in common even among the rarest few of each (the
prefix filter), and their sizes differ by no more than the factor t. So rare shingles name the
candidates, and only those are compared.

References:
    Bayardo, Ma, Srikant: Scaling up all pairs similarity search, WWW 2007, sections 3 and 4.
    Xiao, Wang, Lin, Yu: Efficient similarity joins for near duplicate detection (PPJoin),
    WWW 2008, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.search.resemblance import check_share

if TYPE_CHECKING:
    from simstore.fingerprint.shingle_sets import ShingleSets

# Meetings in the index, and shingles of candidates, that are held at a time.
_BLOCK = 1 << 20
# A threshold is a rounded number; a bound that it gives is taken this much lower.
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """Pairs of sets and their resemblance.

    Attributes:
        first: Place of the first set, int64, shape (pairs,).
        second: Place of the second set, larger than the first; pairs ascend by (first, second).
        resemblance: |A∩B| / |A∪B|, float64, shape (pairs,).
        candidate_count: Pairs that were compared.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    resemblance: NDArray[np.float64]
    candidate_count: int

    def __len__(self) -> int:
        return len(self.first)


def all_pairs(sets: ShingleSets, threshold: float) -> SimilarPairs:
    """Return every pair of sets whose resemblance is at least the threshold.

    An empty set resembles nothing, another empty set neither.

    Args:
        sets: The sets.
        threshold: Least resemblance, above 0, at most 1, inclusive.

    Raises:
        InvalidParameter: The threshold is out of its range.
    """
    check_share("resemblance", threshold)
    ordered = _by_size(sets)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))]
    compared = 0
    for earlier, later in _candidates(ordered, threshold):
        compared += len(earlier)
        common = _common_counts(ordered, earlier, later)
        union = ordered.sizes[earlier] + ordered.sizes[later] - common
        resemblance = common / union
        kept = resemblance >= threshold
        one, other = ordered.places[earlier[kept]], ordered.places[later[kept]]
        found.append((np.minimum(one, other), np.maximum(one, other), resemblance[kept]))
    first, second, resemblance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((second, first))
    return SimilarPairs(first[order], second[order], resemblance[order], compared)


def resemblances(
    sets: ShingleSets, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the resemblance of given pairs of sets; 0 where one of the two is empty.

    Args:
        sets: The sets.
        first: Place of the first set of each pair, shape (pairs,).
        second: Place of the second set of each pair, shape (pairs,).

    Returns:
        float64 in [0, 1], shape (pairs,).
    """
    ordered = _by_size(sets)
    rows = np.full(len(sets), -1, np.int64)
    rows[ordered.places] = np.arange(len(ordered.places))
    result = np.zeros(len(first), np.float64)
    one, other = rows[first], rows[second]
    judged = np.flatnonzero((one >= 0) & (other >= 0))
    # Pairs of one larger set stand together, so that it is marked once.
    earlier, later = (
        np.minimum(one[judged], other[judged]),
        np.maximum(one[judged], other[judged]),
    )
    order = np.argsort(later, kind="stable")
    judged, earlier, later = judged[order], earlier[order], later[order]
    common = _common_counts(ordered, earlier, later)
    result[judged] = common / (ordered.sizes[earlier] + ordered.sizes[later] - common)
    return result


@dataclass(frozen=True, slots=True)
class _Ordered:
    """The sets that are not empty, small ones first, each with its rarest shingles first.

    Attributes:
        places: Where each row stood among the sets given, shape (rows,).
        offsets: Row r is ``numbers[offsets[r]:offsets[r + 1]]``, shape (rows + 1,).
        numbers: Numbers of the shingles, ascending within a row; the rarest shingle of all has 0.
        sizes: Shingles a row, ascending, shape (rows,).
        width: Distinct shingles of all rows.
    """

    places: NDArray[np.int64]
    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]
    width: int


def _by_size(sets: ShingleSets) -> _Ordered:
    sizes = sets.sizes()
    places = np.argsort(sizes, kind="stable")
    places = places[np.searchsorted(sizes[places], 1) :]
    distinct, numbers, counts = np.unique(sets.hashes, return_inverse=True, return_counts=True)
    rarity = np.empty(len(distinct), np.int64)
    rarity[np.argsort(counts, kind="stable")] = np.arange(len(distinct))
    numbers = rarity[numbers.reshape(-1)]
    sizes = sizes[places]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    gathered = numbers[_spans(sets.offsets[places], sizes)]
    rows = np.repeat(np.arange(len(places)), sizes)
    width = len(distinct)
    # One key holds row and number: sorting it sorts each row.
    gathered = np.sort(rows * width + gathered) - rows * width
    return _Ordered(places, offsets, gathered, sizes, width)


def _spans(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``start, start + 1, ...`` of each span, one span after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    spans: NDArray[np.int64] = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return spans


def _candidates(
    ordered: _Ordered, threshold: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield pairs of rows, the earlier and the later, that share a shingle of their prefixes."""
    sizes = ordered.sizes
    count = len(sizes)
    if count < 2:
        return
    # A later row has at least the size of an earlier one, so the earlier one may be held by less.
    held = sizes - _at_least(2 * threshold / (1 + threshold), sizes) + 1
    probed = sizes - _at_least(threshold, sizes) + 1
    posting_places = _spans(ordered.offsets[:-1], held)
    posting_rows = np.repeat(np.arange(count), held)
    depths = posting_places - ordered.offsets[posting_rows]
    postings = ordered.numbers[posting_places] * count + posting_rows
    order = np.argsort(postings)
    postings, posting_rows, depths = postings[order], posting_rows[order], depths[order]
    smallest = np.searchsorted(sizes, _at_least(threshold, sizes))

    probe_places = _spans(ordered.offsets[:-1], probed)
    probe_rows = np.repeat(np.arange(count), probed)
    shingles = ordered.numbers[probe_places] * count
    starts = np.searchsorted(postings, shingles + smallest[probe_rows])
    lengths = np.searchsorted(postings, shingles + probe_rows) - starts
    row_ends = np.cumsum(probed)
    meetings = np.concatenate(([0], np.cumsum(lengths)))[row_ends]
    row = 0
    while row < count:
        done = int(meetings[row - 1]) if row else 0
        end = max(int(np.searchsorted(meetings, done + _BLOCK, "right")), row + 1)
        part = slice(int(row_ends[row - 1]) if row else 0, int(row_ends[end - 1]))
        met = _spans(starts[part], lengths[part])
        later = np.repeat(probe_rows[part], lengths[part])
        probed_depth = np.repeat(
            probe_places[part] - ordered.offsets[probe_rows[part]], lengths[part]
        )
        yield from _that_may_reach(
            ordered, threshold, (posting_rows[met], depths[met]), (later, probed_depth)
        )
        row = end


def _that_may_reach(
    ordered: _Ordered,
    threshold: float,
    held: tuple[NDArray[np.int64], NDArray[np.int64]],
    probed: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the pairs that met, once each, where what is left of both sets is long enough.

    All shingles that two sets share before the last place where they met are among their
    meetings; behind it there are at most as many more as the shorter rest has (PPJoin, section 4).

    Args:
        ordered: The rows.
        threshold: Least resemblance.
        held: Earlier row of each meeting, and the shingle's place in it.
        probed: Later row of each meeting, and the shingle's place in it; pairs meet in the order
            of these places.
    """
    count = len(ordered.sizes)
    pairs = probed[0] * count + held[0]
    if not len(pairs):
        return
    order = np.argsort(pairs, kind="stable")
    pairs = pairs[order]
    lasts = np.append(np.flatnonzero(pairs[1:] != pairs[:-1]), len(pairs) - 1)
    shared = np.diff(lasts, prepend=-1)
    later, earlier = pairs[lasts] // count, pairs[lasts] % count
    rest = np.minimum(
        ordered.sizes[earlier] - held[1][order][lasts],
        ordered.sizes[later] - probed[1][order][lasts],
    )
    both = ordered.sizes[earlier] + ordered.sizes[later]
    kept = shared + rest - 1 >= _at_least(threshold / (1 + threshold), both)
    yield earlier[kept], later[kept]


def _at_least(share: float, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest whole numbers not below a share of sizes, and not below 1."""
    bounds = np.ceil(share * sizes.astype(np.float64) - _SLACK).astype(np.int64)
    return np.maximum(bounds, np.int64(1))


def _common_counts(
    ordered: _Ordered, earlier: NDArray[np.int64], later: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many shingles each pair of rows shares.

    Args:
        ordered: The rows.
        earlier: Rows, shape (pairs,).
        later: Rows, equal ones together, shape (pairs,).
    """
    common = np.zeros(len(earlier), np.int64)
    if not len(common):
        return common
    marked = np.zeros(ordered.width, np.bool_)
    starts = np.flatnonzero(np.diff(later, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(later)], strict=True):
        row = int(later[start])
        own = ordered.numbers[ordered.offsets[row] : ordered.offsets[row + 1]]
        marked[own] = True
        for begin, stop in _blocks(ordered.sizes[earlier[start:end]]):
            rows = earlier[start + begin : start + stop]
            lengths = ordered.sizes[rows]
            hits = marked[ordered.numbers[_spans(ordered.offsets[rows], lengths)]]
            bounds = np.cumsum(lengths) - lengths
            common[start + begin : start + stop] = np.add.reduceat(hits, bounds, dtype=np.int64)
        marked[own] = False
    return common


def _blocks(lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows whose lengths sum to about a block; at least one row each."""
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(lengths):
        done = int(ends[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, "right")), begin + 1)
        yield begin, stop
        begin = stop
