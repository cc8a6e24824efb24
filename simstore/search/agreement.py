"""Agreement of the pairs that were found with those that were labelled.

References:
    Hubert, Arabie: Comparing partitions, Journal of Classification 2, 1985 (adjusted Rand index).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """Pairs that were found and pairs that are labelled, counted.

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
        """Harmonic mean of precision and recall; 1 where nothing is labelled and none found."""
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


def exact_sets(
    first: NDArray[np.int64], second: NDArray[np.int64], wrong: NDArray[np.bool_], count: int
) -> NDArray[np.bool_]:
    """Return for each document whether what it was found alike to is exactly what is labelled.

    Args:
        first: Place of one document of each pair.
        second: Place of the other.
        wrong: Which pairs were found and are not labelled, or the other way round.
        count: Number of documents.

    Returns:
        bool, shape (count,).
    """
    right = np.ones(count, np.bool_)
    right[first[wrong]] = False
    right[second[wrong]] = False
    return right


def adjusted_rand_index(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return the adjusted Rand index of two clusterings of the same documents.

    Args:
        one: Cluster of each document.
        other: Cluster of each document in the other clustering.

    Returns:
        1 for the same clusters, about 0 for chance, at least -0.5; 1 where both clusterings are
        all single documents or all one cluster.
    """
    _, one = np.unique(one, return_inverse=True)
    _, other = np.unique(other, return_inverse=True)
    width = int(other.max(initial=0)) + 1
    _, cells = np.unique(one * width + other, return_counts=True)
    together = _pair_count(cells)
    first, second = _pair_count(np.bincount(one)), _pair_count(np.bincount(other))
    everything = len(one) * (len(one) - 1) // 2
    expected = first * second / everything if everything else 0.0
    largest = (first + second) / 2
    if largest == expected:
        return 1.0
    return float((together - expected) / (largest - expected))


def _pair_count(sizes: NDArray[np.int64]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


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
