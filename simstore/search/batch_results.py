"""Results of a search for many fingerprints at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.search.hamming import verify


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
