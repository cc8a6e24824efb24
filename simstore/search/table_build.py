"""The copies of a set of fingerprints that :mod:`simstore.search.sorted_tables` looks into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import pays
from simstore.search.rotation import rotated, turned
from simstore.search.segments import SEGMENT_BITS, segment_widths
from simstore.search.table_kernels import next_table

# Seconds that NumPy takes to sort one number.
_SORT_SECONDS = 1e-7


def sorted_copies(
    words: NDArray[np.uint64], bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the first 64 bits of the rotated fingerprints, sorted, and what follows them.

    Args:
        words: Fingerprints of M bits, shape (n, ceil(M / 64)), in any order.
        bits: M.

    Returns:
        uint64, shape (segments, n); and the same or, for M <= 64, shape (segments, 0).
    """
    widths = segment_widths(bits)
    aligned = rotated(words, bits, 0)
    aligned = aligned[:, np.lexsort(aligned[::-1])] if bits > 64 else np.sort(aligned)
    changes = (aligned[:, 1:] != aligned[:, :-1]).any(axis=0)
    if not changes.all():
        aligned = aligned[:, np.flatnonzero(np.append(True, changes))]
    count = aligned.shape[1]
    tables = np.empty((len(widths), count), np.uint64)
    rests = np.empty((len(widths), count if bits > 64 else 0), np.uint64)
    tables[0] = aligned[0]
    rests[0] = aligned[1:].ravel()
    compiled = bits <= 64 and pays(_SORT_SECONDS * count * len(widths))
    # From the last on, as each table is one pass of a radix sort away from the one that follows it.
    for segment in range(len(widths) - 1, 0, -1):
        if compiled:
            source = tables[(segment + 1) % len(widths)]
            ends = np.zeros(1 << widths[segment], np.int64)
            next_table(source, tables[segment], ends, bits, widths[segment])
            continue
        copy = turned(aligned, bits, SEGMENT_BITS * segment)
        if bits > 64:
            copy = copy[:, np.argsort(copy[0])]
            rests[segment] = copy[1]
        tables[segment] = copy[0]
        if bits <= 64:
            tables[segment].sort()
    return tables, rests
