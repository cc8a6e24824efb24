"""Check before the insert: is a document a duplicate of one that is stored?

Decided in the order of the documents, as if each were stored before the next is looked at. A
duplicate points at the earliest *original* that it has a verified edge to: a document that is not
flagged itself. What has an edge to none is an original, so duplicates do not chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from heapq import merge
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.model import OnDuplicate
from simstore.services import standing
from simstore.services.arriving.prepare import PreparedBatch
from simstore.services.near_duplicates.edges import BASES, Basis, EdgeSearch
from simstore.services.near_duplicates.edges_in_turn import EdgesInTurn
from simstore.services.near_duplicates.probed import Probed
from simstore.services.opened import OpenStore, State
from simstore.storage import duplicates
from simstore.storage.documents import DocumentRow
from simstore.storage.duplicates import DuplicateRow
from simstore.storage.engine import Connection
from simstore.storage.generations import Settings

ON_DUPLICATE = ("keep", "flag", "skip")
# Of a duplicate to its original, where nobody says otherwise.
LEAST_RESEMBLANCE = 0.8
# Above every document number: new documents come after all others, in their order.
_NEW = 1 << 62


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What is done with duplicates, and what is one.

    Attributes:
        on_duplicate: ``flag`` stores them too; ``skip`` remembers only what they duplicate.
        min_resemblance: Least resemblance to an original, above 0, at most 1, inclusive; None: 0.8,
            or any where there is a radius.
        radius: Largest distance of the fingerprints to an original, bits, inclusive; None: it does
            not count. Where both are given, both have to hold.
    """

    on_duplicate: OnDuplicate
    min_resemblance: float | None = None
    radius: int | None = None

    def __post_init__(self) -> None:
        if self.on_duplicate not in ON_DUPLICATE:
            raise InvalidParameter(
                f"on duplicate {self.on_duplicate!r}: choose one of {', '.join(ON_DUPLICATE)}"
            )
        if self.min_resemblance is not None and not 0 < self.min_resemblance <= 1:
            raise InvalidParameter(
                f"min resemblance {self.min_resemblance}: it must be above 0 and at most 1"
            )
        if self.radius is not None and self.radius < 0:
            raise InvalidParameter(f"radius {self.radius}: it must be at least 0")

    @property
    def least(self) -> float | None:
        """Return the least resemblance; None: the distance decides."""
        if self.min_resemblance is None and self.radius is None:
            return LEAST_RESEMBLANCE
        return self.min_resemblance


def check_in(
    settings: Settings,
    on_duplicate: OnDuplicate | None,
    min_resemblance: float | None,
    radius: int | None,
) -> CheckOptions | None:
    """Return what is looked for before a document is stored in a store; None: nothing.

    What is not given is as the store was made.

    Raises:
        InvalidParameter: An option is out of its range, or says what a duplicate is where a store
            keeps duplicates and nothing else is asked for.
    """
    chosen = on_duplicate or settings.on_duplicate
    is_told = min_resemblance is not None or radius is not None
    if chosen == "keep" and on_duplicate is None and is_told:
        raise InvalidParameter(
            "min resemblance and radius say what a duplicate is: choose flag or skip too"
        )
    if not is_told:
        min_resemblance, radius = settings.min_resemblance, settings.radius
    options = CheckOptions(chosen, min_resemblance, radius)
    return None if chosen == "keep" else options


