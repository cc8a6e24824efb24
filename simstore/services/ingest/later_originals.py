"""Reassign duplicates when a document stored later turns out to be their original.

A document that is stored, or was there before it was known to be, may come before originals that it
is like, by the rule of :mod:`simstore.services.history.originals`. Those are its duplicates from
then on, as if it had come first. What is flagged because of them is looked at again: it duplicates
another original, or is one itself, and may then make duplicates of others in its turn. Documents
are taken in the order of their dates, so each is looked at once.

With ``skip``, too, new duplicates stay stored, flagged: a text that was acknowledged is not removed
because of another key. Keys that were skipped because of one stay its duplicates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from simstore.model import Duplicate
from simstore.services.duplicates.duplicates import as_duplicate
from simstore.services.duplicates.edges import Edge
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.ingest.original_choice import Contender, Contenders, nearness
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents as document_rows
from simstore.storage import duplicates, history
from simstore.storage.duplicates import DuplicateRow


@dataclass(frozen=True, slots=True)
class ReassignedOriginals:
    """Documents whose original has changed, and their new state.

    Attributes:
        displaced: Originals that are duplicates now; they stay stored, flagged.
        unflagged: Keys of documents that were flagged because of those, and are originals now.
        retold: Keys of documents that were flagged, and are because of others now.
    """

    displaced: tuple[Duplicate, ...] = ()
    unflagged: frozenset[bytes] = frozenset()
    retold: Mapping[bytes, Duplicate] = field(default_factory=dict)


def settle(
    snapshot: Snapshot,
    document_id: int,
    options: DuplicateRule,
    *,
    run_id: int,
) -> ReassignedOriginals:
    """Make a stored document the original of similar documents that it precedes.

    Args:
        snapshot: The store in the writer's transaction.
        document_id: The document: new, with a new text, or first seen earlier than was known.
        options: What is a duplicate, and what is done with it.
        run_id: The ingest run.
    """
    settling = _Settling(snapshot, options)
    settling.look_at(document_id)
    return settling.write(run_id)


class _Settling:
    def __init__(self, snapshot: Snapshot, options: DuplicateRule) -> None:
        self._snapshot = snapshot
        self._search = options.search(snapshot)
        self._rule = Contenders(snapshot.connection, may_link=snapshot.settings.has_links)
        # What was flagged before, as far as it was asked; None: it was not.
        self._before: dict[int, DuplicateRow | None] = {}
        # What each duplicates by now, where that is another than before; None: nothing.
        self._now: dict[int, tuple[int, Edge] | None] = {}
        self._waiting: list[tuple[tuple[int, int], int]] = []
        self._looked_at: set[int] = set()

    def look_at(self, document_id: int) -> None:
        """Decide of a document, and of all that what becomes of it bears on."""
        self._push([document_id])
        while self._waiting:
            _, number = heappop(self._waiting)
            original = self._original(number)
            rests = original is not None and self._original(original) is None
            if number not in self._looked_at and (number == document_id or not rests):
                self._looked_at.add(number)
                self._decide(number)

    def _decide(self, number: int) -> None:
        """Look for the original of a document; where it is one, make duplicates of later ones."""
        (probed,) = self._search.stored_texts([number])
        (edges,) = self._search.edges_of([probed])
        of = {one.document_id: one for one in edges}
        known = self._rule.stored([number, *of])
        self._read([number, *of])
        originals = [other for other in of if self._original(other) is None]
        claimants = [known[number], *(known[other] for other in originals)]
        if self._rule.are_linked(claimants):
            chosen: Contender | None = self._rule.original(claimants)
        else:
            shares = ((known[other], of[other].resemblance) for other in originals)
            chosen = self._rule.nearest(known[number], shares)
        if chosen is not None and chosen.document_id not in (None, number):
            self._put(number, chosen.order, of[chosen.order])
            return
        if self._original(number) is not None:
            self._now[number] = None
        for other in originals:
            self._put(other, number, of[other])
        self._repoint(known[number], [known[one] for one in of if one not in originals], of)

    def _repoint(self, one: Contender, flagged: list[Contender], of: dict[int, Edge]) -> None:
        """Let later duplicates point at an original that they resemble more than theirs."""
        originals = self._rule.stored(
            number for other in flagged if (number := self._original(other.order)) is not None
        )
        for other in flagged:
            original = originals.get(self._original(other.order) or 0)
            edge = of[other.order]
            is_nearer = original is None or nearness(edge.resemblance, one) < nearness(
                self._share(other.order), original
            )
            if is_nearer and one.position < other.position and one.document_id is not None:
                self._put(other.order, one.document_id, edge)

    def _share(self, number: int) -> float | None:
        """Return the resemblance of a duplicate to its original by now."""
        now = self._now.get(number)
        if now is not None:
            return now[1].resemblance
        before = self._before[number]
        return None if before is None else before.resemblance

    def _put(self, number: int, original: int, edge: Edge) -> None:
        """Note what a document duplicates; what was flagged because of it waits."""
        if self._original(number) is None:
            rows = duplicates.flagged_because_of(self._snapshot.connection, [number])
            followers = {follower for _, follower in rows}
            followers.update(n for n, now in self._now.items() if now and now[0] == number)
            self._push(sorted(followers))
        before = self._before[number]
        if before is not None and before.original_id == original:
            self._now.pop(number, None)
        else:
            self._now[number] = original, edge

    def _push(self, numbers: list[int]) -> None:
        self._read(numbers)
        for number, one in self._rule.stored(numbers).items():
            heappush(self._waiting, (one.position, number))

    def _read(self, numbers: list[int]) -> None:
        missing = [number for number in numbers if number not in self._before]
        found = duplicates.of_documents(self._snapshot.connection, missing)
        self._before.update((number, found.get(number)) for number in missing)

    def _original(self, number: int) -> int | None:
        """Return what a document duplicates by now; None: nothing, it is an original."""
        if number in self._now:
            now = self._now[number]
            return None if now is None else now[0]
        if number not in self._before:
            self._read([number])
        row = self._before[number]
        return None if row is None else row.original_id

    def write(self, run_id: int) -> ReassignedOriginals:
        """Write the decisions."""
        # Links in a circle may leave one that rests on a duplicate: it is an original then.
        for number, now in list(self._now.items()):
            if now is not None and self._original(now[0]) is not None:
                self._now[number] = None
        displaced: list[Duplicate] = []
        unflagged: set[bytes] = set()
        retold: dict[bytes, Duplicate] = {}
        rows: list[DuplicateRow] = []
        connection = self._snapshot.connection
        sizes = document_rows.sizes_of(connection, sorted(self._now))
        times = history.times_of(connection, sorted(self._now))
        dropped = []
        for number, now in self._now.items():
            before = self._before[number]
            key, seen = times[number]
            if before is not None:
                dropped.append(key)
            if now is None:
                if before is not None:
                    unflagged.add(key)
                continue
            original, edge = now
            row = DuplicateRow(
                key=key,
                digest=sizes[number][0],
                state="flagged",
                document_id=number,
                original_id=original,
                original_key=self._rule.stored([original])[original].key,
                distance=edge.distance,
                resemblance=edge.resemblance or 0.0,
                basis=edge.basis,
                run_id=run_id,
                first_seen=seen.first_seen,
                last_seen=seen.last_seen,
            )
            rows.append(row)
            if before is None:
                displaced.append(as_duplicate(row))
            else:
                retold[key] = as_duplicate(row)
        duplicates.drop_many(connection, sorted(dropped))
        duplicates.put_many(connection, rows)
        return ReassignedOriginals(tuple(displaced), frozenset(unflagged), retold)
