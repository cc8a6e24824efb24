"""Store one batch of documents in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np

from simstore.fingerprint.features import FeatureCounts, assemble
from simstore.model import Duplicate, Outcome
from simstore.services.channels.store_part import AddedTexts, every_part, parts_of
from simstore.services.clusters.changes import forget_digests, note_changes
from simstore.services.duplicates.duplicates import as_duplicate, uncover
from simstore.services.duplicates.edges import Edge
from simstore.services.features import feature_counts
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest import batch_history
from simstore.services.ingest.batch_history import KeyHistory
from simstore.services.ingest.decisions import Decisions, FinalDocument, decide
from simstore.services.ingest.duplicate_checker import DuplicateChecker, DuplicateRule
from simstore.services.ingest.original_choice import Contender, Contenders, nearness
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import State
from simstore.services.removal.remove import remove_rows
from simstore.sources.seen_since import claim
from simstore.storage import deltas, documents, duplicates, generations, history, passages, runs
from simstore.storage import documents as document_rows
from simstore.storage.documents import Times
from simstore.storage.duplicates import DuplicateRow, ReleasedDuplicates
from simstore.storage.engine import Connection
from simstore.storage.history import put_times
from simstore.text.decoding import encode


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
        # Flags before this batch, as far as they were read; None: there was none.
        self._before: dict[int, DuplicateRow | None] = {}
        # Changed originals of duplicates, each with its edge; None: it is no duplicate any more.
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
        """Return the resemblance of a duplicate to its present original."""
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
        """Return the present original of a document; None: it is an original itself."""
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


def let_go(snapshot: Snapshot, batch: PreparedBatch, decisions: Decisions) -> ReleasedDuplicates:
    """Drop the duplicate records of keys that get another text, and release their duplicates.

    To be called before the documents of a batch are written, and before those that left go.
    """
    if not decisions.renewed or not snapshot.settings.has_duplicates:
        return ReleasedDuplicates()
    screen = decisions.screen
    told_of = decisions.renewed
    if screen is not None:
        told_of = told_of & screen.known.keys() - {batch.keys[place] for place in screen.again}
    connection = snapshot.connection
    duplicates.drop_many(connection, sorted(told_of))
    changed = {
        stored.document_id: batch.documents[final.place or 0].text
        for key in sorted(decisions.renewed)
        if (final := decisions.finals.get(key)) and (stored := final.stored)
    }
    return uncover(snapshot, changed)


def comes_again(known: Mapping[bytes, DuplicateRow], decisions: Decisions) -> bool:
    """Return whether a key gets a text in the batch in which what it duplicated leaves or changes.

    It is no orphan then, and would be one if the other came first, in a batch of its own.

    Args:
        known: What is stored of keys as duplicates.
        decisions: What becomes of the documents of the batch.
    """
    gone = set(decisions.left)
    for key in decisions.renewed:
        final = decisions.finals.get(key)
        if final is not None and final.stored is not None:
            gone.add(final.stored.document_id)
    return any(known[key].original_id in gone for key in decisions.renewed & known.keys())


def write_found(
    connection: Connection,
    batch: PreparedBatch,
    screen: DuplicateChecker | None,
    ids: Mapping[bytes, int],
    *,
    run_id: int,
    seen_at: int,
) -> dict[int, Duplicate]:
    """Write the duplicates that were found in a batch, after its documents; return them by place.

    Args:
        connection: A writer.
        batch: The documents.
        screen: What was found; None: nothing was looked for.
        ids: Document of each key that is stored.
        run_id: The ingest run.
        seen_at: The time, for documents without a date of their own.
    """
    if screen is None or not (screen.found or screen.again):
        return {}
    times = [seen_at if one.seen_at is None else one.seen_at for one in batch.documents]
    since = [claim(one, time)[0] for one, time in zip(batch.documents, times, strict=True)]
    duplicates.touch_many(
        connection,
        [(batch.keys[place], since[place], times[place]) for place in sorted(screen.again)],
    )
    rows = _rows(connection, batch, screen, ids, since, times, run_id)
    duplicates.put_many(connection, [rows[place] for place in sorted(screen.found)])
    return {place: as_duplicate(rows[place]) for place in sorted(rows)}


def _rows(
    connection: Connection,
    batch: PreparedBatch,
    screen: DuplicateChecker,
    ids: Mapping[bytes, int],
    since: list[int],
    times: list[int],
    run_id: int,
) -> dict[int, DuplicateRow]:
    """Return the rows of the duplicates of a batch by their places."""
    originals = {one.document_id for one in screen.found.values() if one.document_id is not None}
    # Some may have left since.
    key_of = {row.document_id: key for key, row in screen.stored.items()}
    key_of |= documents.keys_of(connection, sorted(originals - key_of.keys()))
    rows = {place: screen.known[batch.keys[place]] for place in screen.again}
    for place, one in screen.found.items():
        key = batch.keys[place]
        # Earlier sights of the key: as a duplicate, as a document that is stored or leaves. The
        # record of a flagged document may be of a time before it was stored.
        earlier: list[DuplicateRow | Times] = []
        known = screen.known.get(key)
        if known is not None and known.state != "flagged":
            earlier.append(known)
        if key in screen.stored:
            earlier.append(screen.stored[key].times)
        if one.place is not None:
            original_key = batch.keys[one.place]
            original_id = ids[original_key]
        else:
            original_id = one.document_id or 0
            original_key = key_of[original_id]
        state = "skipped" if screen.skips else "flagged"
        if place in screen.orphans or place in screen.uncovered:
            state = "orphaned" if place in screen.orphans else "uncovered"
        rows[place] = DuplicateRow(
            key=key,
            digest=batch.digests[place],
            state=state,
            document_id=None if screen.skips else ids[key],
            original_id=None if state == "orphaned" else original_id,
            original_key=original_key,
            distance=one.distance,
            resemblance=one.resemblance or 0.0,
            basis=one.basis,
            run_id=run_id,
            first_seen=min([since[place], *(one.first_seen for one in earlier)]),
            last_seen=max([times[place], *(one.last_seen for one in earlier)]),
        )
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome:
    """The outcome of a batch for each of its documents.

    Attributes:
        outcomes: One a document, in their order.
        duplicates: Place of a document to the key of the earliest other with its content.
        found: Place of a document to what a check before the insert found that it duplicates;
            ascending.
        renewed: Keys that were added, got another text, or duplicate another by now.
        orphans: Keys that were skipped because of documents which have gone.
        uncovered: Keys that were skipped because of documents whose new text does not cover the
            former one.
        unflagged: Keys of documents that were flagged because of those, and are originals now.
        lets_go: Whether a key was one of these at some time, if only until it came again.
        displaced: Place of a document to stored ones that were originals and duplicate it by now:
            by the rule of the original it comes before them.
        retold: Keys of documents that duplicate others than before, and what is known of them.
        repeated: Places of documents that replace what the same run put under their key.
    """

    outcomes: tuple[Outcome, ...]
    duplicates: Mapping[int, bytes]
    found: Mapping[int, Duplicate] = field(default_factory=dict)
    renewed: frozenset[bytes] = frozenset()
    orphans: frozenset[bytes] = frozenset()
    uncovered: frozenset[bytes] = frozenset()
    unflagged: frozenset[bytes] = frozenset()
    lets_go: bool = False
    displaced: Mapping[int, tuple[Duplicate, ...]] = field(default_factory=dict)
    retold: Mapping[bytes, Duplicate] = field(default_factory=dict)
    repeated: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        """Return how many documents were dealt with: the first of the batch, or all."""
        return len(self.outcomes)


def store_batch(
    snapshot: Snapshot,
    batch: PreparedBatch,
    *,
    run_id: int,
    seen_at: int,
    source_ids: Mapping[int, int] | None = None,
    check: DuplicateRule | None = None,
) -> BatchOutcome:
    """Add, update or leave each document, as if one after the other.

    A document that makes duplicates of others ends what is done: :attr:`BatchOutcome.count` says
    how many were dealt with.

    Args:
        snapshot: The store in the writer's transaction, as it is now.
        batch: The documents, prepared with the scheme of ``state``.
        run_id: The ingest run.
        seen_at: The time, when documents were seen that have no date of their own.
        source_ids: Source of each document by its place in the batch; none: from no source.
        check: What is done with duplicates; then no key occurs twice. None: they are not looked
            for.
    """
    connection = snapshot.connection
    make_screen = None
    if check is not None:
        make_screen = partial(DuplicateChecker, snapshot, batch, options=check, now=seen_at)
    decisions = decide(connection, batch, source_ids or {}, make_screen, now=seen_at, run_id=run_id)
    screen = decisions.screen
    unsettled = None if screen is None else screen.unsettled
    batch = batch.part(0, len(decisions.outcomes))
    known = batch_history.known_duplicates(snapshot, decisions)
    first_seen = batch_history.first_sights(known)
    changing = let_go(snapshot, batch, decisions)
    leaving = remove_rows(snapshot, decisions.left)
    orphans, uncovered = set(leaving.orphans), set(changing.uncovered)
    unflagged = {*changing.unflagged.values(), *leaving.unflagged.values()}
    histories = batch_history.tell(batch, decisions, seen_at, first_seen)
    ids = {k: final.stored.document_id for k, final in decisions.finals.items() if final.stored}
    changed = {k: final for k, final in decisions.finals.items() if final.place is not None}
    put_times(
        connection,
        {ids[key]: one.times for key, one in histories.items() if key not in changed},
    )
    if changed:
        ids |= _write(snapshot, batch, changed, ids, histories, run_id=run_id)
    batch_history.write(connection, histories, ids)
    note_changes(snapshot, _moved_digests(changed, histories))
    forget_digests(snapshot, {one.stored.digest for one in changed.values() if one.stored})
    _write_seen(connection, decisions, changed, ids)
    moved = [
        (k, one.times.first_seen, one.times.last_seen) for k, one in histories.items() if one.moved
    ]
    if moved and snapshot.settings.has_duplicates:
        # A flagged document and what it duplicates agree on its first sight.
        duplicates.touch_many(connection, moved)
    found = write_found(connection, batch, screen, ids, run_id=run_id, seen_at=seen_at)
    if screen is not None:
        orphans.update(batch.keys[place] for place in screen.orphans)
        uncovered.update(batch.keys[place] for place in screen.uncovered)
        unflagged.update(batch.keys[place] for place in screen.unflagged)
    settled = ReassignedOriginals()
    if check is not None and unsettled is not None:
        document_id = ids[batch.keys[unsettled]]
        snapshot = snapshot.store.snapshot(connection)
        settled = settle(snapshot, document_id, check, run_id=run_id)
        unflagged |= settled.unflagged
        displaced = {encode(one.key) for one in settled.displaced}
        decisions.renewed.update(displaced)
        unflagged -= displaced
    return BatchOutcome(
        outcomes=tuple(decisions.outcomes),
        duplicates=decisions.duplicates,
        found=found,
        renewed=frozenset(decisions.renewed),
        orphans=frozenset(orphans),
        uncovered=frozenset(uncovered),
        unflagged=frozenset(unflagged),
        lets_go=bool(orphans or uncovered or unflagged)
        or unsettled is not None
        or comes_again(known, decisions),
        displaced={unsettled: settled.displaced}
        if unsettled is not None and settled.displaced
        else {},
        retold=settled.retold,
        repeated=frozenset(decisions.repeated),
    )


def _write(
    snapshot: Snapshot,
    batch: PreparedBatch,
    changed: Mapping[bytes, FinalDocument],
    stored_ids: Mapping[bytes, int],
    histories: Mapping[bytes, KeyHistory],
    *,
    run_id: int,
) -> dict[bytes, int]:
    """Write the documents that are new or changed; return the numbers of the new ones."""
    connection = snapshot.connection
    rows = {
        key: _columns(batch, key, final, run_id) | histories[key].times.columns()
        for key, final in changed.items()
    }
    new = [key for key, final in changed.items() if final.stored is None]
    new_ids = documents.insert_many(connection, [rows[key] for key in new])
    added = dict(zip(new, new_ids, strict=True))
    ids = {**stored_ids, **added}
    recounted = sorted(
        (key for key, final in changed.items() if _features_changed(snapshot, final)),
        key=ids.__getitem__,
    )
    replaced = [ids[key] for key in recounted if changed[key].stored is not None]
    replace_features(snapshot, batch, replaced, {
        ids[key]: changed[key].place or 0 for key in recounted
    })  # fmt: skip
    documents.update_many(
        connection,
        [rows[k] | {"document_id": ids[k]} for k, final in changed.items() if final.stored],
    )
    if batch.packed_texts:
        texts = [(ids[key], batch.packed_texts[changed[key].place or 0]) for key in recounted]
        documents.put_texts(connection, texts, replacing=replaced)
    return added


def _moved_digests(
    changed: Mapping[bytes, FinalDocument], histories: Mapping[bytes, KeyHistory]
) -> set[bytes]:
    """Return the texts of which a document is new, other than before, or was first seen earlier."""
    digests = {final.digest for final in changed.values()}
    digests.update(final.stored.digest for final in changed.values() if final.stored)
    digests.update(one.digest for one in histories.values() if one.moved)
    return digests


def _features_changed(state: State, final: FinalDocument) -> bool:
    """Return whether a document's features may be others than before the batch."""
    if final.content_changed or final.stored is None:
        return True
    return state.scheme.reads_metadata and final.stored.metadata != final.metadata


