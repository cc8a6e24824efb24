"""Verified edges: which distinct texts of a store are alike enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.model import LeastShares, Progress
from simstore.search.agreement import connected, pair_codes
from simstore.search.all_pairs import all_pairs, resemblances
from simstore.search.bands import pairs_of_columns
from simstore.search.likeness import TermVectors, alike_pairs, likenesses
from simstore.search.resemblance import EdgeRule, size_ratios
from simstore.search.sorted_tables import near_pairs
from simstore.services.clusters.distinct_texts import Contents, read_shingles
from simstore.services.clusters.term_rows import read_vectors
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.sketches import WORDS

# Pairs whose sketches are compared at a time.
_BLOCK_PAIRS = 1 << 16
# Pairs whose texts are held and compared at a time.
_BLOCK_TEXT_PAIRS = 1 << 11


@dataclass(frozen=True, slots=True)
class Edges:
    """Pairs of texts that are alike enough.

    Attributes:
        first: The one text of each, int64, shape (edges,).
        second: The other, larger; pairs ascend by (first, second).
        resemblance: Their resemblance, float64, shape (edges,).
        likeness: Their likeness, float64, shape (edges,); None where it was not asked for.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    resemblance: NDArray[np.float64]
    likeness: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """What some texts are compared by.

    Attributes:
        texts: Which they are, ascending, int64, shape (texts,).
        sets: Their shingle sets.
        rare: Their vectors of likeness; None where it was not asked for.
        plain: Their vectors of cosine; None as before.
    """

    texts: NDArray[np.int64]
    sets: ShingleSets
    rare: TermVectors | None
    plain: TermVectors | None


