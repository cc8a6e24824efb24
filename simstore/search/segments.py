"""Segments: the 16-bit parts of a fingerprint, and the values to look up near one of them."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

SEGMENT_BITS = 16


def segment_widths(bits: int) -> tuple[int, ...]:
    """Return the width of each segment of an M-bit fingerprint; only the last may be below 16."""
    full, rest = divmod(bits, SEGMENT_BITS)
    return (SEGMENT_BITS,) * full + ((rest,) if rest else ())


def segment_values(value: int, bits: int) -> tuple[int, ...]:
    """Return the segments of a fingerprint, most significant bits first."""
    values = []
    remaining = bits
    for width in segment_widths(bits):
        remaining -= width
        values.append(value >> remaining & ((1 << width) - 1))
    return tuple(values)


def segment_columns(words: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """Return the segments of many fingerprints, most significant bits first.

    Args:
        words: Fingerprints of M bits, shape (n, ceil(M / 64)).
        bits: M.

    Returns:
        int64, shape (n, ceil(M / 16)).
    """
    columns = []
    below = bits
    for width in segment_widths(bits):
        below -= width
        # A segment may lie across two words where M is no multiple of 16.
        column = words.shape[1] - 1 - below // 64
        values = words[:, column] >> np.uint64(below % 64)
        if below % 64 + width > 64:
            values = values | words[:, column - 1] << np.uint64(64 - below % 64)
        columns.append((values & np.uint64((1 << width) - 1)).astype(np.int64))
    return np.stack(columns, axis=1)


def probe_values(value: int, width: int, threshold: int) -> list[int]:
    """Return the segment values within ``threshold`` bits of a value, itself first.

    Args:
        value: A segment value below ``2**width``.
        width: Width of the segment, in bits.
        threshold: Most bits to flip; -1 gives no value.
    """
    if threshold < 0:
        return []
    return [value ^ int(mask) for mask in _flip_masks(width, min(threshold, width))]


def probe_count(width: int, threshold: int) -> int:
    """Return how many values lie within ``threshold`` bits of one."""
    return sum(comb(width, flips) for flips in range(threshold + 1))


@cache
def _flip_masks(width: int, threshold: int) -> NDArray[np.int64]:
    masks = [
        sum(1 << bit for bit in flipped)
        for flips in range(threshold + 1)
        for flipped in combinations(range(width), flips)
    ]
    return np.array(masks, np.int64)
