"""Find near-duplicates among texts taken one by one, comparing two texts only when needed.

A text is compared with what stands when its turn comes: with some of the documents of the store,
and with those of the texts before it that were put among them. So the work grows with how many
texts there are and how many stand, not with the pairs of texts that are alike.

Which texts stand is guessed first: those that can be like none before them. What each of the
others may be like of these is compared for all at once, and looked up when its turn comes. Only
once another text stands, or where a text comes again, are texts compared one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simstore.fingerprint.shingle_sets import distinct_numbers
from simstore.fingerprint.simhash import word_count
from simstore.search import star_search
from simstore.search.star_search import (
    ColumnPostings,
    StarSignatures,
    Walk,
    print_postings,
)
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.comparison import Verified
from simstore.services.duplicates.edges import Among, EdgeSearch


class SequentialEdges:
    """Finds the edges of texts one after the other, in their order.

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
        self._rows = {
            place: alike.setdefault((one.digest, _packed(one)), len(alike))
            for place, one in texts.items()
        }
        self._first_places: dict[int, int] = {}
        for place, row in self._rows.items():
            self._first_places.setdefault(row, place)
        asked = [texts[place] for place in self._first_places.values()]
        self._to_stored = [
            {
                edge.document_id: Verified(edge.resemblance, edge.distance, edge.basis)
                for edge in edges
            }
            for edges in search.edges_of(asked, among, own=True)
        ]
        # Places of the texts that were put, by their rows, and the rows of each digest.
        self._places: dict[int, set[int]] = {}
        self._same: dict[bytes, list[int]] = {}
        for row, one in enumerate(asked):
            self._same.setdefault(one.digest, []).append(row)
        # Whether a text of a row may be like one of another row: most of a batch are not.
        self._shares: list[bool] = []
        self._walk: Walk | None = None
        # Rows that stand and are not told to the walk yet.
        self._untold: list[int] = []
        # By its row what a text may be like of those that are guessed to stand, and is.
        self._guessed: dict[int, dict[int, Verified]] = {}
        self._holds_guess = True
        self._compared = search.comparison()
        if len(texts) > 1:
            self._compared.add(asked)
        if len(asked) > 1:
            signatures = _signatures(search, asked)
            self._shares = signatures.shares().tolist()
            self._walk = Walk(signatures, np.arange(len(asked)))
            self._guess(self._walk)

    def _guess(self, walk: Walk) -> None:
        """Compare what may be alike of the texts, if those stand that can be like none before."""
        first, second = walk.likely(0, len(self._shares))
        self._holds_guess = len(first) < star_search.TOLD_PAIRS
        self._compared.expect(first, second)
        for row in distinct_numbers(first).tolist():
            self._guessed[row] = {}
        places, edges = self._compared.verified(first, second)
        for row, other, edge in zip(
            first[places].tolist(), second[places].tolist(), edges, strict=True
        ):
            self._guessed[row][other] = edge

    def __contains__(self, place: int) -> bool:
        return place in self._texts

    @property
    def documents(self) -> list[int]:
        """Return the documents of the store that have an edge to any of the texts."""
        return sorted({number for edges in self._to_stored for number in edges})

    def stored(self, place: int) -> dict[int, Verified]:
        """Return the documents of the store that a text has an edge to, ascending, and the edges.

        Its own is left out.
        """
        own = self._texts[place].document_id
        edges = self._to_stored[self._rows[place]]
        return {number: edge for number, edge in edges.items() if number != own}

    def put(self, place: int) -> None:
        """Add a text to those that later texts are compared with."""
        row = self._rows[place]
        is_first = row not in self._places
        self._places.setdefault(row, set()).add(place)
        if is_first and self._walk is not None and self._meets(place, row):
            self._untold.append(row)
            self._holds_guess &= row not in self._guessed

    def standing(self, place: int) -> dict[int, Verified]:
        """Return the places of texts that were put and have an edge to another, and the edges."""
        one, row = self._texts[place], self._rows[place]
        if len(self._texts) == 1:
            return {}
        guessed: dict[int, Verified] = {}
        found = {other for other in self._same[one.digest] if other in self._places}
        if self._walk is not None and self._meets(place, row):
            guessed = self._guessed.get(row, {})
            if self._holds_guess and self._first_places[row] == place:
                found.update(guessed.keys() & self._places.keys())
            else:
                for other in self._untold:
                    self._walk.stand(other)
                self._untold.clear()
                found.update(self._walk.candidates(row).tolist())
        if not found:
            return {}
        unknown = np.array(sorted(found - guessed.keys()), np.int64)
        held = {other: guessed[other] for other in found & guessed.keys()}
        chosen, verified = self._compared.verified(np.full(len(unknown), row), unknown)
        held |= dict(zip(unknown[chosen].tolist(), verified, strict=True))
        edges = {
            other: edge
            for other_row, edge in held.items()
            for other in self._places[other_row]
            if other != place
        }
        return dict(sorted(edges.items()))

    def _meets(self, place: int, row: int) -> bool:
        """Return whether a text may be like another that is not the same."""
        return self._shares[row] and self._texts[place].shingle_count != 0


def _signatures(search: EdgeSearch, texts: Sequence[CandidateText]) -> StarSignatures:
    """Return what tells which of the texts may have an edge to each other."""
    count = len(texts)
    judged = [one.shingle_count != 0 for one in texts]
    sketches = np.zeros((count, search.conditions.rule.values), np.uint16)
    made = {
        row: one.sketch for row, one in enumerate(texts) if judged[row] and one.sketch is not None
    }
    sketched = list(made)
    for row, sketch in made.items():
        sketches[row] = sketch
    bands = search.candidates.bands(sketches[sketched]) if sketched else None
    postings = ColumnPostings((), np.empty(0, np.int64), count)
    if bands is not None:
        rows = np.array(sketched, np.int64)
        postings = ColumnPostings(bands.T, rows, count)
    printed = {
        row: one.words
        for row, one in enumerate(texts)
        if judged[row] and one.words is not None and search.candidates.by_fingerprint
    }
    words = np.array(list(printed.values()), np.uint64).reshape(-1, word_count(search.bits))
    owners = np.array(list(printed), np.int64)
    rule = search.conditions.rule
    least = rule.min_resemblance if len(sketched) == sum(judged) else None
    return StarSignatures(
        bands=postings,
        sketches=sketches,
        sizes=np.array([one.shingle_count or 0 for one in texts], np.int64),
        prints=print_postings(words, search.bits, search.candidates.radius),
        print_bounds=np.searchsorted(owners, np.arange(count + 1)),
        print_texts=owners,
        words=words,
        radius=search.candidates.radius,
        # A text without a sketch may be like any other.
        least_ratio=0.0 if least is None else least,
        fewest_equal=0 if least is None else rule.fewest_equal,
        likely_equal=0,
    )


def _packed(one: CandidateText) -> bytes:
    return b"" if one.words is None else one.words.tobytes()
