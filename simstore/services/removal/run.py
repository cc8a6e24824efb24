"""Record each removal of documents as a run (start, conditions, counts), as for an ingest."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from simstore.errors import StorageError
from simstore.model import DocumentFilter
from simstore.services.open_store.open_store import OpenStore, now
from simstore.storage import runs
from simstore.storage.engine import Connection
from simstore.storage.runs import RunKind
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
