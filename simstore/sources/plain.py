"""Plain text files: one document a file, its path the key."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

from simstore.model import Document, Rejection
from simstore.sources.reader import ReadOptions, ReadRequest
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
    options = ReadOptions(max_document_bytes=max_document_bytes)
    data = read_whole(stream, ReadRequest(name, options=options))
    if isinstance(data, Rejection):
        yield data
        return
    yield Document(name, decode(data), position=0, byte_offset=0, end_offset=len(data))


def read_whole(stream: BufferedReader, request: ReadRequest) -> bytes | Rejection:
    """Return all bytes of a source that is one document; or why they are refused.

    They are refused where they cannot be decompressed to their end, or are more than the limit.
    """
    name, limit = request.name, request.options.max_document_bytes
    parts = []
    size = 0
    try:
        while data := stream.read1(1 << 20):
            if limit is None or size <= limit:
                parts.append(data)
            size += len(data)
    except DamagedStream as error:
        return Rejection(name, 0, 0, size, error.reason, b"".join(parts)[:HEAD_BYTES])
    whole = b"".join(parts)
    if limit is not None and size > limit:
        reason = f"the file has {size:,} bytes, more than the limit of {limit:,}"
        return Rejection(name, 0, 0, size, reason, whole[:HEAD_BYTES])
    return whole