class EdgeFinder:
    """Finds the edges between the texts of one snapshot.

    Args:
        snapshot: The store in a read transaction.
        held: Its documents.
        least: What the two texts of an edge have to reach; a likeness only where the store keeps
            texts and a vocabulary.
        on_progress: Called with pairs compared and in all; by the exact join with texts read.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        held: Contents,
        least: LeastShares,
        on_progress: Progress | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._held = held
        self._least = least
        self._rule = EdgeRule(least.resemblance, snapshot.scheme.least_features)
        self._on_progress = on_progress

    def all_texts(self) -> ReadTexts:
        """Return all texts; 8 bytes a shingle, and what vectors take where they are asked for."""
        return self._read(np.arange(len(self._held.firsts)), self._on_progress)

    def by_exact_join(self, read: ReadTexts) -> Edges:
        """Return all edges between all texts; none is missed. Needs no snapshot."""
        total = len(read.texts)
        codes = [np.empty(0, np.int64)]
        if self._least.resemblance is not None:
            similar = all_pairs(read.sets, self._least.resemblance)
            codes.append(pair_codes(similar.first, similar.second, total))
        if self._least.likeness is not None and read.rare is not None:
            alike = alike_pairs(read.rare, self._least.likeness)
            codes.append(pair_codes(alike.first, alike.second, total))
        return self._compared(read, np.unique(np.concatenate(codes)))

    def by_channels(self, radius: int | None) -> Edges:
        """Return the edges among what the channels find.

        Args:
            radius: Radius of channel 1, in bits; None: not by it.
        """
        held, least = self._held, self._least
        total = len(held.firsts)
        codes = [np.empty(0, np.int64)]
        if radius is not None:
            codes.append(self._near(radius))
        if self._snapshot.channels.has_word_sketches:
            codes.append(self._agreeing())
        found = np.unique(np.concatenate(codes))
        first, second = found // max(total, 1), found % max(total, 1)
        if self._snapshot.channels.has_word_sketches and least.likeness is None:
            # The size alone tells that sets of very different sizes cannot resemble each other.
            sizes = held.shingle_counts
            found = found[self._rule.may_hold(sizes[first], sizes[second])]
        if self._snapshot.settings.text_kept:
            return self._compared_in_blocks(found)
        first, second = found // max(total, 1), found % max(total, 1)
        return self._judged(
            Edges(first, second, self._estimates(first, second), None), None, held.shingle_counts
        )

    def _compared_in_blocks(self, codes: NDArray[np.int64]) -> Edges:
        """Return those of the pairs that hold; the texts of some pairs are held at a time."""
        total = max(len(self._held.firsts), 1)
        first, second = codes // total, codes % total
        # What hangs together stands together, so that few texts are read for several blocks.
        order = np.argsort(connected(first, second, total)[first], kind="stable")
        found = [Edges(first[:0], first[:0], np.empty(0), self._no_likeness())]
        for start in range(0, len(codes), _BLOCK_TEXT_PAIRS):
            part = order[start : start + _BLOCK_TEXT_PAIRS]
            read = self._read(np.unique(np.concatenate((first[part], second[part]))))
            found.append(self._compared(read, np.sort(codes[part])))
            if self._on_progress is not None:
                self._on_progress(min(start + _BLOCK_TEXT_PAIRS, len(codes)), len(codes))
        return _joined(found)

    def _no_likeness(self) -> NDArray[np.float64] | None:
        return None if self._least.likeness is None else np.empty(0)

    def _read(self, texts: NDArray[np.int64], on_progress: Progress | None = None) -> ReadTexts:
        numbers = self._held.document_ids[self._held.firsts[texts]].tolist()
        sets = read_shingles(self._snapshot, numbers, on_progress)
        if self._least.likeness is None:
            return ReadTexts(texts, sets, None, None)
        return ReadTexts(texts, sets, *read_vectors(self._snapshot, numbers, on_progress))

    def _compared(self, read: ReadTexts, codes: NDArray[np.int64]) -> Edges:
        """Return those of the pairs that hold.

        Args:
            read: All texts of the pairs.
            codes: The pairs, of :func:`~simstore.search.agreement.pair_codes`, ascending.
        """
        total = len(self._held.firsts)
        first, second = codes // max(total, 1), codes % max(total, 1)
        rows = np.searchsorted(read.texts, first), np.searchsorted(read.texts, second)
        likeness = cosine = None
        if read.rare is not None and read.plain is not None:
            likeness, cosine = likenesses(read.rare, *rows), likenesses(read.plain, *rows)
        sizes = np.zeros(total, np.int64)
        sizes[read.texts] = read.sets.sizes()
        edges = Edges(first, second, resemblances(read.sets, *rows), likeness)
        return self._judged(edges, cosine, sizes)

    def _near(self, radius: int) -> NDArray[np.int64]:
        """Return the codes of the pairs of texts with fingerprints within the radius."""
        held = self._held
        rows = np.flatnonzero(held.fingerprinted)
        if self._snapshot.channels.has_word_sketches:
            rows = rows[held.shingle_counts[held.texts[rows]] > 0]
        # Copies of a text have one fingerprint, unless it covers metadata too.
        known = np.column_stack((held.texts[rows].astype(np.uint64), held.words[rows]))
        known = np.unique(known, axis=0)
        first, second = near_pairs(known[:, 1:], self._snapshot.scheme.bits, radius)
        texts = known[:, 0].astype(np.int64)
        return pair_codes(texts[first], texts[second], len(held.firsts))

    def _agreeing(self) -> NDArray[np.int64]:
        """Return the codes of the pairs of texts whose sketches agree in a band."""
        packed = WORDS.layout(self._snapshot.connection, self._snapshot.scheme_id)
        layout = packed.layout if packed else self._snapshot.channels.layout
        texts = np.flatnonzero(self._held.shingle_counts)

        def columns() -> Iterator[NDArray[np.uint64]]:
            # One band at a time: those of all take more than the sketches. The hash of a band
            # does not depend on its place.
            for first in range(0, layout.bands * layout.rows, layout.rows):
                values = self._held.sketches[texts, first : first + layout.rows]
                yield band_values(values, BandLayout(1, layout.rows))[:, 0]

        pairs = texts[pairs_of_columns(columns(), len(texts))]
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

    def _judged(
        self, edges: Edges, cosine: NDArray[np.float64] | None, sizes: NDArray[np.int64]
    ) -> Edges:
        """Return the edges that hold.

        Args:
            edges: Pairs and their shares.
            cosine: Their cosine, where likeness was asked for.
            sizes: Distinct shingles of each text.
        """
        least, features = self._least, self._held.feature_counts
        kept = self._rule.resembles(edges.resemblance)
        if least.likeness is not None and edges.likeness is not None and cosine is not None:
            kept |= (edges.likeness >= least.likeness) & (cosine >= least.cosine)
        kept &= self._rule.is_long_enough(
            edges.resemblance,
            size_ratios(sizes[edges.first], sizes[edges.second]),
            np.minimum(features[edges.first], features[edges.second]),
        )
        return Edges(
            edges.first[kept],
            edges.second[kept],
            edges.resemblance[kept],
            None if edges.likeness is None else edges.likeness[kept],
        )


def _joined(parts: list[Edges]) -> Edges:
    """Return the edges of several parts, ascending."""
    first = np.concatenate([part.first for part in parts])
    second = np.concatenate([part.second for part in parts])
    order = np.lexsort((second, first))
    likeness = [part.likeness for part in parts if part.likeness is not None]
    return Edges(
        first[order],
        second[order],
        np.concatenate([part.resemblance for part in parts])[order],
        np.concatenate(likeness)[order] if likeness else None,
    )
