"""Read JSON Lines: one object a line, with a text, a key and any other fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any

from simstore.model import Document
from simstore.sources.documents import TOO_DEEP, no_object
from simstore.sources.encoding_detection import RecordDecoder, not_certain, wide_encoding
from simstore.sources.encodings import (
    UTF8,
    Decoded,
    line_end_in,
    strictly_decoded,
    undecodable_at,
)
from simstore.sources.fields import RecordFields
from simstore.sources.lines import line_records
from simstore.sources.reader import ReadRequest
from simstore.sources.source import Record

_MARK = "\ufeff"
_BLANKS = " \t\r\n\v\f"
_DECODER = json.JSONDecoder()


def read(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the records of JSON Lines.

    What the fields mean: :class:`~.fields.RecordFields`. Blank lines are skipped, and counted.

    They are UTF-8, but a file of UTF-16 or UTF-32 is read as what it is. Lines that are not UTF-8
    are read in the encoding that is named, or that they or the beginning of the file are recognised
    to be in; where that is not certain, they are rejected. Of a line in another encoding the
    metadata tell it (``encoding``).
    """
    fields = RecordFields(request.name, request.options, is_lean=request.is_lean)

    def document(line: Decoded, position: int, start: int, end: int) -> Document | str | None:
        found = _object(line)
        return fields.document(found, position, start, end) if isinstance(found, dict) else found

    return line_records(stream, request, *_decoding(request), document)


def _decoding(request: ReadRequest) -> tuple[Callable[[bytes], Decoded | str], bytes]:
    """Return the function that decodes a line, and LF in the file's encoding."""
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
        if isinstance(found, str) or found.encoding == UTF8:
            return found
        is_damaged = bool(found.replaced) or _is_mark_alone(found)
        if is_damaged or isinstance(_object(found), str):
            # What only looks like the escapes of another encoding is UTF-8 all the same.
            if (text := strictly_decoded(line, UTF8)) is not None:
                return Decoded(text, UTF8, 0)
            if is_damaged:
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
    try:
        record = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        if not text.strip(_BLANKS):
            return None
        return f"not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return TOO_DEEP
    except ValueError as error:
        return f"not usable: {error}"
    if not isinstance(record, dict):
        return no_object(record)
    return record | line.metadata if line.encoding != UTF8 or line.replaced else record
