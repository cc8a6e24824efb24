"""Build and search sorted tables of fingerprints, with NumPy or compiled by Numba.

A table is an array of sorted numbers with the offsets of their first 16 bits. The compiled forms
look at a range of a table in two steps: a loop without branches counts those within the radius,
which the compiler turns into vector instructions; where the count is not zero, a second loop finds
them. They compare the first 64 bits of a fingerprint: what they find are candidates. Whatever
meets a uint64 there is made one: with another integer it would become a float.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import Kernel
from simstore.index.segments import SEGMENT_BITS, bits_of, rotated, segment_widths, turned

# Pairs of a query and a candidate that are compared at a time.
_BLOCK = 1 << 20

Places = tuple[NDArray[np.int64], NDArray[np.int64]]


def offsets_of(table: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return where the numbers of each 16-bit prefix begin, and the end; uint32, shape (65537,)."""
    # Counting is quicker than looking each prefix up, but in tables of millions.
    prefixes = (table >> np.uint64(64 - SEGMENT_BITS)).view(np.int64)
    offsets = np.zeros((1 << SEGMENT_BITS) + 1, np.uint32)
    np.cumsum(np.bincount(prefixes, minlength=1 << SEGMENT_BITS), out=offsets[1:])
    return offsets


def bounds(offsets: NDArray[np.uint32], probes: NDArray[np.uint64], length: int) -> Places:
    """Return where the numbers begin and end that start with the first bits of each probe.

    Args:
        offsets: The offsets of the numbers.
        probes: Numbers of 64 bits; any shape.
        length: Bits that count, 1 to 16.
    """
    step = 1 << (SEGMENT_BITS - length)
    firsts = (probes >> np.uint64(64 - SEGMENT_BITS)).astype(np.int64) & -step
    return offsets[firsts].astype(np.int64), offsets[firsts + step].astype(np.int64)


