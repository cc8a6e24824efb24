"""Plain text files: one document a file, its path the key."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

from simstore.model import Document, Rejection
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, MAX_DOCUMENT_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import decode


class PlainReader:
    """Reads a plain text; see :func:`read_plain`."""

    name = "text"
    suffixes = ()
    needs_file = False
    record_ends = ()

    def recognises(self, _head: bytes) -> bool:
        """Return False: it is what nothing else is."""
        return False

    def read(self, stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document."""
        if request.position:
            return iter(())
        return read_plain(
            stream, request.name, max_document_bytes=request.options.max_document_bytes
        )


def read_plain(
    stream: BufferedReader, name: str, *, max_document_bytes: int | None = MAX_DOCUMENT_BYTES
) -> Iterator[Record]:
    """Yield a text file as one document whose key is its name.

    A file that cannot be decompressed to its end, or is longer than the limit, is rejected.
    """
    parts = []
    size = 0
    try:
        while data := stream.read1(1 << 20):
            if max_document_bytes is None or size <= max_document_bytes:
                parts.append(data)
            size += len(data)
    except DamagedStream as error:
        yield Rejection(name, 0, 0, size, error.reason, b"".join(parts)[:HEAD_BYTES])
        return
    text = b"".join(parts)
    if max_document_bytes is not None and size > max_document_bytes:
        reason = f"the file has {size:,} bytes, more than the limit of {max_document_bytes:,}"
        yield Rejection(name, 0, 0, size, reason, text[:HEAD_BYTES])
        return
    yield Document(name, decode(text), position=0, byte_offset=0, end_offset=size)
