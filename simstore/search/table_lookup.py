"""Look-ups in sorted tables by NumPy: the forms of :mod:`simstore.search.table_kernels`.

A table is an array of sorted numbers with the offsets of their first 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simstore.search.segments import SEGMENT_BITS

# Pairs of a query and a candidate that are compared at a time.
_BLOCK = 1 << 20

Places = tuple[NDArray[np.int64], NDArray[np.int64]]


def offsets_of(table: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return where the numbers of each 16-bit prefix begin, and the end; uint32, shape (65537,)."""
    prefixes = np.arange(1 << SEGMENT_BITS, dtype=np.uint64) << np.uint64(64 - SEGMENT_BITS)
    offsets = np.full((1 << SEGMENT_BITS) + 1, len(table), np.uint32)
    offsets[:-1] = np.searchsorted(table, prefixes)
    return offsets


def bounds(
    table: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
    prefixes: NDArray[np.uint64],
    length: int,
) -> Places:
    """Return where the numbers begin and end that start with each prefix.

    Args:
        table: Sorted numbers.
        offsets: Their offsets.
        prefixes: The first ``length`` bits, as numbers below ``2**length``; any shape.
        length: Bits of a prefix, 1 to 63.
    """
    if length <= SEGMENT_BITS:
        firsts = (prefixes << np.uint64(SEGMENT_BITS - length)).astype(np.int64)
        step = 1 << (SEGMENT_BITS - length)
        return offsets[firsts].astype(np.int64), offsets[firsts + step].astype(np.int64)
    rest = 64 - length
    lowest = prefixes << np.uint64(rest)
    highest = lowest | np.uint64((1 << rest) - 1)
    return np.searchsorted(table, lowest, "left"), np.searchsorted(table, highest, "right")


def bounds_of_one(
    table: NDArray[np.uint64], offsets: NDArray[np.uint32], probe: int, length: int
) -> tuple[int, int]:
    """Return the range of one prefix: :func:`bounds`, quicker for a single one.

    Args:
        table: Sorted numbers.
        offsets: Their offsets.
        probe: A number of 64 bits that begins with the prefix.
        length: Bits of the prefix, 1 to 63.
    """
    first = probe >> (64 - SEGMENT_BITS)
    if length <= SEGMENT_BITS:
        first &= -1 << (SEGMENT_BITS - length)
        return int(offsets[first]), int(offsets[first + (1 << (SEGMENT_BITS - length))])
    begin = int(offsets[first])
    words = table[begin : int(offsets[first + 1])]
    lowest = probe >> (64 - length) << (64 - length)
    highest = lowest | ((1 << (64 - length)) - 1)
    return (
        begin + int(words.searchsorted(np.uint64(lowest), "left")),
        begin + int(words.searchsorted(np.uint64(highest), "right")),
    )


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
        length: Bits of a probe, 1 to 63.
        radius: Largest distance, in bits, inclusive.

    Returns:
        Rows of the queries and places in the table, int64, shape (found,) each, and how many
        numbers were compared.
    """
    rows, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    looked_at = 0
    ordered = queries[order]
    for mask in masks:
        begins, ends = bounds(table, offsets, (ordered ^ mask) >> np.uint64(64 - length), length)
        looked_at += int((ends - begins).sum())
        for turns, some in expanded(begins, ends - begins):
            near = np.flatnonzero(np.bitwise_count(table[some] ^ ordered[turns]) <= radius)
            rows.append(order[turns[near]])
            places.append(some[near])
    return np.concatenate(rows), np.concatenate(places), looked_at


def paired_places(
    table: NDArray[np.uint64], offsets: NDArray[np.uint32], mask: int, length: int, radius: int
) -> Iterator[Places]:
    """Yield the places of pairs near each other whose prefixes differ by a mask.

    Args:
        table: Sorted numbers.
        offsets: Their offsets.
        mask: The difference of the prefixes, in the highest bits of a word.
        length: Bits of a prefix, 1 to 63.
        radius: Largest distance, in bits, inclusive.
    """
    places = np.arange(len(table))
    prefixes = table >> np.uint64(64 - length)
    if mask:
        partners = prefixes ^ np.uint64(mask >> (64 - length))
        places = places[partners > prefixes]
        begins, ends = bounds(table, offsets, partners[places], length)
    else:
        _, ends = bounds(table, offsets, prefixes, length)
        begins = places + 1
    for turns, others in expanded(begins, ends - begins):
        ones = places[turns]
        near = np.flatnonzero(np.bitwise_count(table[ones] ^ table[others]) <= radius)
        yield ones[near], others[near]


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
