"""LSH bands of sketches in memory: which of them share a band."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import distinct

# Pairs of sketches, with repetitions, that are held before they are thinned out.
_KEPT_PAIRS = 1 << 22


def colliding_pairs(bands: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return all pairs of sketches that agree in at least one band.

    Args:
        bands: Band hashes, shape (n, bands).

    Returns:
        Places (i, j) with i < j, ascending, distinct; int64, shape (pairs, 2).
    """
    return pairs_of_columns(bands.T, len(bands))


def pairs_of_columns(columns: Iterable[NDArray[np.uint64]], count: int) -> NDArray[np.int64]:
    """Return what :func:`colliding_pairs` does, of bands that come one after the other.

    Args:
        columns: The hashes of each band, shape (count,).
        count: Number of sketches.
    """
    rows = np.arange(count)
    parts = [np.empty(0, np.int64)]
    held = 0
    for column in columns:
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        bounds = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, count)
        # Each row pairs with those of the same hash that stand behind it.
        lengths = np.repeat(bounds, np.diff(bounds, prepend=0)) - rows - 1
        firsts = np.repeat(rows, lengths)
        seconds = (
            firsts + 1 + np.arange(len(firsts)) - np.repeat(lengths.cumsum() - lengths, lengths)
        )
        parts.append(order[firsts] * count + order[seconds])
        held += len(firsts)
        # Texts that are nearly all the same agree in most bands: each pair is kept once.
        if held > max(_KEPT_PAIRS, 2 * len(parts[0])):
            parts = [distinct(np.concatenate(parts))]
            held = len(parts[0])
    codes = distinct(np.concatenate(parts))
    return np.stack((codes // count, codes % count), axis=1) if count else codes.reshape(0, 2)
