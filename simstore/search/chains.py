"""Group k-grams that a submitted paper shares with its sources into regions along diagonals.

A hit says that an offset of the paper and an offset of a source have the same k-gram. What was
copied in one piece gives hits whose distance from source to paper, the diagonal, hardly changes;
what was cut and shuffled gives one such region a piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Hits:
    """Offsets of k-grams that a paper and its sources share; arrays of one length, int64.

    Attributes:
        documents: The source's place in the order of ingest.
        papers: Where in the paper.
        sources: Where in the source, in the same unit of length.
    """

    documents: NDArray[np.int64]
    papers: NDArray[np.int64]
    sources: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.documents)

    def of(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Hits:
        """Return some of the hits, by a mask or by places."""
        return Hits(self.documents[chosen], self.papers[chosen], self.sources[chosen])


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions of hits, one row each, in no particular order; int64.

    Attributes:
        labels: For each hit, the row of its region.
        documents: The source.
        seeds: Distinct places of the paper that have a hit.
    """

    labels: NDArray[np.int64]
    documents: NDArray[np.int64]
    seeds: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.documents)


def regions(hits: Hits, *, drift: int, gap: int) -> Regions:
    """Gather hits into regions.

    Two hits of one source are in one region if a series of hits leads from one to the other whose
    steps in the paper are at most ``gap`` long and stay in one band of diagonals. There are two
    sets of bands, ``2 * drift`` wide and half a band apart, so that any two diagonals not more
    than ``drift`` apart share one.

    Args:
        hits: The hits, in any order; equal ones count once.
        drift: How far two diagonals may be apart and surely be one, at least 1.
        gap: Longest step in the paper.
    """
    count = len(hits)
    if not count:
        none = np.zeros(0, np.int64)
        return Regions(none, none, none)
    diagonals = hits.sources - hits.papers
    first = _clusters(hits, diagonals // (2 * drift), gap)
    second = _clusters(hits, (diagonals + drift) // (2 * drift), gap)
    labels = _joined(first, second)
    order = np.lexsort((hits.papers, labels))
    sorted_labels, papers = labels[order], hits.papers[order]
    new = np.r_[True, sorted_labels[1:] != sorted_labels[:-1]]
    starts = np.flatnonzero(new)
    distinct = new | np.r_[True, papers[1:] != papers[:-1]]
    return Regions(
        labels,
        hits.documents[order][starts],
        np.add.reduceat(distinct.astype(np.int64), starts),
    )


def _clusters(hits: Hits, bands: NDArray[np.int64], gap: int) -> NDArray[np.int64]:
    """Number the runs of hits of one source and band without a longer step than ``gap``."""
    order = np.lexsort((hits.papers, bands, hits.documents))
    documents, papers, band = hits.documents[order], hits.papers[order], bands[order]
    new = np.ones(len(hits), np.int64)
    new[1:] = (
        (documents[1:] != documents[:-1])
        | (band[1:] != band[:-1])
        | (papers[1:] - papers[:-1] > gap)
    )
    labels = np.empty(len(hits), np.int64)
    labels[order] = np.cumsum(new) - 1
    return labels


def _joined(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the finest grouping that is coarser than both, from 0 on without a gap."""
    # The least label runs through each group; the two sets of clusters take turns.
    labels = first.copy()
    order_first, order_second = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
    while True:
        before = labels.copy()
        for order, clusters in ((order_second, second), (order_first, first)):
            of_cluster = clusters[order]
            starts = np.flatnonzero(np.r_[True, of_cluster[1:] != of_cluster[:-1]])
            least = np.minimum.reduceat(labels[order], starts)
            labels = least[clusters]
        if (labels == before).all():
            return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
