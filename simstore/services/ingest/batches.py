"""Store one batch of documents in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from simstore.fingerprint.features import FeatureCounts, assemble
from simstore.model import Duplicate, Outcome
from simstore.services.channels.store_part import AddedTexts, every_part, parts_of
from simstore.services.clusters.changes import forget_digests, note_changes
from simstore.services.features import feature_counts
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest import batch_history
from simstore.services.ingest.batch_history import KeyHistory
from simstore.services.ingest.decisions import Decisions, FinalDocument, decide
from simstore.services.ingest.duplicate_checker import DuplicateChecker, DuplicateRule
from simstore.services.ingest.duplicate_records import comes_again, let_go, write_found
from simstore.services.ingest.later_originals import ReassignedOriginals, settle
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import State
from simstore.services.removal.remove import remove_rows
from simstore.storage import deltas, documents, duplicates, generations, passages, runs
from simstore.storage.engine import Connection
from simstore.storage.history import put_times
from simstore.text.decoding import encode


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
