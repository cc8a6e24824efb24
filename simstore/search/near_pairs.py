"""A join by distance: all pairs of fingerprints within a radius, in memory.

The pigeonhole rule of :mod:`simstore.search.plan`, for many fingerprints at once: each segment's
values are sorted, and each value is joined with those that are few enough bits away.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simstore.search.hamming import verify
from simstore.search.plan import cheapest_thresholds, check_radius
from simstore.search.segments import SEGMENT_BITS, probe_count, probe_values, segment_widths

# Pairs that are compared at a time.
_BLOCK = 1 << 20
# Costs beside that of comparing one pair of a join: finding the partners of one fingerprint by one
# probe; comparing one pair of a sweep, which gathers nothing.
_PROBE_COST = 0.3
_SWEEP_COST = 0.12

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
    count = len(words)
    widths = segment_widths(bits)
    columns = [_segment(words, bits, number) for number in range(len(widths))]
    thresholds, cost = cheapest_thresholds(
        [_costs(column, width, radius) for column, width in zip(columns, widths, strict=True)],
        radius,
    )
    codes = [np.empty(0, np.int64)]
    if cost >= _SWEEP_COST * count * (count - 1) / 2:
        for row in range(count - 1):
            kept, _ = verify(words[row + 1 :], words[row], radius)
            codes.append(row * count + row + 1 + kept)
    else:
        for column, width, threshold in zip(columns, widths, thresholds, strict=True):
            for first, second in _joined(column, width, threshold):
                kept, _ = verify(words[first], words[second], radius)
                one, other = first[kept], second[kept]
                codes.append(np.minimum(one, other) * count + np.maximum(one, other))
    # Sorted, not np.unique, which hashes first; a pair may be found by several segments.
    found = np.sort(np.concatenate(codes))
    found = found[np.diff(found, prepend=-1) > 0]
    return found // max(count, 1), found % max(count, 1)


def _segment(words: NDArray[np.uint64], bits: int, number: int) -> NDArray[np.int64]:
    """Return the values of one segment; the first has the most significant bits."""
    widths = segment_widths(bits)
    below = bits - SEGMENT_BITS * number - widths[number]
    # A segment may lie across two words where M is no multiple of 16.
    column = words.shape[1] - 1 - below // 64
    values = words[:, column] >> np.uint64(below % 64)
    if below % 64 + widths[number] > 64:
        values = values | words[:, column - 1] << np.uint64(64 - below % 64)
    return (values & np.uint64((1 << widths[number]) - 1)).astype(np.int64)


def _costs(column: NDArray[np.int64], width: int, radius: int) -> list[float]:
    """Return the cost of each threshold of a segment, from -1 on, as for the planner."""
    crowd = float((np.bincount(column, minlength=1).astype(np.float64) ** 2).sum()) / 2
    probes = [probe_count(width, threshold) for threshold in range(min(radius, width) + 1)]
    return [0.0, *(number * (len(column) * _PROBE_COST + crowd) for number in probes)]


def _joined(column: NDArray[np.int64], width: int, threshold: int) -> Iterator[Pairs]:
    """Yield the pairs whose values of a segment are within a threshold, each pair once."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    places = np.arange(len(column))
    ends = np.cumsum(np.bincount(ordered, minlength=1 << width))
    starts = np.append(0, ends[:-1])
    for mask in probe_values(0, width, threshold):
        if not mask:
            yield from _blocks(order, places, places + 1, ends[ordered] - places - 1)
            continue
        partner = ordered ^ mask
        lower = np.flatnonzero(ordered < partner)
        partner = partner[lower]
        yield from _blocks(order, lower, starts[partner], ends[partner] - starts[partner])


def _blocks(
    order: NDArray[np.int64],
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> Iterator[Pairs]:
    """Yield each place with the partners that stand from its start on, about a block at a time."""
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(lengths):
        done = int(ends[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, "right")), begin + 1)
        part = slice(begin, stop)
        total = int(ends[stop - 1]) - done
        if total:
            offsets = np.arange(total) - np.repeat(ends[part] - lengths[part] - done, lengths[part])
            yield (
                order[np.repeat(places[part], lengths[part])],
                order[np.repeat(starts[part], lengths[part]) + offsets],
            )
        begin = stop
