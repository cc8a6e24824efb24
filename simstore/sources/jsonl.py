"""JSON Lines: one object a line, with a text, a key and any other fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

from simstore.model import Rejection
from simstore.sources.encodings import UTF8, Decoded, line_end_in, wide_encoding
from simstore.sources.fields import NO_HISTORY, HistoryFields, RecordFields
from simstore.sources.json_values import TOO_DEEP
from simstore.sources.lines import read_line
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, MAX_DOCUMENT_BYTES, Record
from simstore.sources.unpacking import DamagedStream

_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*["}]')
_MARK = "\ufeff"
_BLANKS = " \t\r\n\v\f"


class JsonlReader:
    """Reads JSON Lines; see :func:`read_jsonl`.

    They are UTF-8, but a file of UTF-16 or UTF-32 is read as what it is. Where an encoding is
    named, lines that are not UTF-8 are read in it.
    """

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    needs_file = False
    record_ends = (b"\n", b"\n\0")

    def recognises(self, head: bytes) -> bool:
        """Return whether the bytes begin with an object."""
        if (encoding := wide_encoding(head)) is not None:
            head = head[:HEAD_BYTES].decode(encoding, "replace").removeprefix(_MARK).encode()
        return _BEGINNING.match(head) is not None

    def read(self, stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the records of a file."""
        options = request.options
        return read_jsonl(
            stream,
            request.name,
            position=request.position,
            byte_offset=request.byte_offset,
            max_document_bytes=options.max_document_bytes,
            key_field=options.key_field,
            text_field=options.text_field,
            history_fields=options.history_fields,
            encodings=_encodings(request),
        )


def read_jsonl(
    stream: BufferedReader,
    name: str,
    *,
    position: int = 0,
    byte_offset: int = 0,
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES,
    key_field: str | None = None,
    text_field: str | None = None,
    history_fields: HistoryFields = NO_HISTORY,
    encodings: tuple[str, ...] = (UTF8,),
) -> Iterator[Record]:
    """Yield the records of a JSON Lines file.

    What the fields mean: :class:`~.fields.RecordFields`. Blank lines are skipped.

    Args:
        stream: Bytes from ``byte_offset`` on, which is a line's beginning.
        name: The source's name, for rejections and keys.
        position: Number of the first line that is read, blank lines included.
        byte_offset: Where the stream begins in the source.
        max_document_bytes: Longer lines are rejected, without being held; None: no limit.
        key_field: The one field that holds the key; a record without it is rejected.
        text_field: The one field that holds the text.
        history_fields: The fields that hold times and links; a record whose field is no time, or
            no list of keys, is rejected.
        encodings: Of the lines; each is read in the first that it is of. Where that is not UTF-8,
            the metadata tell it (``encoding``).
    """
    line_end = line_end_in(encodings[0])
    fields = RecordFields(name, key_field, text_field, history_fields)
    offset = byte_offset
    while True:
        try:
            line, size = read_line(stream, max_document_bytes, line_end)
        except DamagedStream as error:
            yield Rejection(name, position, offset, offset, error.reason)
            return
        if not size:
            return
        end = offset + size
        if size > len(line):
            found: Any = (
                f"the line has {size:,} bytes, more than the limit of {max_document_bytes:,}"
            )
        else:
            found = _object(line, encodings)
            if isinstance(found, dict):
                found = fields.document(found, position, offset, end)
        if isinstance(found, str):
            yield Rejection(name, position, offset, end, found, line[:HEAD_BYTES])
        elif found is not None:
            yield found
        position += 1
        offset = end


def _encodings(request: ReadRequest) -> tuple[str, ...]:
    wide = wide_encoding(request.head)
    named = request.options.encoding
    if wide is not None or named in ("keep", "auto", UTF8):
        return (wide or UTF8,)
    # Its line ends would not be those of UTF-8.
    return (named,) if len(line_end_in(named)) > 1 else (UTF8, named)


def _object(line: bytes, encodings: tuple[str, ...]) -> dict[str, Any] | str | None:
    """Return the object of a line; None: it is blank; or why there is none."""
    reason = ""
    for encoding in encodings:
        try:
            text = line.decode(encoding)
            break
        except UnicodeDecodeError as error:
            reason = reason or f"not {encoding.upper()} at byte {error.start}"
    else:
        return reason
    text = text.removeprefix(_MARK)
    if not text.strip(_BLANKS):
        return None
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return TOO_DEEP
    except ValueError as error:
        return f"not usable: {error}"
    if not isinstance(record, dict):
        return f"a JSON {type(record).__name__}, not an object"
    return record if encoding == UTF8 else record | Decoded("", encoding, 0).metadata
