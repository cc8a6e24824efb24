"""Split fingerprints into 16-bit segments, list the values near one, and rotate fingerprints.

A rotated fingerprint begins with any of its bits: sorting then brings the values of a segment
together. It is aligned to the first bit of its words, whose bits below its last are zero, so the
first bits of a rotated fingerprint are found at one place for every M.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb
from typing import Any

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


_WORD_BITS = 64


def rotated(words: NDArray[np.uint64], bits: int, start: int) -> NDArray[np.uint64]:
    """Return fingerprints that begin with their bit ``start``, aligned.

    Args:
        words: Fingerprints of M bits, shape (n, ceil(M / 64)).
        bits: M.
        start: The bit to begin with, ``0 <= start < M``, counted from the first one.

    Returns:
        uint64, shape (ceil(M / 64), n): the words one after the other.
    """
    spare = _WORD_BITS * words.shape[1] - bits
    return turned(_left(np.ascontiguousarray(words.T), spare), bits, start)


def restored(moved: NDArray[np.uint64], bits: int, start: int) -> NDArray[np.uint64]:
    """Return the fingerprints of rotated ones; the inverse of :func:`rotated`.

    Args:
        moved: Rotated fingerprints, shape (ceil(M / 64), n).
        bits: M.
        start: The bit that they begin with.

    Returns:
        uint64, shape (n, ceil(M / 64)).
    """
    spare = _WORD_BITS * len(moved) - bits
    back = turned(moved, bits, bits - start if start else 0)
    return np.ascontiguousarray(_right(back, spare).T)


def turned_value(value: int, bits: int, by: int) -> int:
    """Rotate an integer of M bits to the left, ``0 <= by <= M``."""
    return (value << by | value >> (bits - by)) & ((1 << bits) - 1)


def turned(aligned: NDArray[np.uint64], bits: int, by: int) -> NDArray[np.uint64]:
    """Rotate aligned fingerprints to the left, within their M bits."""
    if not by:
        return aligned
    moved = _left(aligned, by) | _right(aligned, bits - by)
    unused = _WORD_BITS * len(aligned) - bits
    moved[-1] &= np.uint64((1 << _WORD_BITS) - (1 << unused))
    return moved


def _left(words: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    """Shift numbers of one or two words to the left."""
    if not by:
        return words
    if len(words) == 1:
        return words << np.uint64(by)
    high, low = words
    if by >= _WORD_BITS:
        return np.stack((low << np.uint64(by - _WORD_BITS), np.zeros_like(low)))
    carried = low >> np.uint64(_WORD_BITS - by)
    return np.stack((high << np.uint64(by) | carried, low << np.uint64(by)))


def _right(words: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    """Shift numbers of one or two words to the right."""
    if not by:
        return words
    if len(words) == 1:
        return words >> np.uint64(by)
    high, low = words
    if by >= _WORD_BITS:
        return np.stack((np.zeros_like(high), high >> np.uint64(by - _WORD_BITS)))
    carried = high << np.uint64(_WORD_BITS - by)
    return np.stack((high >> np.uint64(by), low >> np.uint64(by) | carried))


def bits_of(word: Any) -> Any:
    """Return how many bits of a uint64 are set; a part of kernels.

    It is written in the way that compilers know: they replace it by the machine's own instruction,
    and in a loop by one for several words.
    """
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
