"""The protocol of a source: an ordered sequence of records that can be resumed anywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from simstore.errors import SourceNotFound, UnreadableSource
from simstore.model import Document, Ignored, Rejection, SourceState

T = TypeVar("T")

MAX_DOCUMENT_BYTES = 8 << 20
# Decompressed bytes a compressed one, on the whole; never fewer than so many in all.
MAX_EXPANSION = 200
LEAST_EXPANDED_BYTES = 100_000_000
HEAD_BYTES = 200

Record = Document | Rejection | Ignored


class Source(Protocol):
    """A source of records, in a fixed order."""

    # The name under which the store remembers it; bytes that are not UTF-8 are escaped.
    name: str

    @property
    def total_bytes(self) -> int | None:
        """Size in bytes as stored (perhaps compressed); None where it is not known."""

    @property
    def bytes_read(self) -> int:
        """Stored bytes read so far; 0 for a member of an archive, whose bytes are the archive's."""

    def state(self) -> SourceState:
        """Return its identity, at position 0."""

    def has_grown(self, known: SourceState) -> bool:
        """Return whether it is what was known, with more records behind those that were read."""

    def members(self, position: int = 0, byte_offset: int = 0) -> Iterator[Member] | None:
        """Return the members of an archive from number ``position`` on; None: it is no archive.

        A member is read before the next is asked for.

        Raises:
            SourceNotFound: It has gone.
            UnreadableSource: It cannot be read at all, or breaks off.
        """

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:
        """Yield the records from ``position`` on, which begins at ``byte_offset``.

        Of an archive: the records of all its members.

        Raises:
            SourceNotFound: It has gone.
            UnreadableSource: It cannot be read at all.
        """


class PlainSource:
    """A base of sources that are written as a whole, and are no archives."""

    def has_grown(self, known: SourceState) -> bool:  # noqa: ARG002 - as for other sources
        """Return False."""
        return False

    def members(self, position: int = 0, byte_offset: int = 0) -> None:  # noqa: ARG002
        """Return None."""
        return


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive.

    Attributes:
        number: Its number in the archive, from 0; folders count.
        byte_offset: Where it begins in the (decompressed) archive.
        end_offset: Where the next one begins.
        source: The file; or why it is not read.
    """

    number: int
    byte_offset: int
    end_offset: int
    source: Source | Rejection | Ignored


def read_so_far(sources: Sequence[Source]) -> tuple[int, int | None]:
    """Return the bytes that were read of sources, and those in all; None: that is not known."""
    sizes = [source.total_bytes for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    return sum(source.bytes_read for source in sources), total


def told_of(
    results: Iterable[T],
    sources: Sequence[Source],
    on_progress: Callable[[int, int | None], None] | None,
) -> Iterator[T]:
    """Yield results of records of sources, and tell how much of them was read."""
    for result in results:
        if on_progress is not None:
            on_progress(*read_so_far(sources))
        yield result


def known_bytes(sources: Sequence[Source]) -> int:
    """Return the total size of the sources whose size is known, as stored (perhaps compressed)."""
    total = 0
    for source in sources:
        with suppress(SourceNotFound, OSError):
            total += source.total_bytes or 0
    return total


def samples_of(
    sources: Sequence[Source], on_pass_over: Callable[[Ignored], None] | None = None
) -> Iterator[Document | Rejection]:
    """Yield the documents of sources, and what was rejected; a source that cannot be read is.

    Args:
        sources: The sources.
        on_pass_over: Called for each part that is no document and shall be none.
    """
    for source in sources:
        position = byte_offset = 0
        try:
            for record in source.records():
                if not isinstance(record, Ignored):
                    yield record
                    position, byte_offset = (record.position or 0) + 1, record.end_offset or 0
                elif on_pass_over is not None:
                    on_pass_over(record)
        except (UnreadableSource, SourceNotFound) as error:
            reason = why_unreadable(error)
            yield Rejection(source.name, position, byte_offset, byte_offset, reason)


def why_unreadable(error: UnreadableSource | SourceNotFound) -> str:
    """Return why a source cannot be read, for its rejection."""
    if isinstance(error, UnreadableSource):
        return error.reason
    return "it is a link to nothing" if os.path.islink(error.name) else "it has gone"
