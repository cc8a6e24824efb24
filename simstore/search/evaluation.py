"""Evaluation: precision, recall and F1 of scored pairs against labels, by threshold.

The pairs that a method finds at a threshold are compared with those that are labelled. The
threshold with the highest F1 on some labelled pairs owes part of that to their accidents; the mean
over the thresholds around each one owes less to them, and its maximum lies in the middle of where
the method works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.agreement import (
    BY_LIKENESS,
    JOINED,
    Agreement,
    ScoredPairs,
    agreement,
    found_by,
)
from simstore.search.likeness import LEAST_LIKENESS

RESEMBLANCE = 0.5
_STEPS = np.round(np.arange(0.05, 1.0001, 0.05), 2)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Counts and measures of a method at one threshold.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "ferry-2026")])
    >>> curve = store.evaluate.run(labels).curve("minhash")
    >>> [(point.threshold, point.f1) for point in curve if point.is_default]
    [(0.5, 1.0)]

    Attributes:
        method: One of :data:`~simstore.search.agreement.METHODS`.
        threshold: Radius in bits, inclusive, or least share.
        precision: Share of the found pairs that are labelled.
        recall: Share of the labelled pairs that were found.
        f1: Harmonic mean of both.
        counts: The pairs.
        is_default: The threshold is the default.
    """

    method: str
    threshold: float
    precision: float
    recall: float
    f1: float
    counts: Agreement
    is_default: bool


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of an evaluation.

    Attributes:
        radii: Radii in bits, ascending.
        default_radius: The store's default radius; what other methods verify lies within it.
        methods: Which methods there is something for.
        floor: The exact joins found all pairs of this resemblance and of this likeness.
        lexicons: Random lexicons of I-Match.
    """

    radii: Sequence[int]
    default_radius: int
    methods: Sequence[str]
    floor: float
    lexicons: int

    def of(self, method: str) -> list[float]:
        """Return the thresholds of a method, ascending."""
        if method == "simhash":
            return [float(radius) for radius in self.radii]
        if method == "i-match":
            return [float(count) for count in range(1, self.lexicons + 2)]
        steps: list[float] = _STEPS.tolist()
        if method in BY_LIKENESS:
            steps = sorted({*steps, LEAST_LIKENESS})
        if method in JOINED:
            return [step for step in steps if step >= self.floor]
        return steps

    def default(self, method: str) -> float:
        """Return the default threshold of a method."""
        if method == "simhash":
            return float(self.default_radius)
        if method == "i-match":
            return 1.0
        return LEAST_LIKENESS if method in BY_LIKENESS else RESEMBLANCE


def curves(pairs: ScoredPairs, thresholds: Thresholds) -> list[CurvePoint]:
    """Return every method at every threshold."""
    points = []
    for method in thresholds.methods:
        for threshold in thresholds.of(method):
            found = found_by(pairs, method, threshold, thresholds.default_radius)
            counts = agreement(found, pairs.labelled)
            measures = (threshold, counts.precision, counts.recall, counts.f1, counts)
            points.append(CurvePoint(method, *measures, threshold == thresholds.default(method)))
    return points


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of an evaluation: how well a store finds the labelled pairs.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "ferry-2026")])
    >>> found = store.evaluate.run(labels)
    >>> found.pair_count, found.methods[:2]
    (1, ('simhash', 'minhash'))

    Attributes:
        document_count: Documents whose pairs are judged.
        pair_count: Labelled pairs among them.
        unknown_keys: Labelled keys that the store does not hold, sorted.
        methods: Methods there are curves of.
        points: The curves.
    """

    document_count: int
    pair_count: int
    unknown_keys: tuple[str, ...]
    methods: tuple[str, ...]
    points: tuple[CurvePoint, ...]

    def curve(self, method: str) -> list[CurvePoint]:
        """Return the points of a method, by ascending threshold."""
        return [point for point in self.points if point.method == method]

    def steadiest(self, methods: Sequence[str] | None = None) -> tuple[CurvePoint, float] | None:
        """Return the point whose F1 is the highest on average around it.

        Args:
            methods: Of these methods; None: of all.

        Returns:
            The point and that average; None where there is no curve.
        """
        chosen: tuple[CurvePoint, float] | None = None
        for method in self.methods if methods is None else methods:
            curve = self.curve(method)
            width = RADIUS_WIDTH if method == "simhash" else SHARE_WIDTH
            means = steadied([p.threshold for p in curve], [p.f1 for p in curve], width)
            if len(means) and (chosen is None or means.max() > chosen[1]):
                chosen = curve[highest(means)], float(means.max())
        return chosen


# How far around a threshold to look: a tenth of the scale, whether of shares or of 64 bits.
SHARE_WIDTH = 0.1
RADIUS_WIDTH = 6.0
_ROUNDING = 1e-9


def steadied(
    thresholds: Sequence[float], scores: Sequence[float], width: float
) -> NDArray[np.float64]:
    """Return for each threshold the mean score of those no further away than a width.

    Args:
        thresholds: In any order, shape (thresholds,).
        scores: The score at each.
        width: Inclusive.
    """
    places = np.asarray(thresholds, np.float64)
    values = np.asarray(scores, np.float64)
    near = np.abs(places[:, None] - places) <= width + _ROUNDING
    means: NDArray[np.float64] = (near @ values) / np.maximum(near.sum(axis=1), 1)
    return means


def highest(means: NDArray[np.float64]) -> int:
    """Return the place of the highest mean; of several, the middle one.

    Args:
        means: At least one.
    """
    places = np.flatnonzero(means >= means.max() - _ROUNDING)
    return int(places[len(places) // 2])
