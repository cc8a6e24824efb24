"""Expire documents: remove those that were not seen since a given time."""

from __future__ import annotations

from simstore.errors import InvalidParameter
from simstore.model import DocumentFilter, ExpireSummary, Progress, TimeOrAge
from simstore.model.times import moment_given
from simstore.services.open_store.open_store import OpenStore, now
from simstore.services.removal.remove import (
    BATCH_DOCUMENTS,
    RemovalRun,
    recorded,
    refresh_live,
    remove_batch,
)
from simstore.storage import documents, duplicates
from simstore.storage.rows import chunks
from simstore.text.decoding import exact_text

# Numbers of documents that are read at a time.
_READ_NUMBERS = 100_000


def expire_documents(
    opened: OpenStore,
    not_seen_since: TimeOrAge,
    *,
    wanted: DocumentFilter,
    dry_run: bool = False,
    refresh_after: bool = True,
    batch_documents: int = BATCH_DOCUMENTS,
    on_progress: Progress | None = None,
    on_refresh: Progress | None = None,
) -> ExpireSummary:
    """Remove the documents that were not seen since a time, in batches.

    A batch is a transaction: a process that is killed has removed whole batches, and the same call
    again goes on. What is seen again meanwhile stays. The expiry is recorded as a run, whatever it
    removes.

    Args:
        opened: The store.
        not_seen_since: What was last seen before it expires; an age is counted from now.
        wanted: Only these documents; keys that were skipped are only meant where all are.
        dry_run: Only count; no orphans are told.
        refresh_after: Refresh a live store at the end.
        batch_documents: Most documents a transaction.
        on_progress: Called after each batch, with documents done and in all.
        on_refresh: Called while the store is refreshed, with documents done and in all.

    Raises:
        InvalidParameter: A batch would be empty, or the time is none.
        ReindexInProgress: The store is between two schemes.
    """
    if batch_documents < 1:
        raise InvalidParameter(f"batches of {batch_documents}: there must be at least 1")
    since = moment_given("not_seen_since", not_seen_since, now=now())
    with opened.database.read() as connection:
        total = documents.count_unseen(connection, since, wanted)
        if dry_run:
            skipped = 0 if wanted.chosen else duplicates.count_older(connection, since)
            return ExpireSummary(
                since=since, removed=total, forgotten=skipped, orphans=(), dry_run=True
            )
    going_by = RemovalRun(kind="expire", not_seen_since=since, wanted=wanted)
    with recorded(opened, going_by) as run:
        forgotten = 0
        # Before the documents: what is forgotten is no orphan.
        while not wanted.chosen:
            with opened.write() as connection:
                some = duplicates.delete_older(connection, since, batch_documents)
                if some:
                    run.count(connection, some, ends_run=False)
            forgotten += len(some)
            if len(some) < batch_documents:
                break
        removed = after = done = 0
        orphans: list[bytes] = []
        unflagged: set[int] = set()
        while True:
            with opened.database.read() as connection:
                numbers = documents.unseen(connection, since, wanted, after, _READ_NUMBERS)
            if not numbers:
                break
            for part in chunks(numbers, batch_documents):
                with opened.write() as connection:
                    ids = documents.unseen_among(connection, part, since)
                    keys = documents.keys_of(connection, ids).values()
                    let_go = remove_batch(opened.snapshot(connection), ids)
                    run.count(connection, keys, ends_run=False)
                orphans += let_go.orphans
                # Some may expire after what they duplicate.
                unflagged = (unflagged | let_go.unflagged.keys()) - set(ids)
                removed += len(ids)
                done += len(part)
                if on_progress is not None:
                    on_progress(done, max(total, done))
            after = numbers[-1]
        with opened.write() as connection:
            run.count(connection, (), ends_run=True)
    refresh_live(opened, refresh_after=refresh_after, on_refresh=on_refresh)
    return ExpireSummary(
        since=since,
        removed=removed,
        forgotten=forgotten,
        orphans=tuple(exact_text(key) for key in sorted(orphans)),
        unflagged=len(unflagged),
    )
