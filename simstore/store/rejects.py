"""The namespace ``store.rejects``: records that could not be stored."""

from __future__ import annotations

from simstore.errors import check_numbers
from simstore.model import Results, StoredRejection
from simstore.model.results import Listed
from simstore.store.opened import Namespace


class Rejects(Namespace, Listed[StoredRejection]):
    """Records that could not be stored, in ``store.rejects``.

    ``for record in store.rejects`` reads them, the oldest first.
    """

    _NAMED = "reject_id"

    def __len__(self) -> int:
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            return runs.reject_count(connection)

    def list(self, *, limit: int | None = None, after: int = 0) -> Results[StoredRejection]:
        """Return the records that could not be stored, the oldest first.

        >>> store.rejects.list()
        []

        Args:
            limit: Most of them; None: all.
            after: Only those with larger numbers, for the next ones after a
                limit.
        """
        from simstore.storage import runs

        check_numbers(limit=limit, after=after)
        with self._opened.database.read() as connection:
            found = runs.rejections(connection, limit=limit, after=after)
        return Results(found, of=StoredRejection)

    def clear(self) -> int:
        """Forget the records that could not be stored; return how many there were.

        >>> store.rejects.clear()
        0
        """
        from simstore.storage import runs

        with self._opened.write() as connection:
            return runs.clear_rejections(connection)
