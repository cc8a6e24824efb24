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

ALL_SETS, MEAN, LABELS = "all", "mean", "labels"
RESEMBLANCE = 0.5
WIDE_RADIUS = 6
# Lower bounds of the bands of resemblance; the last one holds what is left.
BANDS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.0)
_STEPS = np.round(np.arange(0.05, 1.0001, 0.05), 2)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Counts and measures of a method at one threshold.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "ferry-2026")])
    >>> curve = store.evaluate.run(labels).curve("all", "minhash")
    >>> [(point.threshold, point.f1) for point in curve if point.is_default]
    [(0.5, 1.0)]

    Attributes:
        set_name: The set of documents; ``all``: all of them; ``mean``: the mean
            over the sets.
        method: One of :data:`~simstore.search.agreement.METHODS`.
        threshold: Radius in bits, inclusive, or least share.
        against: ``labels``, or ``resemblance >= x``: the pairs of the exact
            join.
        counts: The pairs; None for a mean.
        is_default: The threshold is the default.
    """

    set_name: str
    method: str
    threshold: float
    against: str
    precision: float
    recall: float
    f1: float
    counts: Agreement | None
    is_default: bool


@dataclass(frozen=True, slots=True)
class BandRecall:
    """Recall of the labelled pairs in a band of resemblance.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "ferry-2026")])
    >>> (band,) = store.evaluate.run(labels).bands
    >>> band.lowest, band.pair_count, band.recalls["both"]
    (0.8, 1, 1.0)

    Attributes:
        lowest: Least resemblance of the band, inclusive.
        below: Its end, exclusive but for 1.
        pair_count: Labelled pairs in it.
        recalls: Share that is found, by what finds it.
    """

    set_name: str
    lowest: float
    below: float
    pair_count: int
    recalls: dict[str, float]


@dataclass(frozen=True, slots=True)
class Judged:
    """The documents whose pairs are judged.

    Attributes:
        set_of: Number of each document's set, shape (documents,).
        set_names: Name of each set.
    """

    set_of: NDArray[np.int64]
    set_names: Sequence[str]

    def members(self) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return the documents of each set, then of all where there are several sets."""
        found = [(name, self.set_of == number) for number, name in enumerate(self.set_names)]
        if len(found) == 1:
            return found
        return [*found, (ALL_SETS, np.ones(len(self.set_of), np.bool_))]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of an evaluation.

    Attributes:
        radii: Radii in bits, ascending; none without fingerprints.
        default_radius: The store's default radius.
        candidate_radius: Radius of channel 1 where another method verifies what it finds.
        methods: Which methods there is something for.
        floor: The exact joins found all pairs of this resemblance and of this likeness; None:
            there were none.
        lexicons: Random lexicons of I-Match.
    """

    radii: Sequence[int]
    default_radius: int
    candidate_radius: int
    methods: Sequence[str]
    floor: float | None = None
    lexicons: int = 0

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
            return [step for step in steps if self.floor is not None and step >= self.floor]
        return steps

    def default(self, method: str) -> float:
        """Return the default threshold of a method."""
        if method == "simhash":
            return float(self.default_radius)
        if method == "i-match":
            return 1.0
        return LEAST_LIKENESS if method in BY_LIKENESS else RESEMBLANCE


def curves(pairs: ScoredPairs, judged: Judged, thresholds: Thresholds) -> list[CurvePoint]:
    """Return every method at every threshold, for each set, all of them, and the mean."""
    points: list[CurvePoint] = []
    for method in thresholds.methods:
        for threshold in thresholds.of(method):
            found = found_by(pairs, method, threshold, thresholds.candidate_radius)
            point = (method, threshold, LABELS, threshold == thresholds.default(method))
            points += _points(pairs, judged, found, pairs.labelled, point)
    return points


def against_resemblance(
    pairs: ScoredPairs, judged: Judged, thresholds: Thresholds, least: float
) -> list[CurvePoint]:
    """Return what the channels find of all pairs of a least resemblance.

    Args:
        pairs: Scored pairs, all of at least this resemblance among them.
        judged: The documents.
        thresholds: At which radii to look.
        least: Least resemblance of the pairs to find, and threshold of the other methods.
    """
    true = pairs.resemblance >= least
    points: list[CurvePoint] = []
    for method in thresholds.methods:
        if method == "exact" or method in BY_LIKENESS:
            continue
        chosen = [least]
        if method == "simhash":
            chosen = thresholds.of("simhash")
        elif method == "i-match":
            chosen = [thresholds.default(method)]
        for threshold in chosen:
            found = found_by(pairs, method, threshold, thresholds.candidate_radius)
            is_default = threshold == thresholds.default(method)
            point = (method, threshold, f"resemblance >= {least}", is_default)
            points += _points(pairs, judged, found, true, point)
    return points


def _points(
    pairs: ScoredPairs,
    judged: Judged,
    found: NDArray[np.bool_],
    labelled: NDArray[np.bool_],
    point: tuple[str, float, str, bool],
) -> list[CurvePoint]:
    """Return a point for each set, all sets, and the mean of those with labelled pairs."""
    method, threshold, against, is_default = point
    points = []
    for name, members in judged.members():
        here = members[pairs.first]
        counts = agreement(found & here, labelled & here)
        quality = (counts.precision, counts.recall, counts.f1)
        points.append(CurvePoint(name, method, threshold, against, *quality, counts, is_default))
    averaged = [p for p in points[:-1] if p.counts is not None and p.counts.labelled_count]
    if averaged:
        quality = (
            float(np.mean([p.precision for p in averaged])),
            float(np.mean([p.recall for p in averaged])),
            float(np.mean([p.f1 for p in averaged])),
        )
        points.append(CurvePoint(MEAN, method, threshold, against, *quality, None, is_default))
    return points


def band_recalls(pairs: ScoredPairs, judged: Judged, thresholds: Thresholds) -> list[BandRecall]:
    """Return which labelled pairs are found, by the band of their resemblance."""
    radius = thresholds.candidate_radius
    ways: dict[str, NDArray[np.bool_]] = {}
    if "simhash" in thresholds.methods:
        shown = {thresholds.default_radius, WIDE_RADIUS, radius}
        for bits in sorted(shown & {*thresholds.radii, radius}):
            ways[f"simhash {bits}"] = pairs.distance <= bits
    if "minhash" in thresholds.methods:
        ways["bands"] = pairs.in_band
        ways["both"] = pairs.in_band | (pairs.distance <= radius)
    for method in ("verified", "likeness", "either"):
        if method in thresholds.methods:
            threshold = thresholds.default(method)
            ways[f"{method} {threshold}"] = found_by(pairs, method, threshold, radius)
    rows = []
    for name, members in judged.members():
        here = pairs.labelled & members[pairs.first]
        for lowest, above in zip(BANDS, (1.0, *BANDS), strict=False):
            end = pairs.resemblance < above if above < 1 else pairs.resemblance <= 1
            inside = here & (pairs.resemblance >= lowest) & end
            total = int(np.count_nonzero(inside))
            if total:
                recalls = {
                    way: int(np.count_nonzero(inside & found)) / total
                    for way, found in ways.items()
                }
                rows.append(BandRecall(name, lowest, above, total, recalls))
    return rows


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
        outside_count: Labelled pairs that were left aside, because their
            documents are of two sets or two parts.
        methods: Methods there are curves of.
        points: The curves, and those against all pairs of a least resemblance.
        bands: The labelled pairs by their resemblance.
    """

    document_count: int
    pair_count: int
    unknown_keys: tuple[str, ...]
    outside_count: int
    methods: tuple[str, ...]
    points: tuple[CurvePoint, ...]
    bands: tuple[BandRecall, ...]

    @property
    def summary_set(self) -> str:
        """The set that stands for all: the mean over the sets, or the only one."""
        names = {point.set_name for point in self.points}
        return MEAN if MEAN in names else next(iter(names), ALL_SETS)

    def curve(self, set_name: str, method: str) -> list[CurvePoint]:
        """Return the points of a method on a set, by ascending threshold."""
        return [
            point
            for point in self.points
            if (point.set_name, point.method, point.against) == (set_name, method, LABELS)
        ]

    def steadiest(
        self, set_name: str, methods: Sequence[str] | None = None
    ) -> tuple[CurvePoint, float] | None:
        """Return the point whose F1 is the highest on average around it.

        Args:
            set_name: The set.
            methods: Of these methods; None: of all.

        Returns:
            The point and that average; None where there is no curve.
        """
        chosen: tuple[CurvePoint, float] | None = None
        for method in self.methods if methods is None else methods:
            curve = self.curve(set_name, method)
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