def near_places(
    table: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
    queries: NDArray[np.uint64],
    order: NDArray[np.int64],
    masks: NDArray[np.uint64],
    length: int,
    radius: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return what is near the queries among the numbers that share a probe with them.

    Args:
        table: Sorted numbers.
        offsets: Their offsets.
        queries: Numbers, shape (m,).
        order: Rows of the queries to look up; sorted by their values is fastest.
        masks: What to flip in a query for each probe.
        length: Bits of a probe, 1 to 16.
        radius: Largest distance, in bits, inclusive.

    Returns:
        Rows of the queries and places in the table, int64, shape (found,) each, and how many
        numbers were compared.
    """
    rows, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    looked_at = 0
    ordered = queries[order]
    for mask in masks:
        begins, ends = bounds(offsets, ordered ^ mask, length)
        looked_at += int((ends - begins).sum())
        for turns, some in expanded(begins, ends - begins):
            near = np.flatnonzero(np.bitwise_count(table[some] ^ ordered[turns]) <= radius)
            rows.append(order[turns[near]])
            places.append(some[near])
    return np.concatenate(rows), np.concatenate(places), looked_at


def expanded(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[Places]:
    """Yield each number's index with the places of its range, about a block at a time."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        done = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, "right")), first + 1)
        part = slice(first, stop)
        total = int(ends[stop - 1]) - done
        if total:
            steps = np.arange(total) - np.repeat(ends[part] - lengths[part] - done, lengths[part])
            yield (
                np.repeat(np.arange(first, stop), lengths[part]),
                np.repeat(begins[part], lengths[part]) + steps,
            )
        first = stop


_FIRST_ROOM = 1024


def _count_near(words: Any, begin: Any, end: Any, query: Any, radius: Any) -> Any:
    """Return how many words of a range are within the radius of a query."""
    reach = np.uint64(radius)
    count = np.int64(0)
    # Places without a sign: those below zero would keep the loop from becoming vectors.
    for place in range(np.uint64(begin), np.uint64(end)):
        count += np.int64(bits_of(words[place] ^ query) <= reach)
    return count


def _bounds(offsets: Any, probe: Any, length: Any) -> Any:
    """Return where the words begin and end that start with ``length`` bits of a probe, 1 to 16."""
    spare = np.uint64(16 - length)
    first = np.int64(probe >> np.uint64(48) >> spare << spare)
    return np.int64(offsets[first]), np.int64(offsets[first + (1 << (16 - length))])


def _grown(numbers: Any, count: Any, needed: Any) -> Any:
    """Return an array that has room for so many numbers, with the first ``count`` of this one."""
    if needed <= numbers.size:
        return numbers
    larger = np.empty(2 * needed, np.int64)
    larger[:count] = numbers[:count]
    return larger


def _near_values(
    held: Any, asked: Any, used_bits: Any, query: Any, radius: Any, limit: Any, found: Any
) -> Any:
    """Write the fingerprints of at most 64 bits that are near; return how many there are.

    Some may be written twice; those for which there is no room are not written. -1: there are more
    than ``limit`` candidates. Tables and offsets come as one pair, parts and masks as another: a
    pair that is there already costs a call less than two arguments, and less than names.
    """
    tables, offsets = held
    parts, masks = asked
    unused = np.uint64(64 - used_bits)
    used = ~((np.uint64(1) << unused) - np.uint64(1))
    aligned = np.uint64(query) << unused
    count = 0
    candidate_count = 0
    for part in range(parts.shape[0]):
        table, start, length = parts[part, 0], parts[part, 1], parts[part, 2]
        by, back = np.uint64(start), np.uint64(used_bits - start)
        words = tables[table]
        wanted = aligned
        if start:
            wanted = ((aligned << by) | (aligned >> back)) & used
        for number in range(parts[part, 3], parts[part, 4]):
            begin, end = _bounds(offsets[table], wanted ^ masks[number], length)
            candidate_count += end - begin
            if candidate_count > limit:
                return -1
            if _count_near(words, begin, end, wanted, radius) == 0:
                continue
            for place in range(begin, end):
                word = words[place]
                if bits_of(word ^ wanted) <= np.uint64(radius):
                    if start:
                        word = ((word << back) | (word >> by)) & used
                    if count < found.size:
                        found[count] = word >> unused
                    count += 1
    return count


def _near_places(
    words: Any, offsets: Any, queries: Any, order: Any, masks: Any, length: Any, radius: Any
) -> Any:
    """Return queries and places of what is near by one part, and how many were looked at."""
    rows = np.empty(_FIRST_ROOM, np.int64)
    places = np.empty(_FIRST_ROOM, np.int64)
    count = 0
    candidate_count = 0
    for row in order:
        wanted = queries[row]
        for mask in masks:
            begin, end = _bounds(offsets, wanted ^ mask, length)
            candidate_count += end - begin
            hits = _count_near(words, begin, end, wanted, radius)
            if hits == 0:
                continue
            rows = _grown(rows, count, count + hits)
            places = _grown(places, count, count + hits)
            for place in range(begin, end):
                if bits_of(words[place] ^ wanted) <= np.uint64(radius):
                    rows[count] = row
                    places[count] = place
                    count += 1
    return rows[:count], places[:count], candidate_count


def _paired_places(
    words: Any, offsets: Any, mask: Any, length: Any, radius: Any, begin: Any, most: Any
) -> Any:
    """Return pairs of places near each other by one part, and the place to go on from.

    The prefixes of a pair differ by the mask. It stops after about ``most`` pairs.
    """
    lefts = np.empty(_FIRST_ROOM, np.int64)
    rights = np.empty(_FIRST_ROOM, np.int64)
    shift = np.uint64(64 - length)
    flipped = np.uint64(mask) >> shift
    count = 0
    while begin < words.size and count < most:
        prefix = words[begin] >> shift
        group_end = begin + 1
        while group_end < words.size and (words[group_end] >> shift) == prefix:
            group_end += 1
        first, last = begin, group_end
        if flipped:
            first, last = 0, 0
            if prefix ^ flipped > prefix:
                first, last = _bounds(offsets, (prefix ^ flipped) << shift, length)
        for one in range(begin, group_end):
            wanted = words[one]
            if not flipped:
                first = one + 1
            hits = _count_near(words, first, last, wanted, radius)
            if hits == 0:
                continue
            lefts = _grown(lefts, count, count + hits)
            rights = _grown(rights, count, count + hits)
            for place in range(first, last):
                if bits_of(words[place] ^ wanted) <= np.uint64(radius):
                    lefts[count] = one
                    rights[count] = place
                    count += 1
        begin = group_end
    return lefts[:count], rights[:count], begin


_OF_NEAR_PLACES = [
    "Tuple((int64[::1], int64[::1], int64))(uint64[::1], uint32[::1], uint64[::1], "
    "int64[::1], uint64[::1], int64, int64)"
]
NEAR_VALUES = Kernel(
    _near_values,
    [
        "int64(Tuple((uint64[:, ::1], uint32[:, ::1])), Tuple((int64[:, ::1], uint64[::1])), "
        "int64, uint64, int64, int64, uint64[::1])"
    ],
    parts=[bits_of, _bounds, _count_near],
    lets_go=False,
)
NEAR_PLACES = Kernel(_near_places, _OF_NEAR_PLACES, parts=[bits_of, _bounds, _count_near, _grown])
NEAR_PLACES_OF_FEW = Kernel(
    _near_places,
    _OF_NEAR_PLACES,
    parts=[bits_of, _bounds, _count_near, _grown],
    lets_go=False,
)
PAIRED_PLACES = Kernel(
    _paired_places,
    [
        "Tuple((int64[::1], int64[::1], int64))(uint64[::1], uint32[::1], uint64, int64, int64, "
        "int64, int64)"
    ],
    parts=[bits_of, _bounds, _count_near, _grown],
)


def sorted_copies(
    words: NDArray[np.uint64], bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the first 64 bits of the rotated fingerprints, sorted, and what follows them.

    Args:
        words: Fingerprints of M bits, shape (n, ceil(M / 64)), in any order.
        bits: M.

    Returns:
        uint64, shape (segments, n); and the same or, for M <= 64, shape (segments, 0).
    """
    widths = segment_widths(bits)
    aligned = rotated(words, bits, 0)
    aligned = aligned[:, np.lexsort(aligned[::-1])] if bits > 64 else np.sort(aligned)
    changes = (aligned[:, 1:] != aligned[:, :-1]).any(axis=0)
    if not changes.all():
        aligned = aligned[:, np.flatnonzero(np.append(True, changes))]
    count = aligned.shape[1]
    tables = np.empty((len(widths), count), np.uint64)
    rests = np.empty((len(widths), count if bits > 64 else 0), np.uint64)
    tables[0] = aligned[0]
    rests[0] = aligned[1:].ravel()
    for segment in range(1, len(widths)):
        copy = turned(aligned, bits, SEGMENT_BITS * segment)
        if bits > 64:
            copy = copy[:, np.argsort(copy[0])]
            rests[segment] = copy[1]
        tables[segment] = copy[0]
        if bits <= 64:
            tables[segment].sort()
    return tables, rests
