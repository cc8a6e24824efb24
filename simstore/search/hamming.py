"""Compute Hamming distances, and verify candidates: those within the radius are matches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import begins_run


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


class BatchResults(NamedTuple):
    """Matches of many queries, ascending by query, then distance, then fingerprint.

    Attributes:
        query_rows: Which query; int64, shape (matches,).
        words: The fingerprints; uint64, shape (matches, ceil(M / 64)).
        distances: In bits; int64, shape (matches,).
    """

    query_rows: NDArray[np.int64]
    words: NDArray[np.uint64]
    distances: NDArray[np.int64]


def verified(
    rows: NDArray[np.int64],
    words: NDArray[np.uint64],
    queries: NDArray[np.uint64],
    radius: int,
) -> BatchResults:
    """Return the candidates of many queries that are matches, in order, each once.

    Args:
        rows: Which query a candidate is of; shape (n,).
        words: The candidates; shape (n, ceil(M / 64)).
        queries: Shape (m, ceil(M / 64)).
        radius: Largest distance, in bits, inclusive.
    """
    near, found = verify(words, queries[rows], radius)
    return distinct_results(rows[near], words[near], found)


def distinct_results(
    rows: NDArray[np.int64], words: NDArray[np.uint64], distances: NDArray[np.int64]
) -> BatchResults:
    """Return matches in order, each once.

    Args:
        rows: Which query; shape (n,).
        words: The fingerprints; shape (n, ceil(M / 64)).
        distances: In bits; shape (n,).
    """
    order = np.lexsort((*words.T[::-1], distances, rows))
    rows, words, distances = rows[order], words[order], distances[order]
    is_first = begins_run(rows, *words.T)
    return BatchResults(rows[is_first], words[is_first], distances[is_first])


class FoundPairs(NamedTuple):
    """Pairs of fingerprints, the smaller one left.

    Attributes:
        left: uint64, shape (pairs, ceil(M / 64)).
        right: uint64, shape (pairs, ceil(M / 64)).
        distances: In bits; int64, shape (pairs,).
    """

    left: NDArray[np.uint64]
    right: NDArray[np.uint64]
    distances: NDArray[np.int64]


def verified_pairs(left: NDArray[np.uint64], right: NDArray[np.uint64], radius: int) -> FoundPairs:
    """Return the pairs that are within the radius.

    Args:
        left: Fingerprints, shape (n, ceil(M / 64)).
        right: The other of each pair.
        radius: Largest distance, in bits, inclusive.
    """
    kept, far = verify(left, right, radius)
    left, right = left[kept], right[kept]
    swapped = left[:, 0] > right[:, 0]
    if left.shape[1] > 1:
        swapped |= (left[:, 0] == right[:, 0]) & (left[:, 1] > right[:, 1])
    return FoundPairs(
        np.where(swapped[:, None], right, left), np.where(swapped[:, None], left, right), far
    )
