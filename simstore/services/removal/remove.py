"""Remove documents and all that is derived from them, such as fingerprints and sketches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from simstore.errors import DocumentNotFound, StorageError
from simstore.model import DocumentFilter, Progress
from simstore.services.clusters.changes import forget_digests, note_changes
from simstore.services.duplicates import duplicates
from simstore.services.features import feature_counts
from simstore.services.generations.refresh import refresh
from simstore.services.open_store.open_store import OpenStore, Snapshot, now
from simstore.storage import deltas, documents, generations, runs
from simstore.storage import duplicates as duplicate_rows
from simstore.storage.duplicates import ReleasedDuplicates
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints
from simstore.storage.rows import chunks
from simstore.storage.runs import RunKind
from simstore.text.decoding import encode, exact_text
from simstore.version import __version__


@dataclass(slots=True, kw_only=True)
class RemovalRun:
    """A removal under way: its conditions, and how much it has removed.

    Attributes:
        not_seen_since: The time that an expiry goes by.
        wanted: The documents that it keeps to.
        run_id: None until its first commit.
        removed: Documents, and skipped keys that were forgotten.
    """

    kind: RunKind
    not_seen_since: int | None = None
    wanted: DocumentFilter | None = None
    run_id: int | None = None
    removed: int = 0
    is_finished: bool = False

    def count(self, connection: Connection, keys: Collection[bytes], *, ends_run: bool) -> None:
        """Record what a transaction removes, within it.

        Args:
            connection: The writer.
            keys: Keys of documents, and skipped keys that are forgotten.
            ends_run: Nothing follows.
        """
        if self.run_id is None:
            self.run_id = runs.begin_run(
                connection,
                [],
                now(),
                __version__,
                kind=self.kind,
                not_seen_since=self.not_seen_since,
                wanted=self.wanted,
            )
        self.removed += len(keys)
        runs.put_removed(connection, self.run_id, keys)
        self.is_finished = ends_run
        finished_at = now() if ends_run else None
        counts = {"removed": self.removed}
        runs.count_in_run(connection, self.run_id, counts, finished_at=finished_at)


@contextmanager
def recorded(opened: OpenStore, run: RemovalRun) -> Iterator[RemovalRun]:
    """Yield a run, and record that it was interrupted where it does not come to its end."""
    try:
        yield run
    finally:
        if run.run_id is not None and not run.is_finished:
            # Where even this cannot be written, the run stays "running".
            with suppress(StorageError), opened.write() as connection:
                runs.end_run(connection, run.run_id, "interrupted", now())


# Documents a transaction: a page of fingerprints that loses several is written once for all.
BATCH_DOCUMENTS = 8_000


def remove_documents(
    opened: OpenStore,
    keys: Sequence[str],
    *,
    missing_ok: bool = False,
    refresh_after: bool = True,
    on_progress: Progress | None = None,
    on_refresh: Progress | None = None,
    on_orphan: Callable[[str], None] | None = None,
    on_unflagged: Callable[[str], None] | None = None,
) -> int:
    """Remove the documents with these keys, in batches, as one run; return how many there were.

    A key that was skipped as a duplicate is forgotten, and counts. A process that is killed has
    removed whole batches.

    Args:
        opened: The store.
        keys: Keys; a repeated one counts once.
        missing_ok: Pass over keys that are not there.
        refresh_after: Refresh a live store at the end.
        on_progress: Called after each batch, with keys done and in all.
        on_refresh: Called while the store is refreshed, with documents done and in all.
        on_orphan: Called with each key that was skipped as a duplicate of one that is removed,
            after the batch is committed.
        on_unflagged: Called with each key that was flagged as a duplicate of one that is removed,
            and stays; after the batch is committed.

    Raises:
        DocumentNotFound: A key is not there; then nothing is removed.
        ReindexInProgress: The store is between two schemes.
    """
    wanted = list(dict.fromkeys(encode(key) for key in keys))
    with opened.database.read() as connection:
        opened.state(connection)
        found = documents.numbers_of(connection, wanted)
        others = [key for key in wanted if key not in found]
        noted = duplicate_rows.by_keys(connection, others)
    for key in others:
        if key not in noted and not missing_ok:
            raise DocumentNotFound(exact_text(key))
    # In the order of ingest, which is that of most tables; what was skipped has none.
    wanted = [*noted, *sorted(found, key=found.__getitem__)]
    going = set(wanted)
    done = 0
    with recorded(opened, RemovalRun(kind="remove")) as run:
        for part in chunks(wanted, BATCH_DOCUMENTS):
            done += len(part)
            with opened.write() as connection:
                # Others may have removed some meanwhile, and added them again.
                gone, let_go = remove_keys(opened.snapshot(connection), part)
                run.count(connection, gone, ends_run=done == len(wanted))
            if on_orphan is not None:
                for orphan in sorted(let_go.orphans):
                    on_orphan(exact_text(orphan))
            if on_unflagged is not None:
                for key in sorted(set(let_go.unflagged.values()) - going):
                    on_unflagged(exact_text(key))
            if on_progress is not None:
                on_progress(done, len(wanted))
    refresh_live(opened, refresh_after=refresh_after, on_refresh=on_refresh)
    return run.removed


def refresh_live(
    opened: OpenStore, *, refresh_after: bool = True, on_refresh: Progress | None = None
) -> None:
    """Refresh a live store that is not fresh any more."""
    with opened.database.read() as connection:
        state = opened.state(connection)
    if refresh_after and state.settings.policy == "live" and not state.is_fresh:
        refresh(opened, on_progress=on_refresh)


def remove_keys(
    snapshot: Snapshot, keys: Sequence[bytes], *, missing_ok: bool = True
) -> tuple[list[bytes], ReleasedDuplicates]:
    """Remove the documents with these keys within a transaction, and forget those skipped.

    Args:
        snapshot: The store in the writer's transaction; the caller commits.
        keys: Keys, each once.
        missing_ok: Pass over keys that are not there.

    Returns:
        Those that were there, and what duplicated them.

    Raises:
        DocumentNotFound: A key is not there; then nothing is removed.
        ReindexInProgress: The store is between two schemes.
    """
    connection = snapshot.connection
    numbers = documents.numbers_of(connection, keys)
    # Before the documents: what is forgotten is no orphan.
    unstored = [key for key in keys if key not in numbers]
    forgotten = duplicate_rows.by_keys(connection, unstored)
    if not missing_ok:
        for key in unstored:
            if key not in forgotten:
                raise DocumentNotFound(exact_text(key))
    duplicate_rows.drop_many(connection, list(forgotten))
    let_go = remove_batch(snapshot, list(numbers.values()))
    return [*numbers, *forgotten], let_go


def remove_batch(snapshot: Snapshot, document_ids: Sequence[int]) -> ReleasedDuplicates:
    """Remove the documents of one transaction; return what duplicated them.

    Raises:
        ReindexInProgress: The store is between two schemes.
    """
    generations.refuse_during_reindex(snapshot.connection)
    let_go = remove_rows(snapshot, document_ids)
    deltas.merge_many(snapshot.connection, snapshot.scheme_id, 1)
    return let_go


def remove_rows(snapshot: Snapshot, document_ids: Sequence[int]) -> ReleasedDuplicates:
    """Remove documents and all data derived from them, within the caller's transaction.

    Their part in the vocabulary, fingerprints, sketches, earlier versions and links go; the texts
    that lost a document are noted for the clusters that are kept, without the digests of those
    that lost their last.

    Args:
        snapshot: The store in the writer's transaction.
        document_ids: Stored documents, in any order, each once.

    Returns:
        What duplicated these documents: nothing stands for what was skipped any more.
    """
    connection = snapshot.connection
    ids = sorted(document_ids)
    if not ids:
        return ReleasedDuplicates()
    let_go = duplicates.orphan(snapshot, ids)
    digests = documents.digests_of(connection, ids)
    note_changes(snapshot, digests)
    feature_counts.change_vocabulary(snapshot, removed=ids)
    fingerprints.unlink_many(connection, ids)
    documents.delete_many(connection, ids)
    forget_digests(snapshot, digests)
    generations.note_change(connection)
    return let_go
