"""Find the pairs of distinct texts in a store that are similar enough to be clustered together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import CHARACTERS
from simstore.fingerprint.minhash import BandLayout, band_columns
from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.fingerprint.sketching import Sketching
from simstore.model import LeastShares, Progress
from simstore.search.agreement import connected, pair_codes
from simstore.search.all_pairs import all_pairs, resemblances
from simstore.search.duplicate_measure import clusters_layout
from simstore.search.likeness import TermVectors, alike_pairs, likenesses
from simstore.search.resemblance import EdgeRule, size_ratios
from simstore.search.star_search import (
    ColumnPostings,
    ComparedEdges,
    Comparer,
    StarSignatures,
    print_postings,
    search_stars,
)
from simstore.search.stars import FoundSpokes
from simstore.services.clusters.compared_texts import ByTexts
from simstore.services.clusters.distinct_texts import Contents, read_shingles
from simstore.services.clusters.term_rows import read_vectors
from simstore.services.duplicates.measure import Measure
from simstore.services.open_store.open_store import Snapshot

# Equal values of two sketches from which likeness is likely.
_LIKELY_EQUAL = 48
# Pairs whose texts are held and compared at a time.
_BLOCK_TEXT_PAIRS = 1 << 11


@dataclass(frozen=True, slots=True)
class Edges:
    """Pairs of texts that are similar enough.

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
    """The shingle sets and term vectors by which some texts are compared.

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
        on_progress: Called with texts placed and in all; by the exact join with texts read.
        measure: What texts are compared by; its sketches are those of ``held``. None: by words.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        held: Contents,
        least: LeastShares,
        on_progress: Progress | None = None,
        measure: Measure | None = None,
    ) -> None:
        self._measure = measure or Measure.of(snapshot, looks=False)
        self._snapshot = snapshot
        self._held = held
        self._least = least
        self._rule = self._measure.rule(least.resemblance)
        self._on_progress = on_progress

    def all_texts(self) -> ReadTexts:
        """Return the shingle sets of all texts (8 bytes a shingle), and term vectors on request."""
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

    def spokes(self, order: NDArray[np.int64], radius: int | None) -> FoundSpokes:
        """Return the edges of each text to canonical texts before it, among what channels find.

        Args:
            order: All texts, the earliest first.
            radius: Radius of channel 1, in bits; None: not by it.
        """
        return search_stars(self._signatures(radius), order, self._comparer(), self._on_progress)

    def _comparer(self) -> Comparer:
        if self._least.likeness is not None:
            return _ByLikeness(self._compared_in_blocks, len(self._held.firsts))
        sketching = self._measure.recipe.sketching
        if self._measure.is_of_texts:
            return ByTexts(self._snapshot, self._held, self._rule, sketching)
        return _BySketches(self._held, self._rule, sketching)

    def _signatures(self, radius: int | None) -> StarSignatures:
        """Return the bands, sketches and fingerprints that tell which texts may have an edge."""
        held, count = self._held, len(self._held.firsts)
        sketched = self._measure.by_sketches
        texts = np.flatnonzero(held.shingle_counts) if sketched else np.empty(0, np.int64)
        bands = ColumnPostings((), texts, count)
        if sketched:
            columns = band_columns(held.sketches, texts, self._layout())
            bands = ColumnPostings(columns, texts, count)
        owners, words = self._fingerprints() if radius is not None else self._no_fingerprints()
        prints = print_postings(words, self._snapshot.scheme.bits, radius or 0)
        # Nothing but the vectors themselves tells what likeness two texts have.
        told = sketched and self._least.likeness is None
        fewest = self._rule.fewest_equal if told else 0
        return StarSignatures(
            bands=bands,
            sketches=held.sketches,
            sizes=held.shingle_counts,
            prints=prints,
            print_bounds=np.searchsorted(owners, np.arange(count + 1)),
            print_texts=owners,
            words=words,
            radius=radius or 0,
            least_ratio=(self._least.resemblance or 0.0) if told else 0.0,
            fewest_equal=fewest,
            likely_equal=fewest if told else _LIKELY_EQUAL,
        )

    def _layout(self) -> BandLayout:
        """Return the bands that sketches are cut into."""
        least = self._least.resemblance if self._least.likeness is None else None
        if self._measure.name == CHARACTERS and least is not None:
            # However the store is packed: its bands may be too few for texts of this resemblance.
            return clusters_layout(self._measure.recipe, least)
        layout = self._snapshot.channels.layout
        return layout if least is None else layout.enough_for(least)

    def _fingerprints(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the fingerprints of texts that may have an edge, and the text of each."""
        held = self._held
        rows = np.flatnonzero(held.fingerprinted)
        if self._measure.is_sketched:
            rows = rows[held.shingle_counts[held.texts[rows]] > 0]
        # Copies of a text have one fingerprint, unless it covers metadata too.
        known = np.column_stack((held.texts[rows].astype(np.uint64), held.words[rows]))
        known = np.unique(known, axis=0)
        return known[:, 0].astype(np.int64), np.ascontiguousarray(known[:, 1:])

    def _no_fingerprints(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        return np.empty(0, np.int64), np.empty((0, self._held.words.shape[1]), np.uint64)

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
        return _joined(found)

    def _no_likeness(self) -> NDArray[np.float64] | None:
        return None if self._least.likeness is None else np.empty(0)

    def _read(self, texts: NDArray[np.int64], on_progress: Progress | None = None) -> ReadTexts:
        numbers = self._held.document_ids[self._held.firsts[texts]].tolist()
        sketching = self._measure.recipe.sketching
        sets = read_shingles(self._snapshot, numbers, sketching, on_progress)
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


class _BySketches:
    """Compares by sketches alone."""

    def __init__(self, held: Contents, rule: EdgeRule, sketching: Sketching) -> None:
        self._held = held
        self._rule = rule
        self._estimates = sketching.estimates

    def expect(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Do nothing: all sketches are there."""

    def compare(self, text: int, others: NDArray[np.int64]) -> ComparedEdges:
        """Return the edges by the estimates."""
        held = self._held
        shares = self._estimates(held.sketches[others], held.sketches[text])
        ratios = size_ratios(held.shingle_counts[others], held.shingle_counts[[text]])
        fewest = np.minimum(held.feature_counts[others], held.feature_counts[text])
        return ComparedEdges(self._rule.holds(shares, ratios, fewest), shares)


class _ByLikeness:
    """Compares vectors, which the texts of many pairs are read for at once.

    Args:
        compared: Returns those of some pairs, as codes, that have an edge.
        total: Texts that there are.
    """

    def __init__(self, compared: Callable[[NDArray[np.int64]], Edges], total: int) -> None:
        self._compared = compared
        self._total = total
        self._done: set[int] = set()
        self._edges: dict[int, tuple[float, float]] = {}

    def expect(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Compare the pairs."""
        self._done, self._edges = set(), {}
        self._compare(pair_codes(first, second, self._total))

    def compare(self, text: int, others: NDArray[np.int64]) -> ComparedEdges:
        """Return the known results of the pairs; others are compared first."""
        codes = [int(code) for code in _codes(text, others, self._total)]
        self._compare(np.array([code for code in codes if code not in self._done], np.int64))
        holds = np.array([code in self._edges for code in codes], np.bool_)
        found = [self._edges.get(code, (0.0, 0.0)) for code in codes]
        shares = np.array(found, np.float64).reshape(-1, 2)
        return ComparedEdges(holds, shares[:, 0], shares[:, 1])

    def _compare(self, codes: NDArray[np.int64]) -> None:
        if not len(codes):
            return
        codes = np.unique(codes)
        edges = self._compared(codes)
        self._done.update(codes.tolist())
        known = edges.first * self._total + edges.second
        likeness = edges.resemblance if edges.likeness is None else edges.likeness
        self._edges.update(
            zip(
                known.tolist(),
                zip(edges.resemblance.tolist(), likeness.tolist(), strict=True),
                strict=True,
            )
        )


def _codes(text: int, others: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    return np.minimum(others, text) * total + np.maximum(others, text)
