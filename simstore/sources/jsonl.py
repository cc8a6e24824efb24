"""JSON Lines: one object a line, with a text, a key and any other fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any

from simstore.model import Rejection
from simstore.sources.documents import TOO_DEEP
from simstore.sources.encoding_detection import RecordDecoder, not_certain
from simstore.sources.encodings import (
    UTF8,
    Decoded,
    line_end_in,
    strictly_decoded,
    undecodable_at,
    wide_encoding,
)
from simstore.sources.fields import RecordFields
from simstore.sources.lines import read_line
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import DamagedStream

_MARK = "\ufeff"
_BLANKS = " \t\r\n\v\f"


def read(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the records of JSON Lines.

    What the fields mean: :class:`~.fields.RecordFields`. Blank lines are skipped, and counted.

    They are UTF-8, but a file of UTF-16 or UTF-32 is read as what it is. Lines that are not UTF-8
    are read in the encoding that is named, or that they or the beginning of the file are recognised
    to be in; where that is not certain, they are rejected. Of a line in another encoding the
    metadata tell it (``encoding``).
    """
    name, position, offset = request.name, request.position, request.byte_offset
    options = request.options
    limit = options.max_document_bytes
    decode_line, line_end = _decoding(request)
    fields = RecordFields(name, options)
    while True:
        try:
            line, size = read_line(stream, limit, line_end)
        except DamagedStream as error:
            yield Rejection(name, position, offset, offset, error.reason)
            return
        if not size:
            return
        end = offset + size
        if size > len(line):
            found: Any = f"the line has {size:,} bytes, more than the limit of {limit:,}"
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
