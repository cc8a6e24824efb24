"""Rotated fingerprints: any segment moved to the front, so that sorting brings its values together.

A fingerprint is *aligned* when its first bit is the highest bit of its first word; the bits below
its last are zero. So the first bits of a rotated fingerprint are found at one place for every M.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def words_of(value: int, bits: int) -> NDArray[np.uint64]:
    """Return an integer below 2**M as the words of one fingerprint, shape (1, ceil(M / 64))."""
    count = -(-bits // _WORD_BITS)
    shifts = range(_WORD_BITS * (count - 1), -1, -_WORD_BITS)
    return np.array([[value >> shift & ((1 << _WORD_BITS) - 1) for shift in shifts]], np.uint64)


def integers_of(words: NDArray[np.uint64]) -> list[int]:
    """Return fingerprints, shape (n, words), as non-negative integers."""
    numbers: list[int] = [0] * len(words)
    for column in words.T:
        numbers = [
            number << _WORD_BITS | word
            for number, word in zip(numbers, column.tolist(), strict=True)
        ]
    return numbers


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
