"""Evaluation: from scored pairs and labels to precision, recall and the rest, by threshold.

The pairs that a method finds at a threshold are compared with those that are labelled. Five
methods share the same pairs: ``simhash`` (distance at most the radius), ``minhash`` (the sketches
agree in a band and their estimate reaches the threshold), ``verified`` (found by one of the two
channels, and the resemblance reaches the threshold), ``likeness`` (found by one of the two, and
alike in what is rare), ``exact`` (the resemblance reaches the threshold, found or not).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.search.agreement import (
    Agreement,
    adjusted_rand_index,
    agreement,
    exact_sets,
    star_clusters,
)
from simstore.search.likeness import LEAST_COSINE, LEAST_LIKENESS

METHODS = ("simhash", "minhash", "verified", "likeness", "exact")
ALL_SETS, MEAN = "all", "mean"
RESEMBLANCE = 0.5
WIDE_RADIUS = 6
# Lower bounds of the bands of resemblance; the last one holds what is left.
BANDS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.0)
NO_DISTANCE = 1 << 10
_STEPS = np.round(np.arange(0.05, 1.0001, 0.05), 2)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What a method does at one threshold.

    Attributes:
        set_name: The set of documents; ``all``: all of them; ``mean``: the mean over the sets.
        method: One of :data:`METHODS`.
        threshold: Radius in bits, inclusive, or least share.
        against: ``labels``, or ``resemblance >= x``: the pairs of the exact join.
        exact_sets: Share of the documents that were found alike to exactly what is labelled;
            None where not every pair is judged.
        ari: Adjusted Rand index of the star clusters of the found pairs; None as before.
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
    exact_sets: float | None
    ari: float | None
    counts: Agreement | None
    is_default: bool


@dataclass(frozen=True, slots=True)
class BandRecall:
    """Which of the labelled pairs in a band of resemblance are found.

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
class ScoredPairs:
    """Pairs of documents with all that the methods go by; shape (pairs,) each.

    A pair that is not here is found by no method and labelled by nobody.

    Attributes:
        first: Place of the first document.
        second: Place of the second, larger.
        labelled: They are labelled near-duplicates.
        distance: Hamming distance of the fingerprints; NO_DISTANCE without fingerprints.
        in_band: The sketches agree in a band.
        estimate: Resemblance estimated from the sketches.
        resemblance: Resemblance of the shingle sets; NaN where it is not known.
        likeness: Cosine of the rare terms; NaN where it is not known.
        cosine: Cosine of all terms; NaN where it is not known.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    labelled: NDArray[np.bool_]
    distance: NDArray[np.int64]
    in_band: NDArray[np.bool_]
    estimate: NDArray[np.float64]
    resemblance: NDArray[np.float64]
    likeness: NDArray[np.float64]
    cosine: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """The documents whose pairs are judged.

    Attributes:
        set_of: Number of each document's set, shape (documents,).
        set_names: Name of each set.
        clusters: The labelled cluster of each document; None where only some pairs are judged.
    """

    set_of: NDArray[np.int64]
    set_names: Sequence[str]
    clusters: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """At which thresholds to look.

    Attributes:
        radii: Radii in bits, ascending; none without fingerprints.
        default_radius: The radius of channel 1 where methods need one.
        methods: Which methods there is something for.
        floor: The exact join found all pairs of this resemblance; None: there was none.
    """

    radii: Sequence[int]
    default_radius: int
    methods: Sequence[str]
    floor: float | None = None

    def of(self, method: str) -> list[float]:
        """Return the thresholds of a method, ascending."""
        if method == "simhash":
            return [float(radius) for radius in self.radii]
        steps: list[float] = _STEPS.tolist()
        if method == "likeness":
            return sorted({*steps, LEAST_LIKENESS})
        if method == "exact":
            return [step for step in steps if self.floor is not None and step >= self.floor]
        return steps

    def default(self, method: str) -> float:
        """Return the default threshold of a method."""
        if method == "simhash":
            return float(self.default_radius)
        return LEAST_LIKENESS if method == "likeness" else RESEMBLANCE


def found_by(pairs: ScoredPairs, method: str, threshold: float, radius: int) -> NDArray[np.bool_]:
    """Return which pairs a method finds.

    Args:
        pairs: The pairs.
        method: One of :data:`METHODS`.
        threshold: Its threshold, inclusive.
        radius: Radius of channel 1 where the method is not ``simhash``.
    """
    found: NDArray[np.bool_]
    if method == "simhash":
        found = pairs.distance <= threshold
    elif method == "minhash":
        found = pairs.in_band & (pairs.estimate >= threshold)
    elif method == "exact":
        found = pairs.resemblance >= threshold
    else:
        found = (pairs.distance <= radius) | pairs.in_band
        if method == "verified":
            found &= pairs.resemblance >= threshold
        else:
            found &= (pairs.likeness >= threshold) & (pairs.cosine >= LEAST_COSINE)
    return found


def curves(pairs: ScoredPairs, judged: Judged, thresholds: Thresholds) -> list[CurvePoint]:
    """Return every method at every threshold, for each set, all of them, and the mean."""
    points: list[CurvePoint] = []
    for method in thresholds.methods:
        for threshold in thresholds.of(method):
            found = found_by(pairs, method, threshold, thresholds.default_radius)
            points += _points(pairs, judged, found, method, threshold, thresholds)
    return points


def against_resemblance(
    pairs: ScoredPairs, judged: Judged, thresholds: Thresholds, least: float
) -> list[CurvePoint]:
    """Return what the channels find of all pairs of a least resemblance.

    Args:
        pairs: Scored pairs, all of at least this resemblance among them.
        judged: The documents.
        thresholds: At which radii to look.
        least: Least resemblance of the pairs to find, and threshold of the methods.
    """
    true = pairs.resemblance >= least
    points: list[CurvePoint] = []
    for method in thresholds.methods:
        if method in ("likeness", "exact"):
            continue
        for threshold in thresholds.of("simhash") if method == "simhash" else [least]:
            found = found_by(pairs, method, threshold, thresholds.default_radius)
            points += _points(
                pairs, judged, found, method, threshold, thresholds, f"resemblance >= {least}", true
            )
    return points


def _points(
    pairs: ScoredPairs,
    judged: Judged,
    found: NDArray[np.bool_],
    method: str,
    threshold: float,
    thresholds: Thresholds,
    against: str = "labels",
    true: NDArray[np.bool_] | None = None,
) -> Iterator[CurvePoint]:
    labelled = pairs.labelled if true is None else true
    is_default = threshold == thresholds.default(method)
    count = len(judged.set_of)
    clusters = judged.clusters if true is None else None
    right = stars = None
    if clusters is not None:
        right = exact_sets(pairs.first, pairs.second, found != labelled, count)
        stars = star_clusters(pairs.first[found], pairs.second[found], count)
    pair_set = judged.set_of[pairs.first]
    means: list[CurvePoint] = []
    several = len(judged.set_names) > 1
    for number, name in enumerate([*judged.set_names, ALL_SETS]):
        if name == ALL_SETS and number == 1:
            break
        here = pair_set == number if number < len(judged.set_names) else np.ones_like(found)
        counts = agreement(found & here, labelled & here)
        members = (
            judged.set_of == number if number < len(judged.set_names) else np.ones(count, bool)
        )
        share = ari = None
        if right is not None and stars is not None and clusters is not None:
            share = float(right[members].mean()) if members.any() else 1.0
            ari = adjusted_rand_index(stars[members], clusters[members])
        point = CurvePoint(
            name,
            method,
            threshold,
            against,
            counts.precision,
            counts.recall,
            counts.f1,
            share,
            ari,
            counts,
            is_default,
        )
        yield point
        if number < len(judged.set_names) and counts.labelled_count:
            means.append(point)
    if several and means:
        yield CurvePoint(
            MEAN,
            method,
            threshold,
            against,
            *(_mean(means, name) for name in ("precision", "recall", "f1")),  # type: ignore[arg-type]
            _mean(means, "exact_sets"),
            _mean(means, "ari"),
            None,
            is_default,
        )


def _mean(points: Sequence[CurvePoint], name: str) -> Any:
    values = [getattr(point, name) for point in points]
    return None if None in values else float(np.mean(values))


def band_recalls(pairs: ScoredPairs, judged: Judged, thresholds: Thresholds) -> list[BandRecall]:
    """Return which labelled pairs are found, by the band of their resemblance."""
    radius = thresholds.default_radius
    ways: dict[str, NDArray[np.bool_]] = {}
    if "simhash" in thresholds.methods:
        for bits in sorted({radius, max(radius, WIDE_RADIUS)} & set(thresholds.radii)):
            ways[f"simhash {bits}"] = pairs.distance <= bits
    if "minhash" in thresholds.methods:
        ways["bands"] = pairs.in_band
        ways["both"] = pairs.in_band | (pairs.distance <= radius)
    for method in ("verified", "likeness"):
        if method in thresholds.methods:
            threshold = thresholds.default(method)
            ways[f"{method} {threshold}"] = found_by(pairs, method, threshold, radius)
    rows = []
    pair_set = judged.set_of[pairs.first]
    names = list(judged.set_names)
    for number, name in enumerate([*names, ALL_SETS] if len(names) > 1 else names):
        here = pairs.labelled & (pair_set == number if number < len(names) else True)
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
