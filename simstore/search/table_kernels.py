"""The compiled forms of what :mod:`simstore.search.sorted_tables` does.

Each looks at a range of a table in two steps: a loop without branches counts those within the
radius, which the compiler turns into vector instructions; where the count is not zero, a second
loop finds them. They compare the first 64 bits of a fingerprint: what they find are candidates.
Whatever meets a uint64 is made one: with another integer it would become a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simstore.compiled import Kernel
from simstore.search.popcount import bits_of

_FIRST_ROOM = 1024


def _count_near(words: Any, begin: Any, end: Any, query: Any, radius: Any) -> Any:
    """Return how many words of a range are within the radius of a query."""
    reach = np.uint64(radius)
    count = np.int64(0)
    # Places without a sign: those below zero would keep the loop from becoming vectors.
    for place in range(np.uint64(begin), np.uint64(end)):
        count += np.int64(bits_of(words[place] ^ query) <= reach)
    return count


def _bounds(words: Any, offsets: Any, prefix: Any, length: Any) -> Any:
    """Return where the words begin and end that start with ``length`` bits, 1 to 63."""
    if length <= 16:
        first = np.int64(prefix << np.uint64(16 - length))
        return np.int64(offsets[first]), np.int64(offsets[first + (1 << (16 - length))])
    shift = np.uint64(64 - length)
    first = np.int64(prefix >> np.uint64(length - 16))
    begin, last = np.int64(offsets[first]), np.int64(offsets[first + 1])
    high = last
    while begin < high:
        middle = (begin + high) >> 1
        if (words[middle] >> shift) < prefix:
            begin = middle + 1
        else:
            high = middle
    end, high = begin, last
    while end < high:
        middle = (end + high) >> 1
        if (words[middle] >> shift) <= prefix:
            end = middle + 1
        else:
            high = middle
    return begin, end


def _grown(numbers: Any, count: Any, needed: Any) -> Any:
    """Return an array that has room for so many numbers, with the first ``count`` of this one."""
    if needed <= numbers.size:
        return numbers
    larger = np.empty(2 * needed, np.int64)
    larger[:count] = numbers[:count]
    return larger


def _next_table(source: Any, target: Any, ends: Any, used_bits: Any, width: Any) -> None:
    """Move the last ``width`` bits to the front: one pass of a radix sort.

    As ``source`` is sorted and the pass keeps its order, ``target`` becomes sorted.
    """
    below = np.uint64(64 - used_bits)
    low = np.uint64((1 << width) - 1)
    used = ~((np.uint64(1) << below) - np.uint64(1))
    for place in range(source.size):
        ends[np.int64((source[place] >> below) & low)] += 1
    total = 0
    for value in range(ends.size):
        total += ends[value]
        ends[value] = total - ends[value]
    for place in range(source.size):
        word = source[place]
        first = (word >> below) & low
        turned = (word >> np.uint64(width)) & used
        target[ends[np.int64(first)]] = turned | (first << np.uint64(64 - width))
        ends[np.int64(first)] += 1


def _near_values(
    tables: Any,
    offsets: Any,
    parts: Any,
    masks: Any,
    used_bits: Any,
    query: Any,
    radius: Any,
    limit: Any,
    found: Any,
) -> Any:
    """Write the fingerprints of at most 64 bits that are near; return how many there are.

    Some may be written twice; those for which there is no room are not written. -1: there are more
    than ``limit`` candidates.
    """
    unused = np.uint64(64 - used_bits)
    used = ~((np.uint64(1) << unused) - np.uint64(1))
    aligned = np.uint64(query) << unused
    count = 0
    looked = 0
    for part in range(parts.shape[0]):
        table, start, length = parts[part, 0], parts[part, 1], parts[part, 2]
        by, back = np.uint64(start), np.uint64(used_bits - start)
        words = tables[table]
        wanted = aligned
        if start:
            wanted = ((aligned << by) | (aligned >> back)) & used
        for number in range(parts[part, 3], parts[part, 4]):
            prefix = (wanted ^ masks[number]) >> np.uint64(64 - length)
            begin, end = _bounds(words, offsets[table], prefix, length)
            looked += end - begin
            if looked > limit:
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
    looked = 0
    for row in order:
        wanted = queries[row]
        for mask in masks:
            begin, end = _bounds(words, offsets, (wanted ^ mask) >> np.uint64(64 - length), length)
            looked += end - begin
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
    return rows[:count], places[:count], looked


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
                first, last = _bounds(words, offsets, prefix ^ flipped, length)
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
next_table = Kernel(_next_table, ["void(uint64[::1], uint64[::1], int64[::1], int64, int64)"])
near_values = Kernel(
    _near_values,
    [
        "int64(uint64[:, ::1], uint32[:, ::1], int64[:, ::1], uint64[::1], int64, uint64, int64, "
        "int64, uint64[::1])"
    ],
    parts=[bits_of, _bounds, _count_near],
    lets_go=False,
)
near_places = Kernel(_near_places, _OF_NEAR_PLACES, parts=[bits_of, _bounds, _count_near, _grown])
near_places_of_few = Kernel(
    _near_places,
    _OF_NEAR_PLACES,
    parts=[bits_of, _bounds, _count_near, _grown],
    lets_go=False,
)
paired_places = Kernel(
    _paired_places,
    [
        "Tuple((int64[::1], int64[::1], int64))(uint64[::1], uint32[::1], uint64, int64, int64, "
        "int64, int64)"
    ],
    parts=[bits_of, _bounds, _count_near, _grown],
)
