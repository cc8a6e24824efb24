"""Find near-duplicates among texts taken one by one, comparing two texts only when needed.

A text is compared with what stands when its turn comes: with some of the documents of the store,
and with those of the texts before it that were put among them. So the work grows with how many
texts there are and how many stand, not with the pairs of texts that are alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from simstore.search.star_search import ColumnPostings
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.comparison import Verified
from simstore.services.duplicates.edge_candidates import EdgeCandidates
from simstore.services.duplicates.edges import Among, EdgeSearch


class SequentialEdges:
    """Finds the candidates and edges of texts one after the other, in their order.

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
        asked = list(alike.values())
        found, self._known = search.candidates_of([texts[place] for place in asked], among)
        self._candidates = dict(zip(asked, found, strict=True))
        self._numbers = np.array(list(self._known), np.int64)
        # Documents of the store first, then the texts.
        self._compared = search.comparison(
            [*self._known.values(), *(texts[place] for place in asked)]
        )
        self._rows = {place: len(self._numbers) + turn for turn, place in enumerate(asked)}
        self._to_stored: dict[int, dict[int, Verified]] = {}
        self._put: set[int] = set()
        self._of_text: dict[bytes, list[int]] = {}
        # Rows of the postings by digests, and the digests by rows.
        self._digests: dict[bytes, int] = {}
        self._named: list[bytes] = []
        self._bands = self._postings()
        self._near = _Near(search.candidates, texts)
        self._compared.expect(self._likely())

    def __contains__(self, place: int) -> bool:
        return place in self._texts

    @property
    def compared_count(self) -> int:
        """Return how many pairs of texts were compared exactly."""
        return self._compared.compared_count

    @property
    def documents(self) -> list[int]:
        """Return the documents of the store that may have an edge to any of the texts."""
        return list(self._known)

    def stored(self, place: int) -> dict[int, Verified]:
        """Return the documents of the store that a text has an edge to, ascending, and the edges.

        Its own is left out.
        """
        first = self._first[place]
        if first not in self._to_stored:
            others = np.searchsorted(self._numbers, self._candidates[first])
            held = self._compared.edges(self._rows[first], others)
            self._to_stored[first] = {int(self._numbers[row]): one for row, one in held.items()}
        own = self._texts[place].document_id
        edges = self._to_stored[first]
        return {number: edge for number, edge in edges.items() if number != own}

    def put(self, place: int) -> None:
        """Add a text to those that later texts are compared with."""
        if place in self._put:
            return
        self._put.add(place)
        one = self._texts[place]
        holders = self._of_text.setdefault(one.digest, [])
        holders.append(place)
        if one.shingle_count == 0:
            return
        if len(holders) == 1 and one.digest in self._digests:
            self._bands.stand(self._digests[one.digest])
        self._near.put(place)

    def standing(self, place: int) -> dict[int, Verified]:
        """Return the places of texts that were put and have an edge to another, and the edges."""
        one = self._texts[place]
        found = set(self._of_text.get(one.digest, ()))
        if one.shingle_count != 0:
            if one.digest in self._digests:
                for row in np.unique(self._bands.met(self._digests[one.digest])).tolist():
                    found.update(self._of_text[self._named[row]])
            found.update(self._near.find(place))
        found.discard(place)
        places = sorted(found)
        rows = np.array([self._rows[self._first[other]] for other in places], np.int64)
        held = self._compared.edges(self._rows[self._first[place]], np.unique(rows))
        return {
            other: held[row]
            for other, row in zip(places, rows.tolist(), strict=True)
            if row in held
        }

    def _likely(self) -> list[tuple[int, NDArray[np.int64]]]:
        """Return texts and others that they will be compared with as far as one can tell."""
        pairs = []
        for place, candidates in self._candidates.items():
            others = np.searchsorted(self._numbers, candidates)
            same = {self._texts[place].digest}
            # One that has a copy in the store is settled by it.
            if len(others) and not any(
                self._known[number].digest in same for number in candidates.tolist()
            ):
                pairs.append((self._rows[place], others))
        # The first text with a band, beside all others with it.
        groups = self._bands.groups
        shared, firsts = np.unique(groups, return_index=True)
        holder = dict(
            zip(shared.tolist(), (firsts // max(groups.shape[1], 1)).tolist(), strict=True)
        )
        row_of = {self._texts[place].digest: row for place, row in self._rows.items()}
        for number, of_text in enumerate(groups.tolist()):
            before = {holder[group] for group in of_text if group >= 0} - {number}
            if before:
                rows = [row_of[self._named[other]] for other in sorted(before)]
                pairs.append((row_of[self._named[number]], np.array(rows, np.int64)))
        return pairs

    def _postings(self) -> ColumnPostings:
        """Return the postings of the bands of all texts; none of which stands yet."""
        made = {
            one.digest: one.sketch
            for one in self._texts.values()
            if one.shingle_count != 0 and one.sketch is not None
        }
        bands = None
        if len(made) > 1:
            bands = self._search.candidates.bands(np.stack(list(made.values())))
        if bands is None:
            return ColumnPostings((), np.empty(0, np.int64), 0, 0)
        self._digests = {digest: row for row, digest in enumerate(made)}
        self._named = list(made)
        return ColumnPostings(bands.T, np.arange(len(made)), len(made), bands.shape[1])


class _Near:
    """A look-up of fingerprints within the radius, among the texts that were put.

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
