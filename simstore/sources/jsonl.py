"""JSON Lines: one object a line, with a text, a key and any other fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any

from simstore.model import Rejection
from simstore.sources.encoding_detection import RecordDecoder, not_certain
from simstore.sources.encodings import (
    UTF8,
    Decoded,
    line_end_in,
    strictly_decoded,
    undecodable_at,
    wide_encoding,
)
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

    They are UTF-8, but a file of UTF-16 or UTF-32 is read as what it is. Lines that are not UTF-8
    are read in the encoding that is named, or that they or the beginning of the file are recognised
    to be in; where that is not certain, they are rejected.
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
        decode_line, line_end = _decoding(request)
        return read_jsonl(
            stream,
            request.name,
            position=request.position,
            byte_offset=request.byte_offset,
            max_document_bytes=options.max_document_bytes,
            key_field=options.key_field,
            text_field=options.text_field,
            history_fields=options.history_fields,
            decode_line=decode_line,
            line_end=line_end,
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
    decode_line: Callable[[bytes], Decoded | str] | None = None,
    line_end: bytes = b"\n",
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
        decode_line: Returns the text of a line, or why there is none; None: lines are UTF-8.
            Where a line is in another encoding, the metadata tell it (``encoding``).
        line_end: LF in the encoding of the file.
    """
    decode_line = decode_line or _decoder(UTF8)
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
            decoded = decode_line(line)
            found = decoded if isinstance(decoded, str) else _object(decoded)
            if isinstance(found, dict):
                found = fields.document(found, position, offset, end)
        if isinstance(found, str):
            yield Rejection(name, position, offset, end, found, line[:HEAD_BYTES])
        elif found is not None:
            yield found
        position += 1
        offset = end


def _decoding(request: ReadRequest) -> tuple[Callable[[bytes], Decoded | str], bytes]:
    """Return what decodes a line, and LF as it stands in the file."""
    options = request.options
    encoding = wide_encoding(request.head) or options.named_encoding
    if encoding is None:
        return _decoder(UTF8) if options.keeps_bytes else _detector(request.head), b"\n"
    line_end = line_end_in(encoding)
    # In UTF-16 and UTF-32 line ends are not those of UTF-8.
    return _decoder(encoding) if len(line_end) > 1 else _decoder(UTF8, encoding), line_end


def _detector(head: bytes) -> Callable[[bytes], Decoded | str]:
    """Return what decodes a line in the encoding that it is recognised to be in, all of it."""
    decoder = RecordDecoder(head)

    def decode_line(line: bytes) -> Decoded | str:
        found = decoder.decoded(line)
        if isinstance(found, Decoded) and (found.replaced or _is_mark_alone(found)):
            return not_certain(line)
        return found

    return decode_line


def _is_mark_alone(line: Decoded) -> bool:
    """Return whether bytes that are not UTF-8 are no text: a byte order mark, and nothing more."""
    return line.encoding != UTF8 and not line.text.strip(_BLANKS)


def _decoder(*encodings: str) -> Callable[[bytes], Decoded | str]:
    """Return what decodes a line in the first of some encodings that all of it is of."""

    def decode_line(line: bytes) -> Decoded | str:
        for encoding in encodings:
            if (text := strictly_decoded(line, encoding)) is not None:
                return Decoded(text, encoding, 0)
        return undecodable_at(line, encodings[0])

    return decode_line


def _object(line: Decoded) -> dict[str, Any] | str | None:
    """Return the object of a line; None: it is blank; or why there is none."""
    text = line.text.removeprefix(_MARK)
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
    return record | line.metadata
