"""Looking ahead: which reader reads a stream that has no file behind it, and reading with it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import nullcontext

from simstore.model import Document, Ignored, Rejection
from simstore.sources.documents import as_stored
from simstore.sources.reader import ReadOptions, ReadRequest, SourceReader
from simstore.sources.registry import choose_reader
from simstore.sources.source import Record
from simstore.sources.streams import sought
from simstore.sources.unpacking import DamagedStream, prefixed

# Bytes at a source's beginning that tell its format, and its identity.
HEAD = 65_536
# Why a source without a byte is passed over.
IS_EMPTY = "it is empty"
# Readers of plain text: whether they keep bytes that are not UTF-8 changes what they read.
_MAY_KEEP_BYTES = ("text", "markdown", "lines", "articles")
_PIECE = 1 << 20


def look_ahead(
    stream: io.BufferedReader, name: str, options: ReadOptions
) -> tuple[SourceReader, bytes, io.BufferedReader]:
    """Return the reader of a stream, its first bytes, and the stream from its start.

    To find a form feed, as much is read as a document may have.
    """
    damage: DamagedStream | None = None
    ended = False
    parts = bytearray()

    def read_on() -> bytes:
        nonlocal damage, ended
        data = b""
        if not ended:
            try:
                data = stream.read1(_PIECE)
            except DamagedStream as error:
                damage = error
            ended = not data
            parts.extend(data)
        return data

    def holds_form_feed() -> bool:
        if b"\f" in parts:
            return True
        limit = options.max_document_bytes
        while (limit is None or len(parts) <= limit) and (data := read_on()):
            if b"\f" in data:
                return True
        return False

    while len(parts) < HEAD and read_on():
        pass
    head = bytes(parts[:HEAD])
    reader = choose_reader(name, head, options, holds_form_feed)
    return reader, head, prefixed(bytes(parts), stream, damage)


def read_with(
    reader: SourceReader, stream: io.BufferedReader, request: ReadRequest
) -> Iterator[Record]:
    """Yield the records of a stream; one that must be sought becomes a file.

    A source that holds nothing, or no record, is told as passed over.

    Raises:
        DamagedStream: The bytes break off before the first record that is wanted.
    """
    if not request.head and not request.position and not stream.peek(1):
        yield Ignored(request.name, 0, 0, 0, IS_EMPTY, is_source=True)
        return
    found = False
    with sought(stream, request.name) if reader.needs_file else nullcontext(stream) as opened:
        for record in reader.read(opened, request):
            found = True
            yield _as_stored(record, request.name)
    if not found and not request.position:
        yield Ignored(request.name, 0, 0, 0, "no document in it", is_source=True)


def _as_stored(record: Record, name: str) -> Record:
    """Return a record; where it is a document that cannot be stored, its rejection."""
    if not isinstance(record, Document):
        return record
    try:
        return as_stored(record)
    except ValueError as error:
        return Rejection(
            name, record.position or 0, record.byte_offset or 0, record.end_offset or 0,
            str(error),
        )  # fmt: skip


def reader_label(reader: str, options: ReadOptions) -> str:
    """Return a name for a reader and its options: what another one reads is read anew."""
    fields = f"{options.key_field} {options.text_field}"
    if options.history_fields:
        history = options.history_fields
        fields += f" {history.seen} {history.published} {history.links}"
    if options.extract != "main":
        fields += f" {options.extract}"
    if options.named_encoding is not None:
        fields += f" {options.named_encoding}"
    elif reader in _MAY_KEEP_BYTES and not options.keeps_bytes:
        fields += " auto"
    return f"{reader} {options.max_document_bytes} {fields}"[:200]
