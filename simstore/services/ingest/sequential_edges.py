"""Find near-duplicates among texts taken one by one, comparing two texts only when needed.

A text is compared with what stands when its turn comes: with some of the documents of the store,
and with those of the texts before it that were put among them. So the work grows with how many
texts there are and how many stand, not with the pairs of texts that are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import word_count
from simstore.search.star_search import (
    ColumnPostings,
    StarSignatures,
    Walk,
    print_postings,
    walk_of,
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
        first: dict[int, CandidateText] = {}
        for place, row in self._rows.items():
            first.setdefault(row, texts[place])
        asked = list(first.values())
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
        self._compared = search.comparison()
        if len(texts) > 1:
            self._compared.add(asked)
        if len(asked) > 1:
            signatures = _signatures(search, asked)
            self._shares = signatures.shares().tolist()
            self._walk = walk_of(signatures, np.arange(len(asked)))
            self._compared.expect(_likely(signatures.bands, len(asked)))

    def __contains__(self, place: int) -> bool:
        return place in self._texts

    @property
    def compared_count(self) -> int:
        """Return how many pairs of texts were compared exactly."""
        return self._search.compared_count + self._compared.compared_count

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
        if (
            self._walk is not None
            and is_first
            and self._shares[row]
            and self._texts[place].shingle_count != 0
        ):
            self._walk.stand(row)

    def standing(self, place: int) -> dict[int, Verified]:
        """Return the places of texts that were put and have an edge to another, and the edges."""
        one, row = self._texts[place], self._rows[place]
        found = {other for other in self._same[one.digest] if other in self._places}
        if self._walk is not None and self._shares[row] and one.shingle_count != 0:
            found.update(self._walk.candidates(row).tolist())
        if not found or len(self._texts) == 1:
            return {}
        [held] = self._compared.edges([(row, np.array(sorted(found), np.int64))])
        edges = {
            other: edge
            for other_row, edge in held.items()
            for other in self._places[other_row]
            if other != place
        }
        return dict(sorted(edges.items()))


def _likely(bands: ColumnPostings, count: int) -> list[tuple[int, NDArray[np.int64]]]:
    """Return texts and others that they will be compared with as far as one can tell.

    The others are the first text with a band, beside all others with it.
    """
    groups = bands.groups
    if not groups.size:
        return []
    shared, firsts = np.unique(groups, return_index=True)
    holder = np.zeros(int(shared[-1]) + 2, np.int64)
    holder[shared] = firsts // groups.shape[1]
    # What shares no band has the group -1, the last one of the holders.
    before = np.where(groups >= 0, holder[groups], np.arange(count)[:, None])
    pairs = []
    for row in np.flatnonzero((before != np.arange(count)[:, None]).any(axis=1)).tolist():
        others = set(before[row].tolist()) - {row}
        pairs.append((row, np.array(sorted(others), np.int64)))
    return pairs


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
    postings = ColumnPostings((), np.empty(0, np.int64), count, 0)
    if bands is not None:
        rows = np.array(sketched, np.int64)
        postings = ColumnPostings(bands.T, rows, count, bands.shape[1])
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