@dataclass(frozen=True, slots=True)
class Original:
    """What a document duplicates.

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


class Screen:
    """Decides of the documents of a batch, to be asked once for each that is new, in their order.

    Args:
        opened: The store.
        connection: A writer.
        state: What stands in its transaction.
        batch: The documents; no key occurs twice.
        stored: The documents that are stored under their keys.
        options: What is a duplicate.

    Attributes:
        found: Place of each duplicate to its original.
        orphans: Places of those that were skipped because of a document that left later.
        unflagged: Places of those that were flagged because of one that left later.
        again: Places of those that were skipped before because of the same original.
        known: What is stored of the batch's keys as duplicates.
        stored: The documents that are stored under keys of the batch, as before it.
        stored_ids: Document that is stored under a key, by its place.
    """

    def __init__(
        self,
        opened: OpenStore,
        connection: Connection,
        state: State,
        batch: PreparedBatch,
        stored: Mapping[bytes, DocumentRow],
        options: CheckOptions,
    ) -> None:
        self.stored = stored
        self._batch = batch
        self._connection = connection
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
        self.unflagged: set[int] = set()
        self.again: set[int] = set()
        self.known: dict[bytes, DuplicateRow] = {}
        # Documents that would be originals, once the document is gone that they duplicate.
        self._freed_by: dict[int, list[int]] = {}
        self._any_known = duplicates.are_there(connection)
        if self._any_known:
            self.known = duplicates.by_keys(connection, sorted(batch.keys))
            for original, flagged in duplicates.flagged_because_of(connection, sorted(leaving)):
                self._freed_by.setdefault(original, []).append(flagged)
        self._may_be_freed = {one for freed in self._freed_by.values() for one in freed}
        self._freed: set[int] = set()
        self._gone: set[int] = set()
        self._followers: dict[int, list[int]] = {}
        self._edges: EdgesInTurn | None = None
        self._stored_flagged: set[int] = set()
        places = [
            place
            for place, key in enumerate(batch.keys)
            if (key not in stored or self.stored_ids[place] in leaving)
            and not self._stays_skipped(place, leaving)
        ]
        if places:
            search = EdgeSearch(
                opened, connection, state, min_resemblance=options.least, within=options.radius
            )
            words = _words(opened, connection, state, batch)
            made = zip(places, Probed.of_batch(batch, words, places), strict=True)
            self._edges = EdgesInTurn(
                search,
                {
                    place: replace(one, document_id=self.stored_ids[place])
                    if place in self.stored_ids
                    else one
                    for place, one in made
                },
                self._originals_among if self._any_known else None,
            )

    def original_of(self, place: int) -> Original | None:
        """Return what a document duplicates, None where it is an original; and note it.

        To be asked of a document that is new, or whose text is another than before.
        """
        original: Original | None
        if self._stays_skipped(place, self._gone):
            row = self.known[self._batch.keys[place]]
            self.again.add(place)
            self._leave(place)
            return Original(
                row.original_id, None, row.known_resemblance, row.distance, _basis(row.basis)
            )
        original = self._earliest(place)
        # A copy of the text that leaves is no original yet: a page that changes a little is not a
        # duplicate of its own copies.
        self._leave(place)
        if original is None:
            self._stand(place)
        else:
            self.found[place] = original
            if original.document_id is not None:
                self._followers.setdefault(original.document_id, []).append(place)
        return original

    @property
    def skips(self) -> bool:
        """Return whether duplicates are not stored."""
        return self._skips

    def _originals_among(self, document_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which documents are originals, or may be before the batch ends."""
        numbers = document_ids.tolist()
        flagged = duplicates.flagged_among(self._connection, numbers)
        self._stored_flagged |= flagged
        return np.array(
            [number not in flagged or number in self._may_be_freed for number in numbers], np.bool_
        )

    def _stays_skipped(self, place: int, gone: set[int]) -> bool:
        """Return whether a key was skipped because of a document that stands, and still is.

        Either it has the text that it had then, or the record says itself that it is older.
        """
        row = self.known.get(self._batch.keys[place]) if self._skips else None
        if row is None or row.state != "skipped":
            return False
        if row.original_id is None or row.original_id in gone:
            return False
        seen_at = self._batch.documents[place].seen_at
        is_older = seen_at is not None and seen_at < row.last_seen
        return is_older or row.digest == self._batch.digests[place]

    def _earliest(self, place: int) -> Original | None:
        """Return the earliest original that a document has an edge to."""
        edges = self._edges
        if edges is None or place not in edges:
            return None
        stored = ((n, None) for n in edges.stored(place) if self._is_original(n))
        others = sorted((self.stored_ids.get(n, _NEW + n), n) for n in edges.standing(place))
        # What comes later is not compared once there is one.
        for number, other in merge(stored, others, key=itemgetter(0)):
            edge = edges.to_stored(place, number) if other is None else edges.to_text(place, other)
            if edge is not None:
                known = number if other is None else None
                return Original(known, other, edge.resemblance, edge.distance, edge.basis)
        return None

    def _is_original(self, number: int) -> bool:
        """Return whether a document that was stored before the batch is an original by now."""
        is_flagged = number in self._stored_flagged and number not in self._freed
        return not is_flagged and number not in self._gone

    def _stand(self, place: int) -> None:
        """Let a document of the batch be an original for those after it."""
        if self._edges is not None and place in self._edges:
            self._edges.put(place)

    def _leave(self, place: int) -> None:
        """Note that the text that is stored under a document's key is no more."""
        number = self.stored_ids.get(place)
        if number is None:
            return
        self._gone.add(number)
        self._freed.update(self._freed_by.get(number, ()))
        for follower in self._followers.pop(number, ()):
            if self._skips:
                self.orphans.add(follower)
            else:
                del self.found[follower]
                self.unflagged.add(follower)
                self._stand(follower)


def _basis(name: str) -> Basis:
    return BASES.get(name, "sketch")


def _words(
    opened: OpenStore, connection: Connection, state: State, batch: PreparedBatch
) -> NDArray[np.uint64] | None:
    """Return the fingerprints of a batch in the standing generation; None: there is none."""
    if batch.words is not None or state.generation is None or batch.counts is None:
        return batch.words
    number = state.generation.generation_id
    known = standing.of_terms(opened, connection, state, number, batch.counts.terms)
    return state.scheme.fingerprints(batch.counts, known)
