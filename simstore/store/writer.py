"""A writer that stays open, for a process that serves many small requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.services.ingest.writer import Writer


class WriterMixin(Opened):
    """Requests of many, written several to a transaction."""

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Yield a writer for as long as a process takes requests; one ingest run tells of it.

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
