"""What a source is: a place that gives records in order and can be read on from a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from simstore.model import Document, Rejection, SourceState

MAX_DOCUMENT_BYTES = 8 << 20
HEAD_BYTES = 200

Record = Document | Rejection


class Source(Protocol):
    """A place that gives records in order."""

    @property
    def name(self) -> str:
        """The name under which the store remembers it; bytes that are not UTF-8 are escaped."""

    @property
    def total_bytes(self) -> int | None:
        """Size in bytes as stored (perhaps compressed); None where it is not known."""

    @property
    def bytes_read(self) -> int:
        """Stored bytes read so far."""

    def state(self) -> SourceState:
        """Return its identity, at position 0."""

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:
        """Yield the records from ``position`` on, which begins at ``byte_offset``.

        Raises:
            SourceNotFound: It has gone.
            UnreadableSource: It cannot be read at all.
        """
