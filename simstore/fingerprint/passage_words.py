"""Fingerprints of passages, 64 bits each, and the segments that they are looked up by.

References:
    Charikar: Similarity estimation techniques from rounding algorithms, STOC 2002, section 3;
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3 (of
    fingerprints within 3 bits, one of four segments is equal).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import runs
from simstore.fingerprint.winnowing import HASH_BITS
from simstore.text.located import LocatedUnits
from simstore.text.mixing import GAMMA, mix

RADIUS = 3
SEGMENTS = 4
_SEGMENT_BITS = 16
_GRAM = 2
_LOST = np.uint64(64 - HASH_BITS)


def passage_fingerprints(units: LocatedUnits, spans: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the SimHash of each passage: of its pairs of consecutive units, one vote each.

    A passage of one unit has the hash of that unit; one of none has 0.

    Args:
        units: The units of a text.
        spans: Its passages, shape (n, 2).

    Returns:
        Shape (n,).
    """
    found = np.zeros(len(spans), np.uint64)
    firsts = np.searchsorted(units.starts, spans[:, 0])
    ends = np.searchsorted(units.starts, spans[:, 1])
    single = ends - firsts == 1
    found[single] = units.hashes[firsts[single]]
    several = np.flatnonzero(ends - firsts >= _GRAM)
    if not len(several):
        return found
    counts = ends[several] - firsts[several] - (_GRAM - 1)
    offsets = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(firsts[several] - offsets, counts)
    hashes = runs(units.hashes, _GRAM)[places]
    bits = np.unpackbits(hashes.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    ones = np.add.reduceat(bits, offsets, axis=0, dtype=np.int32)
    # A tie is a 0.
    packed = np.packbits(2 * ones > counts[:, None], axis=1)
    found[several] = np.ascontiguousarray(packed).view(">u8")[:, 0]
    return found


def segment_hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hash that stands for each segment of fingerprints, among those of anchors.

    Args:
        words: Fingerprints, shape (n,).

    Returns:
        40 bits each, shape (n, 4).
    """
    shifts = np.arange(SEGMENTS, dtype=np.uint64) * np.uint64(_SEGMENT_BITS)
    values = words[:, None] >> shifts & np.uint64((1 << _SEGMENT_BITS) - 1)
    names = (np.arange(SEGMENTS, dtype=np.uint64) + np.uint64(1)) << np.uint64(_SEGMENT_BITS)
    return mix((values | names) * GAMMA) >> _LOST
