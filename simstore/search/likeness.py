"""Likeness: how much two documents share of what is rare in the store.

Boilerplate, templates and common words are alike in many documents; a version or a copy of a
document shares its rare words too. So each term weighs more the fewer documents it occurs in.

References:
    Salton, Buckley: Term-weighting approaches in automatic text retrieval, Information Processing
    and Management 24, 1988 (logarithmic term frequency, inverse document frequency, cosine).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simstore.fingerprint.features import FeatureCounts


# Chosen on the tuning part of labelled sets (docs/detection.md): versions and copies of one
# document reach both.
LEAST_LIKENESS = 0.58
LEAST_COSINE = 0.68
# Where many documents share most of their words, hardly a word is rare, and likeness says little
# of two that are nearly equal. This resemblance is enough without it (chosen as the others).
SURE_RESEMBLANCE = 0.65

_ROUNDING = 1e-9
# Entries of rows that are gathered at a time.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class TermVectors:
    """Weighted terms of documents, each row of length 1 (compressed sparse rows).

    Attributes:
        offsets: Row d is ``offsets[d]:offsets[d + 1]``; int64, shape (documents + 1,).
        columns: Number of each term, int64, shape (entries,).
        weights: float64.
        width: Columns are below it.
    """

    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    width: int

    def take(self, rows: NDArray[np.int64]) -> TermVectors:
        """Return the vectors of some rows, in the order given."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        places = np.arange(int(offsets[-1])) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return TermVectors(offsets, self.columns[places], self.weights[places], self.width)


def term_vectors(
    counts: FeatureCounts,
    document_counts: NDArray[np.int64] | None = None,
    total: int | None = None,
) -> TermVectors:
    """Weigh the terms of documents by how rare they are: (1 + ln tf) * ln((N + 1) / df).

    Args:
        counts: Terms of each document.
        document_counts: Documents of the store in which each term occurs, at least 1; None: as
            many as in ``counts``. Shape (terms,).
        total: Documents of the store, N; None: as many as in ``counts``.
    """
    width = len(counts.terms)
    if document_counts is None:
        document_counts = np.bincount(counts.columns, minlength=width)
    total = len(counts) if total is None else total
    rarity = np.log((total + 1) / np.maximum(document_counts, 1))
    return _vectors(counts, (1 + np.log(counts.counts)) * rarity[counts.columns])


def plain_vectors(counts: FeatureCounts) -> TermVectors:
    """Weigh the terms of documents by their count alone: 1 + ln tf."""
    return _vectors(counts, 1 + np.log(counts.counts))


def _vectors(counts: FeatureCounts, weights: NDArray[np.float64]) -> TermVectors:
    rows = np.repeat(np.arange(len(counts)), np.diff(counts.offsets))
    lengths = np.sqrt(np.bincount(rows, weights**2, len(counts)))
    weights /= np.maximum(lengths, np.finfo(np.float64).tiny)[rows]
    return TermVectors(counts.offsets, counts.columns, weights, len(counts.terms))


def likenesses(
    vectors: TermVectors, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the cosine of the weighted terms of given pairs of documents.

    Args:
        vectors: The documents.
        first: Row of one document of each pair, shape (pairs,).
        second: Row of the other.

    Returns:
        float64 in [0, 1], shape (pairs,); 0 where one has no term.
    """
    result = np.zeros(len(first), np.float64)
    if not len(first):
        return result
    sizes = np.diff(vectors.offsets)
    order = np.argsort(first, kind="stable")
    spread = np.zeros(vectors.width, np.float64)
    starts = np.flatnonzero(np.diff(first[order], prepend=-1))
    for start, end in zip(starts.tolist(), np.append(starts[1:], len(order)).tolist(), strict=True):
        own = slice(*vectors.offsets[first[order[start]] :][:2].tolist())
        spread[vectors.columns[own]] = vectors.weights[own]
        step = max(1, _BLOCK // max(int(sizes.max()), 1))
        for begin in range(start, end, step):
            part = order[begin : min(begin + step, end)]
            rows = second[part]
            lengths = sizes[rows]
            ends = np.cumsum(lengths)
            places = np.arange(int(ends[-1])) + np.repeat(
                vectors.offsets[rows] - (ends - lengths), lengths
            )
            products = spread[vectors.columns[places]] * vectors.weights[places]
            result[part] = np.bincount(
                np.repeat(np.arange(len(rows)), lengths), products, len(rows)
            )
        spread[vectors.columns[own]] = 0
    # Rows of equal terms come out a rounding away from 1.
    return np.where(result > 1 - _ROUNDING, 1.0, result)
