"""Methods of the store: removal and expiry of documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simstore.model import ExpireSummary
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.services.generations.refresh import Progress


class RemovalMixin(Opened):
    """Documents leave."""

    def remove(
        self,
        *keys: str,
        missing_ok: bool = False,
        refresh: bool = True,
        on_progress: Progress | None = None,
        on_refresh: Progress | None = None,
        on_orphan: Callable[[str], None] | None = None,
        on_unflagged: Callable[[str], None] | None = None,
    ) -> int:
        """Remove documents, in batches that are durable one by one; return how many.

        Args:
            keys: Keys; a repeated one counts once.
            missing_ok: Pass over keys that are not there.
            refresh: Refresh a live store at the end.
            on_progress: Called with keys done and in all.
            on_refresh: Called with documents refreshed and in all.
            on_orphan: Called with each key that was skipped as a duplicate of one that is removed.
            on_unflagged: Called with each key that stays, and was flagged as a duplicate of one
                that is removed: it is an original now.

        Raises:
            DocumentNotFound: A key is not there; then nothing is removed.
        """
        from simstore.services.removal.remove import remove_documents

        return remove_documents(
            self._opened,
            keys,
            missing_ok=missing_ok,
            refresh_after=refresh,
            on_progress=on_progress,
            on_refresh=on_refresh,
            on_orphan=on_orphan,
            on_unflagged=on_unflagged,
        )

    def expire(
        self,
        *,
        not_seen_since: int | None = None,
        older_than: int | None = None,
        collection: str | None = None,
        dry_run: bool = False,
        refresh: bool = True,
        batch_documents: int | None = None,
        on_progress: Progress | None = None,
        on_refresh: Progress | None = None,
    ) -> ExpireSummary:
        """Remove what was not seen since a time, in batches that are durable one by one.

        Args:
            not_seen_since: The time, in seconds since 1970-01-01 UTC.
            older_than: Or so many seconds before now.
            collection: Only documents of this collection.
            dry_run: Only count.
            refresh: Refresh a live store at the end.
            batch_documents: Most documents a transaction; None: 8,000.
            on_progress: Called with documents done and in all.
            on_refresh: Called with documents refreshed and in all.

        Raises:
            InvalidParameter: Not one of the two times is given.
        """
        from simstore.services.removal.expire import expire_documents, expiry_time
        from simstore.services.removal.remove import BATCH_DOCUMENTS

        return expire_documents(
            self._opened,
            expiry_time(not_seen_since, older_than),
            collection=collection,
            dry_run=dry_run,
            refresh_after=refresh,
            batch_documents=BATCH_DOCUMENTS if batch_documents is None else batch_documents,
            on_progress=on_progress,
            on_refresh=on_refresh,
        )