def _write_seen(
    connection: Connection,
    decisions: Decisions,
    changed: Mapping[bytes, FinalDocument],
    ids: Mapping[bytes, int],
) -> None:
    """Remember what was seen where, other than where the documents were taken from."""
    taken = [(final.source_id, final.position) for final in changed.values()]
    runs.drop_seen(connection, taken)
    runs.put_seen(
        connection,
        {
            origin: (ids[key], digest)
            for origin, (key, digest) in decisions.seen.items()
            if (decisions.finals[key].source_id, decisions.finals[key].position) != origin
        },
    )


def _columns(batch: PreparedBatch, key: bytes, final: FinalDocument, run_id: int) -> dict[str, Any]:
    place = final.place or 0
    return {
        "key": key,
        "digest": final.digest,
        **final.labels.by_name(),
        "metadata": final.metadata,
        "source_id": final.source_id,
        "run_id": run_id,
        "position": final.position,
        "byte_offset": batch.documents[place].byte_offset,
        "byte_count": batch.sizes[place],
        "token_count": batch.token_counts[place],
        "revision": final.revision,
    }


def replace_features(
    snapshot: Snapshot,
    batch: PreparedBatch,
    replaced: Sequence[int],
    places: Mapping[int, int],
) -> None:
    """Put what was made of the batch's texts in the place of what was made of older content.

    The store's change is counted with it.

    Args:
        snapshot: The store in the writer's transaction.
        batch: The batch.
        replaced: Documents that had other content before.
        places: Document number to its place in the batch.
    """
    connection = snapshot.connection
    rows = list(places.values())
    feature_ids = np.empty(0, np.int64)
    if batch.changes and 2 * len(rows) > len(batch.documents):
        _record_changes(snapshot, batch, set(rows), replaced)
    elif snapshot.records_vocabulary:
        counts = _counts(snapshot, batch, rows)
        feature_ids = feature_counts.change_vocabulary(snapshot, added=counts, removed=replaced)
        if snapshot.keeps_counts:
            feature_counts.write_counts(
                connection,
                snapshot.scheme_id,
                feature_ids,
                counts,
                list(places),
                replacing=replaced,
            )
    if replaced:
        for part in every_part():
            part.drop(connection, replaced)
    if batch.passages:
        passages.drop_many(connection, replaced)
        indexed = [(number, batch.passages[place]) for number, place in places.items()]
        passages.put_many(connection, indexed)
    if places:
        generations.note_change(connection)
    added = AddedTexts(
        batch=batch,
        places=places,
        feature_ids=feature_ids,
        counts=lambda: _counts(snapshot, batch, rows),
    )
    for part in parts_of(snapshot):
        part.put(snapshot, added)


def _record_changes(
    snapshot: Snapshot, batch: PreparedBatch, written: set[int], replaced: Sequence[int]
) -> None:
    """Append what a batch changes in the vocabulary, without what is not written of it."""
    changes = list(batch.changes)
    left_out = [place for place in range(len(batch.documents)) if place not in written]
    if left_out:
        changes.append(feature_counts.pack_change(_counts(snapshot, batch, left_out), sign=-1))
    deltas.add_summed(snapshot.connection, snapshot.scheme_id, changes)
    feature_counts.change_vocabulary(snapshot, removed=replaced)


def _counts(state: State, batch: PreparedBatch, places: Sequence[int]) -> FeatureCounts:
    """Return the feature counts of some documents of a batch, with the terms that occur in them."""
    counts = batch.counts
    if counts is None:
        chosen = [batch.documents[place] for place in places]
        return state.scheme.count([one.text for one in chosen], [one.metadata for one in chosen])
    if list(places) == list(range(len(counts))):
        return counts
    picked = assemble([counts.row(place) for place in places])
    used, columns = np.unique(picked.columns, return_inverse=True)
    return replace(
        picked, terms=tuple(counts.terms[column] for column in used.tolist()), columns=columns
    )
