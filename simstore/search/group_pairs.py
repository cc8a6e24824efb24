"""Enumerate the pairs of rows to compare in each group, or between its two parts, in blocks.

A group of m rows has m * m / 2 pairs, too many for one worker where a value is crowded. Its rows
are dealt to c parts, and each pair of parts is a cell, a group of its own: a row is in c cells, and
no cell has more than the rows of two parts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

# Pairs that are held at a time.
_BLOCK = 1 << 18
# The side of a row whose group has one part.
ALONE = 2

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def group_pairs(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    sides: NDArray[np.int8],
    fresh: NDArray[np.bool_],
) -> Iterator[Pairs]:
    """Yield the pairs of rows to compare, in blocks; each pair of a group once.

    In a group of one part all rows are compared; in one of two parts, those of the one with those
    of the other. Pairs of two rows that are not fresh are left out.

    Args:
        starts: First row of each group; rows of a group stand together, by side, and of each side
            the fresh ones first.
        ends: Row after the last of each group.
        sides: :data:`ALONE` for rows of a group of one part; 0 and 1 for those of two parts; shape
            (rows,).
        fresh: Whether each row is fresh, shape (rows,).
    """
    rectangles: list[tuple[int, int, int, int]] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if end - start < 2:
            continue
        if sides[start] == ALONE:
            # A triangle: each fresh row with all behind it.
            fresh_end = start + int(np.count_nonzero(fresh[start:end]))
            rectangles += [(row, row + 1, row + 1, end) for row in range(start, fresh_end)]
            continue
        middle = start + int(np.count_nonzero(sides[start:end] == 0))
        first_fresh = start + int(np.count_nonzero(fresh[start:middle]))
        second_fresh = middle + int(np.count_nonzero(fresh[middle:end]))
        rectangles.append((start, first_fresh, middle, end))
        rectangles.append((first_fresh, middle, middle, second_fresh))
    yield from _enumerated(rectangles)


def _enumerated(rectangles: list[tuple[int, int, int, int]]) -> Iterator[Pairs]:
    """Yield the pairs of rows ``[a, b) x [c, d)`` of each rectangle."""
    if not rectangles:
        return
    bounds = np.array(rectangles, np.int64)
    # A row of a rectangle is a line of pairs.
    heights = bounds[:, 1] - bounds[:, 0]
    lines = np.repeat(bounds[:, 0], heights) + _counting(heights)
    firsts = np.repeat(bounds[:, 2], heights)
    widths = np.repeat(bounds[:, 3] - bounds[:, 2], heights)
    ends = np.cumsum(widths)
    line = 0
    while line < len(lines):
        done = int(ends[line - 1]) if line else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, "right")), line + 1)
        part = slice(line, stop)
        seconds = np.repeat(firsts[part], widths[part]) + _counting(widths[part])
        if len(seconds):
            yield np.repeat(lines[part], widths[part]), seconds
        line = stop


def _counting(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, ... of each length, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    result: NDArray[np.int64] = np.arange(total) - np.repeat(ends - lengths, lengths)
    return result
