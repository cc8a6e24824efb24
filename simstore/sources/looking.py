"""Looking ahead: which reader reads a stream that has no file behind it, and reading with it."""

from __future__ import annotations

import io
from collections.abc import Iterator

from simstore.sources.reader import Reader, ReadOptions, ReadRequest
from simstore.sources.registry import choose_reader
from simstore.sources.source import Record
from simstore.sources.streams import sought
from simstore.sources.unpacking import DamagedStream, prefixed

# Bytes at a source's beginning that tell its format, and its identity.
HEAD = 65_536
_PIECE = 1 << 20


def look_ahead(
    stream: io.BufferedReader, name: str, options: ReadOptions
) -> tuple[Reader, bytes, io.BufferedReader]:
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


def read_with(reader: Reader, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the records of a stream; one that must be sought becomes a file."""
    if not reader.needs_file:
        yield from reader.read(stream, request)
        return
    with sought(stream, request.name) as file:
        yield from reader.read(file, request)


def reader_label(reader: str, options: ReadOptions) -> str:
    """Return a name for a reader and its options: what another one reads is read anew."""
    fields = f"{options.key_field} {options.text_field}"
    if options.history_fields:
        history = options.history_fields
        fields += f" {history.seen} {history.published} {history.links}"
    if options.extract != "main":
        fields += f" {options.extract}"
    if options.encoding != "keep":
        fields += f" {options.encoding}"
    return f"{reader} {options.max_document_bytes} {fields}"[:200]
