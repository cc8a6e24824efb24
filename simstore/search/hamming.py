"""Hamming distance, and the one place where a candidate becomes a match."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def distances(words: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the Hamming distance of each fingerprint to the query, in bits.

    Args:
        words: Fingerprints, shape (n, words).
        query: One fingerprint, shape (words,), or one for each, shape (n, words).

    Returns:
        int64, shape (n,).
    """
    counts = np.bitwise_count(words ^ query)
    result: NDArray[np.int64] = counts.sum(axis=1, dtype=np.int64)
    return result


def verify(
    candidates: NDArray[np.uint64], query: NDArray[np.uint64], radius: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Decide which candidates are matches: ``distance <= radius``, decided here and nowhere else.

    Args:
        candidates: Fingerprints, shape (n, words).
        query: One fingerprint, shape (words,), or one for each candidate, shape (n, words).
        radius: Largest accepted distance, in bits, inclusive.

    Returns:
        Positions of the matches among the candidates, ascending, and their distances.
    """
    all_distances = distances(candidates, query)
    positions = np.flatnonzero(all_distances <= radius)
    return positions, all_distances[positions]


def verify_values(values: Iterable[int], query: int, radius: int) -> list[tuple[int, int]]:
    """Return the matches among a handful of candidates: the same decision, for numbers.

    Args:
        values: Fingerprints; repeated ones count once.
        query: A fingerprint.
        radius: Largest accepted distance, in bits, inclusive.

    Returns:
        (fingerprint, distance), ascending by distance, then fingerprint.
    """
    found = [
        (distance, value)
        for value in set(values)
        if (distance := (value ^ query).bit_count()) <= radius
    ]
    found.sort()
    return [(value, distance) for distance, value in found]
