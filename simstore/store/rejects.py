"""The namespace ``store.rejects``: records that could not be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simstore.errors import check_numbers
from simstore.model import IngestSummary, Results, StoredRejection
from simstore.model.results import Listed
from simstore.sources.reader import ReadOptions
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.services.ingest.ingest import IngestOptions, Observer


class Rejects(Namespace, Listed[StoredRejection]):
    """Records that could not be stored, in ``store.rejects``.

    ``for record in store.rejects`` reads them, the oldest first.
    """

    _NAMED = "reject_id"

    def __len__(self) -> int:
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            return runs.reject_count(connection)

    def list(
        self, reject_id: int | None = None, *, limit: int | None = None, after: int = 0
    ) -> Results[StoredRejection]:
        """Return the records that could not be stored, or one of them.

        >>> store.rejects.list()
        []

        Args:
            reject_id: Its number; None: all, the oldest first.
            limit: Most of them; None: all.
            after: Only those with larger numbers, for the next ones after a
                limit.
        """
        from simstore.storage import runs

        check_numbers(number=reject_id, limit=limit, after=after)
        with self._opened.database.read() as connection:
            found = runs.rejections(connection, reject_id, limit=limit, after=after)
        return Results(found, of=StoredRejection)

    def retry(
        self,
        *reject_ids: int,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
    ) -> IngestSummary:
        """Read rejected records again, and store what can be used now.

        >>> store.rejects.retry().added
        0

        Args:
            reject_ids: Their numbers; none: all.
            read: How to read.
            options: How to ingest.
            observer: What hears of it.

        Returns:
            As of :meth:`Store.ingest`.

        Raises:
            NotFound: A number is not there; then nothing is read.
            MalformedRecord: ``options.strict`` and a record cannot be used.
        """
        self._check_takes_documents()
        from simstore.services.ingest.ingest import IngestOptions, Observer
        from simstore.services.ingest.retry import retry_rejections

        return retry_rejections(
            self._opened,
            reject_ids,
            self._read_options(read),
            options or IngestOptions(),
            observer or Observer(),
        )

    def clear(self) -> int:
        """Forget the records that could not be stored; return how many there were.

        >>> store.rejects.clear()
        0
        """
        from simstore.storage import runs

        with self._opened.write() as connection:
            return runs.clear_rejections(connection)
