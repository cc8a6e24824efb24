"""Update the records of duplicates for a batch: write new ones, release outdated ones."""

from __future__ import annotations

from collections.abc import Mapping

from simstore.model import Duplicate
from simstore.services.duplicates.duplicates import as_duplicate, uncover
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest.decisions import Decisions
from simstore.services.ingest.duplicate_checker import DuplicateChecker
from simstore.services.open_store.open_store import Snapshot
from simstore.sources.seen_since import claim
from simstore.storage import documents, duplicates
from simstore.storage.documents import Times
from simstore.storage.duplicates import DuplicateRow, ReleasedDuplicates
from simstore.storage.engine import Connection


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
        # What is known of the key: as a duplicate, as a document that is stored or leaves. The
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
