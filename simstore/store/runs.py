"""The namespace ``store.runs``: recorded ingest and query runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simstore.errors import NotFound, check_numbers
from simstore.model import IngestRun, RecordedQuery, Results, RunDetails
from simstore.model.results import Listed
from simstore.store.opened import Namespace
from simstore.text.decoding import exact_text

if TYPE_CHECKING:
    from simstore.services.ingest.writer import Writer


class Runs(Namespace, Listed[IngestRun]):
    """Recorded runs of ingests and queries, in ``store.runs``.

    ``for run in store.runs`` reads those of ingest and removal, the newest
    first; :meth:`query` those of queries.
    """

    _NAMED = "run_id"

    def _all(self) -> Results[IngestRun]:
        return self._latest(None)

    def __len__(self) -> int:
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            return runs.count(connection)

    def ingest(self, limit: int = 20) -> Results[IngestRun]:
        """Return the latest runs of ingest and removal, the newest first.

        >>> [run.kind for run in store.runs.ingest(limit=2)]
        ['ingest', 'ingest']

        Args:
            limit: At most so many.
        """
        check_numbers(limit=limit)
        return self._latest(limit)

    def show(self, run_id: int) -> RunDetails:
        """Return a run of ingest or removal, with the keys that it removed.

        >>> store.runs.show(1).run.kind
        'ingest'

        Args:
            run_id: Its number.

        Raises:
            NotFound: There is none.
        """
        from simstore.storage import runs

        check_numbers(run_id=run_id)
        with self._opened.database.read() as connection:
            found = runs.run(connection, run_id)
            if found is None:
                raise NotFound(f"run {run_id} is not recorded; `simstore runs` lists the latest")
            keys = tuple(map(exact_text, runs.removed_keys(connection, run_id)))
        return RunDetails(run=IngestRun.of_record(found), removed_keys=keys)

    def _latest(self, limit: int | None) -> Results[IngestRun]:
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            found = runs.recent_runs(connection, limit)
        return Results(map(IngestRun.of_record, found), of=IngestRun)

    def query(self, limit: int = 20) -> Results[RecordedQuery]:
        """Return the latest query runs, the newest first.

        >>> run = store.query_many([text], record=True)
        >>> [run.sample_count for run in store.runs.query()]
        [1]

        Args:
            limit: At most so many.
        """
        from simstore.storage import queries

        check_numbers(limit=limit)
        with self._opened.database.read() as connection:
            found = queries.recent_runs(connection, limit)
        return Results(map(RecordedQuery.of_record, found), of=RecordedQuery)

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Yield a writer for a process that takes requests: one ingest run.

        >>> from simstore import Document, WriteRequest
        >>> with store.runs.writer() as writer:
        ...     request = WriteRequest((Document("soup", "Boil the bones."),))
        ...     (reply,) = writer.write([request])

        Raises:
            InvalidParameter: The store holds fingerprints alone.
        """
        self._check_takes_documents()
        from simstore.services.ingest.writer import Writer

        writer = Writer(self._opened)
        try:
            yield writer
        finally:
            writer.close()
