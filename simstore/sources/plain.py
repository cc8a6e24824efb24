"""Read plain text and Markdown files: one document a file, with the path as its key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from io import BufferedReader

from simstore.model import Document, Rejection
from simstore.sources.encoding_detection import decoded
from simstore.sources.encodings import declared_encoding, decoded_as, has_wide_mark
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import decode

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:.*\n)*?\1[ \t]*(?:\r?\n|$)")


def read(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield a plain text as a document whose key is the file's name.

    What is not UTF-8 is read in the encoding that a byte order mark or the text itself declares,
    or that it is recognised to be in; where that is not certain, it is rejected. Where an encoding
    is named, the text is read in it. The metadata tell it: ``encoding``, ``encoding_detected`` and
    ``replaced_bytes``. Where bytes are to be kept, they are surrogate escapes (PEP 383).
    """
    if request.position:
        return
    data = read_whole(stream, request)
    yield data if isinstance(data, Rejection) else plain_document(data, request)


def read_markdown(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield Markdown as a plain text, without the front matter that some programs put before it.

    The markup stays: without it, texts that differ in markup only would be the same.
    """
    for record in read(stream, request):
        if isinstance(record, Document) and (matter := _FRONT_MATTER.match(record.text)):
            yield replace(record, text=record.text[matter.end() :])
        else:
            yield record


def plain_document(data: bytes, request: ReadRequest) -> Document | Rejection:
    """Return the document of a file of text; or why there is none."""
    name, options, size = request.name, request.options, len(data)
    blank = Document(name, "", position=0, byte_offset=0, end_offset=size)
    # An article file of the course is bytes, whatever they look like.
    if options.keeps_bytes and (options.texts_are_articles or not has_wide_mark(data)):
        return replace(blank, text=decode(data))
    if options.named_encoding is not None:
        found = decoded_as(data, options.named_encoding)
    else:
        made = decoded(data, declared=declared_encoding(data), is_markup=False)
        if isinstance(made, str):
            return Rejection(name, 0, 0, size, made, data[:HEAD_BYTES])
        found = made
    return replace(blank, text=found.text, metadata=found.metadata)


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
