"""Check new documents for stored near-duplicates before they are inserted.

Decided in the order of the documents, as if each were stored before the next is looked at. A
duplicate points at an *original* that it has a verified edge to: a document that is not flagged
itself. Of a document and the originals that it is like, links may choose one
(:mod:`simstore.services.history.originals`). Where they do not, it is the one that the document
resembles most of those that come before it. What is chosen itself, or is like no earlier original,
is an original, so duplicates do not chain.

A document that is an original though others of those are stored makes duplicates of them, or is
resembled more by duplicates of others. Then the
screen is *unsettled*: nothing after that document is decided until
:mod:`simstore.services.ingest.batches` has dealt with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.shingle_sets import distinct_numbers
from simstore.fingerprint.simhash import word_count
from simstore.model import OnDuplicate
from simstore.model.channels import DROP_RESEMBLANCE, duplicate_measure
from simstore.search import star_search
from simstore.search.duplicate_measure import check_short_texts
from simstore.search.resemblance import check_share
from simstore.search.star_search import (
    ColumnPostings,
    StarSignatures,
    Walk,
    print_postings,
)
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.comparison import Verified
from simstore.services.duplicates.duplicates import covers
from simstore.services.duplicates.edges import (
    BASES,
    Among,
    Basis,
    EdgeSearch,
    check_verifiable,
)
from simstore.services.duplicates.measure import Measure
from simstore.services.features import corpus_statistics
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest.original_choice import NEW, Contender, Contenders, nearness
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import State
from simstore.sources.seen_since import first_sight
from simstore.storage import duplicates
from simstore.storage.documents import DocumentRow
from simstore.storage.duplicates import DuplicateRow
from simstore.storage.generations import StoreSettings
from simstore.text.decoding import encode


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
        # Equal texts are looked up once. Fingerprints may cover more than the text.
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
        # Rows whose text may be like that of another row: few of a batch are.
        self._shares: list[bool] = []
        self._walk: Walk | None = None
        # Rows that are kept and that the walk does not know yet.
        self._untold: list[int] = []
        # Texts that each row may be like, and is like, of those that are probably kept.
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
        """Compare texts that may be alike, as if those without a possible original were kept."""
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
    """Return a test for pairs of the texts that may have an edge."""
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


ON_DUPLICATE = ("keep", "flag", "skip")
# Least share of runs of characters; two texts with 5 % wrong characters share .58 of them.
LEAST_OF_CHARACTERS = 0.5


@dataclass(frozen=True, slots=True)
class DuplicateRule:
    """The rule for duplicates: the resemblance or distance that makes one, and the action taken.

    Attributes:
        on_duplicate: ``flag`` stores them too; ``skip`` remembers only what they duplicate.
        min_resemblance: Least resemblance to an original, above 0, at most 1, inclusive; None: 0.8,
            or any where there is a radius.
        radius: Largest distance of the fingerprints to an original, bits, inclusive; None: it does
            not count. Where both are given, both have to hold.
        channels: By which originals are looked for; none: those of words.
        short_texts: By characters, short texts are duplicates too.
    """

    on_duplicate: OnDuplicate
    min_resemblance: float | None = None
    radius: int | None = None
    channels: tuple[str, ...] = ()
    short_texts: bool = False

    def __post_init__(self) -> None:
        if self.on_duplicate not in ON_DUPLICATE:
            raise InvalidParameter(
                f"on duplicate {self.on_duplicate!r}: choose one of {', '.join(ON_DUPLICATE)}"
            )
        check_share("min_resemblance", self.min_resemblance)
        if self.radius is not None and self.radius < 0:
            raise InvalidParameter(f"radius {self.radius}: it must be at least 0")
        check_short_texts(self.channels, short_texts=self.short_texts)

    @property
    def least(self) -> float | None:
        """Return the least resemblance; None: the distance decides."""
        if self.min_resemblance is None and self.radius is None:
            by_words = duplicate_measure(self.channels) == "words"
            return DROP_RESEMBLANCE if by_words else LEAST_OF_CHARACTERS
        return self.min_resemblance

    def measure(self, state: State) -> Measure:
        """Return what finds and compares duplicates in a store; raise an error if it cannot."""
        return check_verifiable(
            state, self.least, self.radius, self.channels, short_texts=self.short_texts
        )

    def search(self, snapshot: Snapshot) -> EdgeSearch:
        """Return the search for duplicates in a snapshot of a store."""
        return EdgeSearch(
            snapshot,
            min_resemblance=self.least,
            within=self.radius,
            channels=self.channels,
            short_texts=self.short_texts,
        )


def check_in(
    settings: StoreSettings,
    on_duplicate: OnDuplicate | None,
    min_resemblance: float | None,
    radius: int | None,
    channels: tuple[str, ...] = (),
    *,
    short_texts: bool = False,
) -> DuplicateRule | None:
    """Return the duplicate rule for documents; None: no check is made.

    What is not given is as the store was made.

    Raises:
        InvalidParameter: An option is out of its range, or says what a duplicate is where a store
            keeps duplicates and nothing else is asked for.
    """
    chosen = on_duplicate or settings.on_duplicate
    is_told = min_resemblance is not None or radius is not None or bool(channels)
    if chosen == "keep" and on_duplicate is None and is_told:
        raise InvalidParameter(
            "min resemblance, radius and channels say what a duplicate is: choose flag or skip too"
        )
    if not is_told:
        min_resemblance, radius = settings.min_resemblance, settings.radius
    options = DuplicateRule(chosen, min_resemblance, radius, channels, short_texts)
    return None if chosen == "keep" else options


@dataclass(frozen=True, slots=True)
class Original:
    """The original that a document duplicates, and how alike they are.

    Attributes:
        document_id: A document as it was stored before the batch; None: one of the batch.
        place: The place of that one in the batch.
        resemblance, distance, basis: As of an :class:`~.edges.Edge`.
    """

    document_id: int | None
    place: int | None
    resemblance: float | None
    distance: int | None
    basis: Basis


class DuplicateChecker:
    """Finds the originals of a batch's documents; asked once for each new one, in order.

    Args:
        snapshot: The store in the writer's transaction.
        batch: The documents; no key occurs twice.
        stored: The documents that are stored under their keys.
        options: What is a duplicate.
        now: The time, for documents without a date.

    Attributes:
        found: Place of each duplicate to its original.
        orphans: Places of those that were skipped because of a document that left later.
        uncovered: Places of those that were skipped because of a document that got a text later
            which does not cover the former one.
        unflagged: Places of those that were flagged because of one that left later.
        again: Places of those that were skipped before because of the same original.
        known: What is stored of the batch's keys as duplicates.
        stored: The documents that are stored under keys of the batch, as before it.
        stored_ids: Document that is stored under a key, by its place.
        unsettled: Place of a document that makes duplicates of others; nothing more can be asked.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        batch: PreparedBatch,
        stored: Mapping[bytes, DocumentRow],
        options: DuplicateRule,
        now: int,
    ) -> None:
        connection = snapshot.connection
        self.stored = stored
        self._batch = batch
        self._snapshot = snapshot
        self._skips = options.on_duplicate == "skip"
        self.stored_ids = {
            place: stored[key].document_id for place, key in enumerate(batch.keys) if key in stored
        }
        leaving = {
            number
            for place, number in self.stored_ids.items()
            if stored[batch.keys[place]].digest != batch.digests[place]
        }
        self.found: dict[int, Original] = {}
        self.orphans: set[int] = set()
        self.uncovered: set[int] = set()
        self.unflagged: set[int] = set()
        self.again: set[int] = set()
        self.unsettled: int | None = None
        self.known: dict[bytes, DuplicateRow] = {}
        # Documents that would be originals, once the document is gone that they duplicate.
        self._freed_by: dict[int, list[int]] = {}
        self._any_known = snapshot.settings.has_duplicates
        if self._any_known:
            self.known = duplicates.by_keys(connection, sorted(batch.keys))
            for original, flagged in duplicates.flagged_because_of(connection, sorted(leaving)):
                self._freed_by.setdefault(original, []).append(flagged)
        # Documents that keys of the batch were skipped because of.
        self._skipping = {row.original_id for row in self.known.values() if row.state == "skipped"}
        self._may_be_freed = {one for freed in self._freed_by.values() for one in freed}
        self._freed: set[int] = set()
        self._gone: set[int] = set()
        # Documents among these for which nothing is skipped any more.
        self._released: set[int] = set()
        self._followers: dict[int, list[int]] = {}
        self._edges: SequentialEdges | None = None
        # Stored documents of which it is known whether they are flagged, and those that are.
        self._looked_at: set[int] = set()
        self._stored_flagged: set[int] = set()
        may_link = snapshot.settings.has_links or any(one.links for one in batch.documents)
        self._rule = Contenders(connection, may_link=may_link)
        self._arriving = [self._contender(place, now) for place in range(len(batch.keys))]
        self._rule.stored(
            row.original_id for row in self.known.values() if row.original_id is not None
        )
        # Records that say that a stored document was there before it was known to be.
        moving = {
            place: number
            for place, number in self.stored_ids.items()
            if self._arriving[place].first_seen < stored[batch.keys[place]].times.first_seen
        }
        places = [
            place
            for place, key in enumerate(batch.keys)
            if (key not in stored or self.stored_ids[place] in leaving)
            and not self._stays_skipped(place, leaving)
        ]
        searched = {*places, *moving}
        self._earliest_date = min(
            (self._arriving[place].first_seen for place in searched), default=0
        )
        # Of those after each place, the position of the first.
        turns = sorted(searched)
        self._first_after = _first_after([self._arriving[place].position for place in turns])
        self._turn = {place: turn for turn, place in enumerate(turns)}
        if searched:
            search = options.search(snapshot)
            words = _words(snapshot, batch)
            made = zip(places, search.batch_texts(batch, words, places), strict=True)
            texts = {
                place: replace(one, document_id=self.stored_ids[place])
                if place in self.stored_ids
                else one
                for place, one in made
            }
            held = search.stored_texts(sorted(moving.values()))
            of_number = {one.document_id: one for one in held}
            # A document that is asked of as it is stored; its record may have another text.
            texts |= {~place: of_number[number] for place, number in moving.items()}
            self._edges = SequentialEdges(
                search, texts, self._originals_among if self._any_known else None
            )
            self._rule.stored(self._edges.documents)
        self._late: dict[int, DuplicateRow] = {}
        if self._stored_flagged and self._edges is not None:
            late = sorted(self._stored_flagged.intersection(self._edges.documents))
            self._late = duplicates.of_documents(connection, late)
            self._rule.stored(
                row.original_id for row in self._late.values() if row.original_id is not None
            )

    def original_of(self, place: int) -> Original | None:
        """Return and note the original that a document duplicates; None where it is one itself.

        To be asked of a document that is new, or whose text is another than before.
        """
        original: Original | None
        if self._stays_skipped(place, self._released):
            row = self.known[self._batch.keys[place]]
            self.again.add(place)
            self._leave(place, is_removed=True)
            return Original(
                row.original_id, None, row.known_resemblance, row.distance, _basis(row.basis)
            )
        original = self._chosen(place)
        # A copy of the text that leaves is no original yet: a page that changes a little is not a
        # duplicate of its own copies.
        self._leave(place, is_removed=original is not None and self._skips)
        if original is None:
            self._stand(place)
        else:
            self.found[place] = original
            if original.document_id is not None:
                self._followers.setdefault(original.document_id, []).append(place)
            if not self._skips and self._first_after[self._turn[place]] < self._position(place):
                # An earlier one may come yet, and be like it.
                self._stand(place)
        return original

    def moves(self, place: int) -> None:
        """Note that a stored document was there before it was known to be, by its record.

        To be asked of a document that keeps its text. It is unsettled where it comes before
        another that it is like.
        """
        number = self.stored_ids[place]
        before = self.stored[self._batch.keys[place]].times.first_seen, number
        edges = self._edges
        if edges is None or ~place not in edges or self._position(place) >= before:
            return
        later = [
            (one, edge)
            for one, edge in self._like(~place)
            if one.position > self._position(place) and one.document_id != number
        ]
        self._rule.move(self._arriving[place])
        if self._is_before_any(later, self._arriving[place], before):
            self.unsettled = place

    @property
    def skips(self) -> bool:
        """Return whether duplicates are not stored."""
        return self._skips

    def _originals_among(self, document_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which documents are originals, or may be before the batch ends.

        Those are among them that come after some document of the batch: they may be its duplicates.
        """
        numbers = document_ids.tolist()
        others = [number for number in numbers if number not in self._looked_at]
        self._looked_at.update(others)
        self._stored_flagged |= duplicates.flagged_among(self._snapshot.connection, others)
        flagged = self._stored_flagged.intersection(numbers)
        known = self._rule.stored(flagged)
        return np.array(
            [
                number not in flagged
                or number in self._may_be_freed
                or (number in known and known[number].first_seen >= self._earliest_date)
                for number in numbers
            ],
            np.bool_,
        )

    def _contender(self, place: int, now: int) -> Contender:
        """Return a document of the batch as it stands once its record is stored."""
        document, key = self._batch.documents[place], self._batch.keys[place]
        row, known = self.stored.get(key), self.known.get(key)
        since = known.first_seen if known is not None and known.state != "flagged" else None
        times = row.times if row is not None else None
        first_seen, basis = first_sight(
            document,
            now,
            None if times is None else (times.first_seen, times.basis, times.last_seen),
            since,
        )
        number = None if row is None else row.document_id
        return Contender(
            key, first_seen, basis, number, place, frozenset(map(encode, document.links))
        )

    def _position(self, place: int) -> tuple[int, int]:
        return self._arriving[place].position

    def _stays_skipped(self, place: int, gone: set[int]) -> bool:
        """Return whether a key was skipped because of a document that stands, and still is.

        Either it has the text that it had then and does not come before that document by now, or
        the record says itself that it is older.
        """
        row = self.known.get(self._batch.keys[place]) if self._skips else None
        if row is None or row.state != "skipped":
            return False
        if row.original_id is None or row.original_id in gone:
            return False
        if row.digest == self._batch.digests[place]:
            me = self._arriving[place]
            original = self._rule.stored([row.original_id]).get(row.original_id)
            return original is None or self._rule.original([original, me]) is original
        seen_at = self._batch.documents[place].seen_at
        return seen_at is not None and seen_at < row.last_seen

    def _like(self, place: int) -> list[tuple[Contender, Verified]]:
        """Return the documents that a document has an edge to, by their dates, and the edges."""
        edges = self._edges
        if edges is None or place not in edges:
            return []
        to_stored = edges.stored(place)
        standing = edges.standing(place)
        if not to_stored and not standing:
            return []
        known = self._rule.stored(to_stored)
        found = [(one, to_stored[n]) for n, one in known.items() if n not in self._gone]
        found += [(self._arriving[n], edge) for n, edge in standing.items()]
        return sorted(found, key=lambda one: one[0].position)

    def _chosen(self, place: int) -> Original | None:
        """Return the original that a document duplicates, by the rule."""
        me = self._arriving[place]
        like = [(one, edge) for one, edge in self._like(place) if one.key != me.key]
        if not like:
            return None
        originals = [(one, edge) for one, edge in like if self._is_original(one)]
        if self._rule.are_linked([me, *(one for one, _ in originals)]):
            near = {one.key: edge for one, edge in originals}
            chosen = self._rule.original([me, *(one for one, _ in originals)])
            if chosen is not me:
                return _as_original(chosen, near[chosen.key])
            if near:
                self.unsettled = place
                return None
        else:
            earlier = [found for found in originals if found[0].position < me.position]
            if earlier:
                nearest = min(earlier, key=lambda found: nearness(found[1].resemblance, found[0]))
                return _as_original(*nearest)
        if self._is_before_any([one for one in like if one[0].position > me.position], me):
            self.unsettled = place
        return None

    def _is_before_any(
        self,
        some: list[tuple[Contender, Verified]],
        me: Contender,
        before: tuple[int, int] | None = None,
    ) -> bool:
        """Return whether a document makes duplicates of others, or they may resemble it more.

        Args:
            some: Others, which it has an edge to and comes before.
            me: The document, as it stands then.
            before: Where it stood; what it came before then, as well as its original, is passed
                over.
        """
        for one, edge in some:
            original: Contender | None = one
            share: float | None = None
            if not self._is_original(one):
                original, share = self._original_of_flagged(one)
            if original is None or original.key == me.key:
                continue
            if before is not None and min(one.position, original.position) > before:
                continue
            if original is one or nearness(edge.resemblance, me) < nearness(share, original):
                return True
        return False

    def _original_of_flagged(self, one: Contender) -> tuple[Contender | None, float | None]:
        """Return what a document duplicates, and its resemblance to it."""
        if one.place is not None:
            found = self.found[one.place]
            share = found.resemblance
            if found.place is not None:
                return self._arriving[found.place], share
            number = found.document_id
        else:
            row = self._late.get(one.document_id or 0)
            number = None if row is None else row.original_id
            share = None if row is None else row.resemblance
        return None if number is None else self._rule.stored([number]).get(number), share

    def _is_original(self, one: Contender) -> bool:
        """Return whether what is stored, or was put by now, is an original by now."""
        if one.place is not None:
            return one.place not in self.found
        number = one.document_id
        is_flagged = number in self._stored_flagged and number not in self._freed
        return not is_flagged and number not in self._gone

    def _stand(self, place: int) -> None:
        """Let a document of the batch be looked at by those after it."""
        if self._edges is not None and place in self._edges:
            self._edges.put(place)

    def _leave(self, place: int, *, is_removed: bool) -> None:
        """Note that the text that is stored under a document's key is no more.

        Args:
            place: The document.
            is_removed: It leaves the store; else it gets another text.
        """
        number = self.stored_ids.get(place)
        if number is None:
            return
        self._gone.add(number)
        self._freed.update(self._freed_by.get(number, ()))
        followers = self._followers.pop(number, ())
        if self._skips and not is_removed and (followers or number in self._skipping):
            if covers(self._snapshot, self._batch.documents[place].text, number):
                return
            self.uncovered.update(followers)
        elif self._skips:
            self.orphans.update(followers)
        else:
            for follower in followers:
                del self.found[follower]
                self.unflagged.add(follower)
                self._stand(follower)
        self._released.add(number)


def _as_original(one: Contender, edge: Verified) -> Original:
    known = one.document_id if one.place is None else None
    return Original(known, one.place, edge.resemblance, edge.distance, edge.basis)


def _first_after(positions: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the least of the positions that follow each; above all where none does."""
    least = NEW << 1, 0
    found = []
    for position in reversed(positions):
        found.append(least)
        least = min(least, position)
    return found[::-1]


def _basis(name: str) -> Basis:
    return BASES.get(name, "sketch")


def _words(snapshot: Snapshot, batch: PreparedBatch) -> NDArray[np.uint64] | None:
    """Return the fingerprints of a batch in the standing generation; None: there is none."""
    if batch.words is not None or snapshot.generation is None or batch.counts is None:
        return batch.words
    number = snapshot.generation.generation_id
    known = corpus_statistics.of_terms(snapshot, number, batch.counts.terms)
    return snapshot.scheme.fingerprints(batch.counts, known)
