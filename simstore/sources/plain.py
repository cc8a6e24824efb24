"""Plain text files: one document a file, its path the key."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

from simstore.model import Document, Rejection
from simstore.sources.encodings import decoded, decoded_as, has_wide_mark
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import decode


class PlainReader:
    """Reads a plain text: a document whose key is the file's name.

    Bytes that are not UTF-8 are kept as they are (PEP 383), but for UTF-16 and UTF-32 that begin
    with their byte order mark. Where an encoding is named, or to be recognised, the text is read
    so, and ``encoding`` and ``replaced_bytes`` are kept as metadata.
    """

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
            return
        data = read_whole(stream, request)
        if isinstance(data, Rejection):
            yield data
            return
        yield plain_document(data, request)


def plain_document(data: bytes, request: ReadRequest) -> Document:
    """Return the document of a file of text."""
    options = request.options
    encoding = options.encoding
    if encoding == "keep" and not options.texts_are_articles:
        encoding = "auto" if has_wide_mark(data) else encoding
    if encoding == "keep":
        text, metadata = decode(data), {}
    else:
        found = decoded(data) if encoding == "auto" else decoded_as(data, encoding)
        text, metadata = found.text, found.metadata
    return Document(
        request.name, text, metadata=metadata, position=0, byte_offset=0, end_offset=len(data)
    )


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
