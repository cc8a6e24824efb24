from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from simstore.search.agreement import NO_DISTANCE, ScoredPairs, found_by

# Of documents 0, 1, 2 and of 4, 5 each is a version of the others.
# (first, second, labelled, distance, in a band, estimate, resemblance, likeness, cosine)
ROWS = [
    (0, 1, True, 1, True, 0.9, 0.95, 0.9, 0.9),
    (0, 2, True, 9, True, 0.55, 0.45, 0.6, 0.7),
    (1, 2, True, 20, False, 0.5, 0.4, 0.6, 0.7),
    (0, 3, False, 3, False, 0.1, 0.2, 0.2, 0.9),
    (4, 5, True, NO_DISTANCE, True, 0.5, 0.5, 0.58, 0.68),
    (4, 6, False, 2, True, 0.7, 0.8, 0.9, 0.6),
]


def scored() -> ScoredPairs:
    columns = [np.array(column) for column in zip(*ROWS, strict=True)]
    unasked = np.zeros(len(ROWS), np.int64), np.full(len(ROWS), np.nan)
    names = [field.name for field in fields(ScoredPairs)]
    return ScoredPairs(**dict(zip(names, (*columns, *unasked), strict=True)))


def places(found: NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(found).tolist()


def test_what_each_method_finds() -> None:
    for method, threshold, radius, expected in (
        ("simhash", 3, 0, [0, 3, 5]),
        ("simhash", 2, 0, [0, 5]),
        ("minhash", 0.5, 0, [0, 1, 4, 5]),
        ("minhash", 0.56, 0, [0, 5]),
        ("verified", 0.2, 3, [0, 1, 3, 4, 5]),
        ("verified", 0.2, 2, [0, 1, 4, 5]),
        ("verified", 0.5, 3, [0, 4, 5]),
        ("likeness", 0.58, 3, [0, 1, 4]),
        ("likeness", 0.58, 20, [0, 1, 2, 4]),
        # The last pair's cosine is too low, and its resemblance leaves no doubt.
        ("either", 0.58, 3, [0, 1, 4, 5]),
        ("either", 0.58, 20, [0, 1, 2, 4, 5]),
        ("exact-either", 0.58, 0, [0, 1, 2, 4, 5]),
        ("exact-either", 0.61, 0, [0, 5]),
        ("exact", 0.4, 0, [0, 1, 2, 4, 5]),
    ):
        assert places(found_by(scored(), method, threshold, radius)) == expected, method


def test_nothing_unknown_is_found() -> None:
    pairs = scored()
    pairs.resemblance[:] = np.nan
    pairs.likeness[:] = np.nan
    for method in ("verified", "likeness", "exact"):
        assert not found_by(pairs, method, 0.05, 64).any()
