from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from numpy.typing import NDArray

from simstore.search.agreement import NO_DISTANCE, ScoredPairs, found_by
from simstore.search.evaluation import (
    CurvePoint,
    Judged,
    Thresholds,
    curves,
)

# Documents 0 to 3 are the set "left", 4 to 6 the set "right"; 0, 1, 2 and 4, 5 are of one text.
# (first, second, labelled, distance, in a band, estimate, resemblance, likeness, cosine)
ROWS = [
    (0, 1, True, 1, True, 0.9, 0.95, 0.9, 0.9),
    (0, 2, True, 9, True, 0.55, 0.45, 0.6, 0.7),
    (1, 2, True, 20, False, 0.5, 0.4, 0.6, 0.7),
    (0, 3, False, 3, False, 0.1, 0.2, 0.2, 0.9),
    (4, 5, True, NO_DISTANCE, True, 0.5, 0.5, 0.58, 0.68),
    (4, 6, False, 2, True, 0.7, 0.8, 0.9, 0.6),
]
METHODS = ("simhash", "minhash", "verified", "likeness", "either", "exact", "exact-either")


def scored() -> ScoredPairs:
    columns = [np.array(column) for column in zip(*ROWS, strict=True)]
    unasked = np.zeros(len(ROWS), np.int64), np.full(len(ROWS), np.nan)
    names = [field.name for field in fields(ScoredPairs)]
    return ScoredPairs(**dict(zip(names, (*columns, *unasked), strict=True)))


def judged() -> Judged:
    return Judged(np.array([0, 0, 0, 0, 1, 1, 1]), ["left", "right"])


def thresholds(candidate_radius: int = 3) -> Thresholds:
    return Thresholds(range(13), 3, candidate_radius, METHODS, 0.3)


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


def point(points: list[CurvePoint], *wanted: object) -> CurvePoint:
    (found,) = [p for p in points if (p.set_name, p.method, p.threshold) == wanted]
    return found


def test_curves_of_each_set_of_all_and_the_mean() -> None:
    points = curves(scored(), judged(), thresholds())
    # Found by radius 3: 0-1, 0-3 and 4-6, of which 0-1 alone is labelled.
    left = point(points, "left", "simhash", 3)
    assert left.precision == 0.5
    assert left.recall == pytest.approx(1 / 3)
    assert left.f1 == pytest.approx(2 / 5)
    # 2 and 3 lack or have too much; so do 0 and 1.
    right = point(points, "right", "simhash", 3)
    assert (right.precision, right.recall, right.f1) == (0, 0, 0)
    everything = point(points, "all", "simhash", 3)
    assert everything.counts is not None
    assert everything.counts.common_count == 1
    assert everything.precision == pytest.approx(1 / 3)
    assert everything.recall == 0.25
    mean = point(points, "mean", "simhash", 3)
    assert mean.precision == 0.25
    assert mean.f1 == pytest.approx(0.2)
    assert mean.counts is None
    assert mean.is_default
