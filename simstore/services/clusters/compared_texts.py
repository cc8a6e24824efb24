"""Compare texts by their exact shingle sets while clusters are built from scratch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.fingerprint.sketching import Sketching
from simstore.search.resemblance import EdgeRule, size_ratios
from simstore.search.set_pool import Read, SetPool
from simstore.search.star_search import ComparedEdges
from simstore.services.clusters.distinct_texts import Contents, read_shingles
from simstore.services.open_store.open_store import Snapshot

# Texts whose sets are read at once.
_READ_TEXTS = 2_048


class BySets:
    """Compares shingle sets that are read when they are wanted, and holds at most 128 MB of them.

    Args:
        count: Texts that there are.
        read: Returns the sets of some texts, in the order given.
        rule: What makes an edge.
        feature_counts: Features of each text, int64, shape (texts,).
    """

    def __init__(
        self, count: int, read: Read, rule: EdgeRule, feature_counts: NDArray[np.int64]
    ) -> None:
        self._rule = rule
        self._features = feature_counts
        self._pool = SetPool(count, read, rule.min_resemblance or 0.0)

    def expect(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Read the texts of pairs, in batches."""
        texts = np.unique(np.concatenate((first, second)))
        for start in range(0, len(texts), _READ_TEXTS):
            self._pool.hold(texts[start : start + _READ_TEXTS])

    def compare(self, text: int, others: NDArray[np.int64]) -> ComparedEdges:
        """Return which other texts a text has an edge to."""
        parts = []
        for start in range(0, len(others), _READ_TEXTS):
            some = others[start : start + _READ_TEXTS]
            self._pool.hold(np.append(some, text))
            parts.append(self._pool.resemblances(text, some))
        shares = np.concatenate(parts)
        ratios = size_ratios(self._pool.sizes(others), self._pool.sizes(np.array([text])))
        fewest = np.minimum(self._features[others], self._features[text])
        return ComparedEdges(self._rule.holds(shares, ratios, fewest), shares)


class ByTexts(BySets):
    """Compares the shingle sets of stored texts.

    Args:
        snapshot: The store in a read transaction.
        held: Its documents.
        rule: What makes an edge.
        sketching: Makes the sets.
    """

    def __init__(
        self, snapshot: Snapshot, held: Contents, rule: EdgeRule, sketching: Sketching
    ) -> None:
        def read(texts: NDArray[np.int64]) -> ShingleSets:
            numbers = held.document_ids[held.firsts[texts]].tolist()
            return read_shingles(snapshot, numbers, sketching)

        super().__init__(len(held.firsts), read, rule, held.feature_counts)
