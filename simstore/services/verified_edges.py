"""Verified edges: which distinct texts of a store resemble each other enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import band_values
from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.search.agreement import pair_codes
from simstore.search.all_pairs import all_pairs, resemblances
from simstore.search.bands import colliding_pairs
from simstore.search.near_pairs import near_pairs
from simstore.services.contents import Contents, Progress, read_shingles
from simstore.services.opened import OpenStore, State
from simstore.storage import sketches
from simstore.storage.engine import Connection

# Pairs whose sketches are compared at a time.
_BLOCK_PAIRS = 1 << 16


@dataclass(frozen=True, slots=True)
class Edges:
    """Pairs of texts that resemble each other enough.

    Attributes:
        first: The one text of each, int64, shape (edges,).
        second: The other, larger; pairs ascend by (first, second).
        resemblance: Their resemblance, float64, shape (edges,).
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    resemblance: NDArray[np.float64]


class EdgeFinder:
    """Finds the edges between the texts of one snapshot.

    Args:
        opened: The store.
        connection: The snapshot.
        state: What stands in it.
        held: Its documents.
        least: Least resemblance of an edge, above 0, at most 1, inclusive.
        on_progress: Called with texts read and in all.
    """

    def __init__(
        self,
        opened: OpenStore,
        connection: Connection,
        state: State,
        held: Contents,
        least: float,
        on_progress: Progress | None = None,
    ) -> None:
        self._opened = opened
        self._connection = connection
        self._state = state
        self._held = held
        self._least = least
        self._on_progress = on_progress

    def all_shingles(self) -> ShingleSets:
        """Return the shingle sets of all texts; 8 bytes a shingle."""
        return self._shingles(np.arange(len(self._held.firsts)))

    def by_exact_join(self, sets: ShingleSets) -> Edges:
        """Return all edges between these sets, one a text; none is missed. Needs no snapshot."""
        found = all_pairs(sets, self._least)
        return self._judged(Edges(found.first, found.second, found.resemblance), sets.sizes())

    def by_channels(self, radius: int | None) -> Edges:
        """Return the edges among what the channels find.

        Args:
            radius: Radius of channel 1, in bits; None: not by it.
        """
        held = self._held
        total = len(held.firsts)
        codes = [np.empty(0, np.int64)]
        if radius is not None:
            codes.append(self._near(radius))
        if self._state.channels.minhash:
            codes.append(self._agreeing())
        found = np.unique(np.concatenate(codes))
        first, second = found // max(total, 1), found % max(total, 1)
        if self._state.channels.minhash:
            # The size alone tells that sets of very different sizes cannot resemble each other.
            share = _size_ratio(held.shingle_counts, first, second)
            first, second = first[share >= self._least], second[share >= self._least]
        if not self._state.settings.text_kept:
            return self._judged(
                Edges(first, second, self._estimates(first, second)), held.shingle_counts
            )
        wanted = np.unique(np.concatenate((first, second)))
        sets = self._shingles(wanted)
        resemblance = resemblances(
            sets, np.searchsorted(wanted, first), np.searchsorted(wanted, second)
        )
        sizes = np.zeros(total, np.int64)
        sizes[wanted] = sets.sizes()
        return self._judged(Edges(first, second, resemblance), sizes)

    def _shingles(self, texts: NDArray[np.int64]) -> ShingleSets:
        numbers = self._held.document_ids[self._held.firsts[texts]].tolist()
        return read_shingles(
            self._opened, self._connection, self._state, numbers, self._on_progress
        )

    def _near(self, radius: int) -> NDArray[np.int64]:
        """Return the codes of the pairs of texts with fingerprints within the radius."""
        held = self._held
        rows = np.flatnonzero(held.fingerprinted)
        if self._state.channels.minhash:
            rows = rows[held.shingle_counts[held.texts[rows]] > 0]
        # Copies of a text have one fingerprint, unless it covers metadata too.
        known = np.column_stack((held.texts[rows].astype(np.uint64), held.words[rows]))
        known = np.unique(known, axis=0)
        first, second = near_pairs(known[:, 1:], self._state.scheme.bits, radius)
        texts = known[:, 0].astype(np.int64)
        return pair_codes(texts[first], texts[second], len(held.firsts))

    def _agreeing(self) -> NDArray[np.int64]:
        """Return the codes of the pairs of texts whose sketches agree in a band."""
        packed = sketches.layout(self._connection, self._state.scheme_id)
        layout = packed.layout if packed else self._state.channels.layout
        texts = np.flatnonzero(self._held.shingle_counts)
        pairs = texts[colliding_pairs(band_values(self._held.sketches[texts], layout))]
        return pair_codes(pairs[:, 0], pairs[:, 1], len(self._held.firsts))

    def _estimates(
        self, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        made = self._held.sketches
        result = np.zeros(len(first), np.float64)
        for start in range(0, len(first), _BLOCK_PAIRS):
            part = slice(start, start + _BLOCK_PAIRS)
            result[part] = (made[first[part]] == made[second[part]]).mean(axis=1)
        return result

    def _judged(self, edges: Edges, sizes: NDArray[np.int64]) -> Edges:
        """Return the edges that hold: those of too short texts where one wholly contains the other.

        Of two sets, the smaller lies within the larger where their resemblance is the ratio of
        their sizes; an estimate may be above it.

        Args:
            edges: Pairs and their resemblance.
            sizes: Distinct shingles of each text.
        """
        features = self._held.feature_counts
        fewest = np.minimum(features[edges.first], features[edges.second])
        contained = edges.resemblance >= _size_ratio(sizes, edges.first, edges.second)
        kept = (edges.resemblance >= self._least) & (
            (fewest >= self._state.scheme.least_features) | contained
        )
        return Edges(edges.first[kept], edges.second[kept], edges.resemblance[kept])


def _size_ratio(
    sizes: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the smaller size of each pair divided by the larger; 0 where both are 0."""
    lower = np.minimum(sizes[first], sizes[second])
    upper = np.maximum(sizes[first], sizes[second])
    ratio: NDArray[np.float64] = lower / np.maximum(upper, 1)
    return ratio
