"""Edges of texts that are decided of one after the other, each verified only when it is asked for.

A text is compared with what stands when its turn comes: with some of the documents of the store,
and with those of the texts before it that were put among them. So the work grows with how many
texts there are and how many stand, not with the pairs of texts that are alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simstore.search.bands import shared
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.edge_candidates import EdgeCandidates
from simstore.services.duplicates.edges import Among, EdgeSearch, Verified


class SequentialEdges:
    """Candidates and edges of some texts, looked for as their turns come.

    Args:
        search: Finds candidates and verifies them.
        texts: The texts by their places.
        among: Says which documents of the store, int64, ascending, are looked at; None: all.
    """

    def __init__(
        self, search: EdgeSearch, texts: Mapping[int, CandidateText], among: Among | None = None
    ) -> None:
        self._search = search
        self._texts = texts
        # What is the same is looked up once. Fingerprints may cover more than the text.
        alike: dict[tuple[bytes, bytes], int] = {}
        self._first = {
            place: alike.setdefault((one.digest, _packed(one)), place)
            for place, one in texts.items()
        }
        first_places = list(alike.values())
        found, self._known = search.candidates_of([texts[place] for place in first_places], among)
        self._stored = {
            place: sorted(numbers & self._known.keys())
            for place, numbers in zip(first_places, found, strict=True)
        }
        self._put: set[int] = set()
        self._of_text: dict[bytes, list[int]] = {}
        self._of_band: dict[int, list[int]] = {}
        self._shared: dict[bytes, list[int]] = {}
        if len(texts) > 1:
            self._share_bands()
        self._near = _Near(search.candidates, texts)
        self._compared = search.compared(self._likely())

    def __contains__(self, place: int) -> bool:
        return place in self._texts

    @property
    def documents(self) -> list[int]:
        """Return the documents of the store that may have an edge to any of the texts."""
        return list(self._known)

    def stored(self, place: int) -> list[int]:
        """Return the documents of the store that may have an edge to a text, ascending.

        Its own is among them, as it stands in the store.
        """
        return self._stored[self._first[place]]

    def to_stored(self, place: int, document_id: int) -> Verified | None:
        """Return the edge of a text to a document of the store; None: it has none."""
        one = self._texts[place]
        if document_id == one.document_id:
            return None
        return self._search.verified(one, self._known[document_id], self._compared)

    def put(self, place: int) -> None:
        """Let a text stand, for those after it."""
        if place in self._put:
            return
        self._put.add(place)
        one = self._texts[place]
        self._of_text.setdefault(one.digest, []).append(place)
        if one.shingle_count == 0:
            return
        for band in self._shared.get(one.digest, ()):
            self._of_band.setdefault(band, []).append(place)
        self._near.put(place)

    def standing(self, place: int) -> set[int]:
        """Return the places of texts that were put and may have an edge to another."""
        one = self._texts[place]
        found = set(self._of_text.get(one.digest, ()))
        if one.shingle_count != 0:
            for band in self._shared.get(one.digest, ()):
                found.update(self._of_band.get(band, ()))
            found.update(self._near.find(place))
        found.discard(place)
        return found

    def to_text(self, place: int, other: int) -> Verified | None:
        """Return the edge of a text to another; None: they have none."""
        return self._search.verified(self._texts[place], self._texts[other], self._compared)

    def _share_bands(self) -> None:
        """Number the bands that several texts have."""
        sketches = {
            one.digest: one.sketch
            for one in self._texts.values()
            if one.shingle_count != 0 and one.sketch is not None
        }
        if len(sketches) < 2:
            return
        bands = self._search.candidates.bands(np.stack(list(sketches.values())))
        if bands is None:
            return
        groups = shared(bands)
        digests = list(sketches)
        for row in np.flatnonzero((groups >= 0).any(axis=1)).tolist():
            self._shared[digests[row]] = groups[row, groups[row] >= 0].tolist()

    def _likely(self) -> list[tuple[CandidateText, CandidateText]]:
        """Return pairs that will be compared as far as one can tell, to be read at once."""
        pairs = []
        for place, numbers in self._stored.items():
            one = self._texts[place]
            for number in numbers:
                other = self._known[number]
                if number != one.document_id:
                    pairs.append((one, other))
                    if other.digest == one.digest:
                        break
        holders: dict[int, CandidateText] = {}
        for place in dict.fromkeys(self._first.values()):
            one = self._texts[place]
            bands = self._shared.get(one.digest, ())
            pairs += [(one, holders.setdefault(band, one)) for band in bands]
        return pairs


class _Near:
    """Which of some texts have fingerprints within the radius, asked of those that were put.

    Args:
        candidates: Says which are near.
        texts: The texts by their places.
    """

    def __init__(self, candidates: EdgeCandidates, texts: Mapping[int, CandidateText]) -> None:
        self._near: dict[int, list[int]] = {}
        self._put: set[int] = set()
        words = {place: one.words for place, one in texts.items() if one.words is not None}
        if len(words) < 2:
            return
        places = list(words)
        pairs = candidates.near_pairs(np.stack(list(words.values())))
        for one, other in zip(*(side.tolist() for side in pairs), strict=True):
            self._near.setdefault(places[one], []).append(places[other])
            self._near.setdefault(places[other], []).append(places[one])

    def put(self, place: int) -> None:
        self._put.add(place)

    def find(self, place: int) -> list[int]:
        return [other for other in self._near.get(place, ()) if other in self._put]


def _packed(one: CandidateText) -> bytes:
    return b"" if one.words is None else one.words.tobytes()
