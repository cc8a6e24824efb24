"""Find near-duplicate candidates: a near fingerprint, a shared LSH band, or the same text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import band_values
from simstore.fingerprint.shingle_sets import distinct_numbers
from simstore.fingerprint.simhash import to_integers, to_words
from simstore.search.plan import (
    check_radius,
    default_radius,
)
from simstore.services.channels.fingerprint_index import FingerprintIndex
from simstore.services.channels.sketch_search import Among, SketchSearch
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.measure import Measure
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents
from simstore.storage.fingerprints import fingerprints


class EdgeCandidates:
    """Finds the documents that may have an edge to a text, by the channels of a store.

    Args:
        snapshot: The store in a transaction.
        radius: Radius of channel 1, bits, inclusive; None: the default.
        min_resemblance: Least resemblance of an edge, above 0, at most 1: sketches are looked up
            by as many bands as find all but one in a million of such pairs; None: channel 1 alone
            looks.
        measure: By which channels; None: those of words.

    Attributes:
        radius: That of channel 1.

    Raises:
        InvalidParameter: The radius is out of its range.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        radius: int | None,
        *,
        min_resemblance: float | None,
        measure: Measure | None = None,
    ) -> None:
        self._snapshot = snapshot
        measure = measure or Measure.of(snapshot)
        bits = snapshot.scheme.bits
        self.radius = default_radius(bits) if radius is None else radius
        check_radius(self.radius, bits)
        self._row = snapshot.generation if measure.by_fingerprint else None
        self._sketches = (
            SketchSearch(snapshot, measure.name, min_resemblance)
            if measure.by_sketches and min_resemblance is not None
            else None
        )

    @property
    def by_fingerprint(self) -> bool:
        """Return whether channel 1 finds candidates."""
        return self._row is not None

    def bands(self, sketched: NDArray[Any]) -> NDArray[np.uint64] | None:
        """Return the bands of sketches, shape (n, bands); None: there is no such channel."""
        return None if self._sketches is None else band_values(sketched, self._sketches.layout)

    def of_each(
        self, texts: Sequence[CandidateText], among: Among | None = None
    ) -> list[NDArray[np.int64]]:
        """Return the documents that the channels find for each text, and those of the same text.

        Args:
            texts: The texts.
            among: Says which documents, int64, ascending, need be looked at; others may be found.

        Returns:
            Numbers of documents, ascending, each once, for each text.
        """
        found: list[list[NDArray[np.int64]]] = [[] for _ in texts]
        holders = documents.by_digests(
            self._snapshot.connection, sorted({text.digest for text in texts})
        )
        for place, text in enumerate(texts):
            if text.digest in holders:
                numbers = [number for number, _ in holders[text.digest]]
                found[place].append(np.array(numbers, np.int64))
        # What has no shingle resembles nothing.
        judged = [place for place, text in enumerate(texts) if text.shingle_count != 0]
        near = [(place, words) for place in judged if (words := texts[place].words) is not None]
        if near and self._row is not None:
            for place, number in self._near([place for place, _ in near], [w for _, w in near]):
                found[place].append(np.array([number], np.int64))
        sketched = [(p, sketch) for p in judged if (sketch := texts[p].sketch) is not None]
        if sketched and self._sketches is not None:
            wanted = np.stack([sketch for _, sketch in sketched])
            for rows, agreeing in self._sketches.agreeing(wanted, among):
                order = np.argsort(rows, kind="stable")
                starts = np.searchsorted(rows[order], np.arange(len(sketched) + 1))
                for row in np.flatnonzero(np.diff(starts)).tolist():
                    some = order[starts[row] : starts[row + 1]]
                    found[sketched[row][0]].append(agreeing[some])
        nothing = np.empty(0, np.int64)
        return [distinct_numbers(np.concatenate(some)) if some else nothing for some in found]

    def has_none(self, text: CandidateText) -> bool:
        """Return whether it is certain that no stored document is a candidate of a text.

        Args:
            text: The text, which no document has.
        """
        if text.shingle_count == 0:
            return True
        index, words = self._index(), text.words
        if index is not None and words is not None and index.may_be_near(words, self.radius):
            return False
        sketches = self._sketches
        return text.sketch is None or sketches is None or not sketches.may_agree(text.sketch)

    def _near(
        self, places: Sequence[int], words: Sequence[NDArray[np.uint64]]
    ) -> list[tuple[int, int]]:
        """Return (place, document) of the documents within the radius of each fingerprint."""
        row, bits = self._row, self._snapshot.scheme.bits
        if row is None:
            return []
        places_of: dict[int, list[int]] = {}
        for place, value in zip(places, to_integers(np.stack(words)), strict=True):
            places_of.setdefault(value, []).append(place)
        document_ids = list(places_of)
        turns, values = self.fingerprints_near(to_words(document_ids, bits))
        linked: dict[int, list[int]] = {}
        for value, document_id in fingerprints.holders_of(
            self._snapshot.connection, bits, row.generation_id, list(dict.fromkeys(values))
        ):
            linked.setdefault(value, []).append(document_id)
        return [
            (place, document_id)
            for turn, value in zip(turns, values, strict=True)
            for document_id in linked.get(value, ())
            for place in places_of[document_ids[turn]]
        ]

    def fingerprints_near(self, queries: NDArray[np.uint64]) -> tuple[list[int], list[int]]:
        """Return rows of queries and the stored fingerprints within the radius of each."""
        index = self._index()
        if index is None:
            return [], []
        found = index.near_many(queries, self.radius)
        return found.query_rows.tolist(), to_integers(found.words)

    def _index(self) -> FingerprintIndex | None:
        """Return the look-up of fingerprints; None: there are none."""
        if self._row is None:
            return None
        store = self._snapshot.store
        return FingerprintIndex(
            self._snapshot,
            self._row,
            resident=store.resident,
            exact=False,
        )
