"""Compare the document pairs that each search method finds with labelled pairs.

Seven methods share the same pairs: ``simhash`` (distance at most the radius), ``minhash`` (the
sketches agree in a band and their estimate reaches the threshold), ``verified`` (found by one of
the two channels, and the resemblance reaches the threshold), ``likeness`` (found by one of the
two, and alike in what is rare), ``either`` (found by one of the two, and alike in what is rare or
of a resemblance that leaves no doubt), ``exact`` (the resemblance reaches the threshold, found or
not), ``exact-either`` (the likeness reaches the threshold or the resemblance leaves no doubt, found
or not). Two older ones join them where they are asked for: ``i-match`` (so many signatures agree)
and ``counting-bloom`` (the overlap of the counting Bloom filters reaches the threshold).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.likeness import LEAST_COSINE, SURE_RESEMBLANCE


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of found and labelled pairs, with precision, recall and F1.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "ferry-2026")])
    >>> counts = store.evaluate.run(labels).curve("verified")[0].counts
    >>> counts.labelled_count, counts.precision, counts.recall
    (1, 1.0, 1.0)

    Attributes:
        common_count: Pairs that were found and are labelled.
        found_count: Pairs that were found.
        labelled_count: Pairs that are labelled.
    """

    common_count: int
    found_count: int
    labelled_count: int

    @property
    def precision(self) -> float:
        """Share of the found pairs that are labelled; 1 where none was found."""
        return self.common_count / self.found_count if self.found_count else 1.0

    @property
    def recall(self) -> float:
        """Share of the labelled pairs that were found; 1 where none is labelled."""
        return self.common_count / self.labelled_count if self.labelled_count else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1 where there is nothing."""
        both = self.found_count + self.labelled_count
        return 2 * self.common_count / both if both else 1.0


def agreement(found: NDArray[np.bool_], labelled: NDArray[np.bool_]) -> Agreement:
    """Count pairs.

    Args:
        found: Which pairs were found, shape (pairs,).
        labelled: Which pairs are labelled, shape (pairs,); no other pair is.
    """
    common = int(np.count_nonzero(found & labelled))
    return Agreement(common, int(np.count_nonzero(found)), int(np.count_nonzero(labelled)))


def pair_codes(
    first: NDArray[np.int64], second: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return one number for each pair of different documents, ascending, distinct.

    Args:
        first: Place of one document of each pair, below ``count``.
        second: Place of the other, in any order.
        count: Number of documents.
    """
    apart = first != second
    lower = np.minimum(first, second)[apart].astype(np.int64)
    upper = np.maximum(first, second)[apart].astype(np.int64)
    return np.unique(lower * count + upper)


def pairs_of_clusters(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes of all pairs of documents with the same label.

    Args:
        labels: Cluster of each document; a negative one: none.
    """
    count = len(labels)
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    starts = np.flatnonzero(np.append(True, labels[order][1:] != labels[order][:-1]))
    if not len(order):
        return np.empty(0, np.int64)
    firsts, seconds = [], []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        one, other = np.triu_indices(end - start, 1)
        firsts.append(order[start + one])
        seconds.append(order[start + other])
    return pair_codes(np.concatenate(firsts), np.concatenate(seconds), count)


def connected(first: NDArray[np.int64], second: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the connected component of each document: the place of its first document.

    Args:
        first: Place of one document of each pair.
        second: Place of the other.
        count: Number of documents.
    """
    labels = np.arange(count)
    while True:
        lowest = np.minimum(labels[first], labels[second])
        np.minimum.at(labels, labels[first], lowest)
        np.minimum.at(labels, labels[second], lowest)
        labels = labels[labels]
        if (labels[first] == labels[second]).all() and (labels[labels] == labels).all():
            return labels


METHODS = ("simhash", "minhash", "verified", "likeness", "either", "exact", "exact-either")
# Methods of the literature that no store looks by.
OLDER = ("i-match", "counting-bloom")
# Those whose threshold is a likeness.
BY_LIKENESS = ("likeness", "either", "exact-either")
# Those that find what no channel does.
JOINED = ("exact", "exact-either")
NO_DISTANCE = 1 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPairs:
    """Pairs of documents with the scores that the methods use; shape (pairs,) each.

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
        agreeing: I-Match signatures that agree; 0 where nobody asked.
        filter_overlap: Overlap of the counting Bloom filters; NaN where nobody asked.
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
    agreeing: NDArray[np.int64]
    filter_overlap: NDArray[np.float64]


def found_by(pairs: ScoredPairs, method: str, threshold: float, radius: int) -> NDArray[np.bool_]:
    """Return which pairs a method finds.

    Args:
        pairs: The pairs.
        method: One of :data:`METHODS` or :data:`OLDER`.
        threshold: Its threshold, inclusive.
        radius: Radius of channel 1 where the method is not ``simhash``.
    """
    if method == "simhash":
        return pairs.distance <= threshold
    if method == "minhash":
        return pairs.in_band & (pairs.estimate >= threshold)
    if method == "i-match":
        return pairs.agreeing >= threshold
    if method == "counting-bloom":
        return pairs.filter_overlap >= threshold
    if method == "exact":
        return pairs.resemblance >= threshold
    if method == "exact-either":
        return (pairs.likeness >= threshold) | (pairs.resemblance >= SURE_RESEMBLANCE)
    found = (pairs.distance <= radius) | pairs.in_band
    if method == "verified":
        return found & (pairs.resemblance >= threshold)
    alike = (pairs.likeness >= threshold) & (pairs.cosine >= LEAST_COSINE)
    if method == "either":
        alike |= pairs.resemblance >= SURE_RESEMBLANCE
    return found & alike
