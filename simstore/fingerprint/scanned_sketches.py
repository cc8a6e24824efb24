"""Shingle sets and sketches of scanned texts, compiled."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import FACTORS, SHIFTS, VALUES
from simstore.fingerprint.packed_terms import PackedTerms
from simstore.fingerprint.shingle_sets import ShingleSets, distinct, from_rows, runs
from simstore.fingerprint.sketch_kernels import SKETCH
from simstore.text.scanning import Scanned


def scanned_sets(scanned: Scanned, size: int) -> ShingleSets:
    """Return the set of shingles of ``size`` consecutive tokens of each text."""
    hashes = PackedTerms.of_scanned(scanned).hashes
    places = scanned.offsets.tolist()
    return from_rows(
        [
            distinct(runs(hashes[scanned.numbers[first:end]], size))
            for first, end in pairwise(places)
        ]
    )


def scanned_sketches(scanned: Scanned, size: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Return the size of each text's shingle set, and its sketch.

    Returns:
        Shapes (texts,) and (texts, 128).
    """
    count = len(scanned.offsets) - 1
    sizes = np.empty(count, np.int64)
    made = np.empty((count, VALUES), np.uint16)
    hashes = PackedTerms.of_scanned(scanned).hashes
    SKETCH(
        numbers=scanned.numbers,
        offsets=scanned.offsets,
        hashes=hashes,
        size=size,
        factors=FACTORS,
        shifts=SHIFTS,
        sizes=sizes,
        result=made,
    )
    return sizes, made
