"""Read JSON Lines, an array of records, or records one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any

from simstore.model import Document, Rejection
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
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import UTF8_BOM

_CHUNK = 1 << 18
_MARKS = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'["\\]')
# What may stand between records: white space, commas, and the brackets of an array of them.
_BETWEEN = re.compile(rb"[ \t\r\n,\[\]\x1e]*")
_END_OF_BARE = re.compile(rb"[ \t\r\n,\[\]{}]")


def read(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the records of an array of objects, or of objects that follow one another.

    So pandas (``orient="records"``), jq and many services write them. What the fields mean:
    :class:`~.fields.RecordFields`. The file is UTF-8, and read piece by piece: no more than a
    record is held. What is JSON Lines is read as such.
    """
    name, position = request.name, request.position
    limit = request.options.max_document_bytes
    if (wide := wide_encoding(request.head)) is not None:
        if not position:
            reason = f"JSON in {wide.upper()}: save it as UTF-8"
            yield Rejection(name, 0, 0, 0, reason, request.head[:HEAD_BYTES])
        return
    if _is_lines(request.head):
        yield from read_lines(stream, request)
        return
    fields = RecordFields(name, request.options)
    for value, start, end, broken in _values(stream, request.byte_offset, limit):
        found = broken or _record(value)
        made: Document | str
        if isinstance(found, str):
            made = found
        else:
            hint = _hint(found)
            made = fields.document(found, position, start, end)
            made = made + hint if isinstance(made, str) else made
        if isinstance(made, str):
            yield Rejection(name, position, start, end, made, value[:HEAD_BYTES])
        else:
            yield made
        position += 1


def _is_lines(head: bytes) -> bool:
    """Return whether the first line that is not blank is an object by itself."""
    line = head.removeprefix(UTF8_BOM).lstrip().partition(b"\n")[0]
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _record(value: bytes) -> dict[str, Any] | str:
    """Return the object that bytes are; or why they are none."""
    try:
        found = json.loads(value.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}: save it as UTF-8"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        return TOO_DEEP
    except ValueError as error:
        return f"not usable: {error}"
    if not isinstance(found, dict):
        return (
            f"{no_object(found)}: records have named fields (--as text takes the file as one text)"
        )
    return found


def _hint(record: dict[str, Any]) -> str:
    """Return how to get at the records, where an object holds them."""
    if "nbformat" in record:
        return "; it is a notebook: jupyter nbconvert --to markdown FILE makes a text of it"
    for name, value in record.items():
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            path = f".{name}" if name.isidentifier() and name.isascii() else f'."{name}"'
            return f"; of records in a field: jq '{path}' FILE | simstore ingest -"
    if record and all(isinstance(value, dict) for value in record.values()):
        return "; of a table by columns: write it by records (pandas: orient='records')"
    return ""


def _values(
    stream: BufferedReader, offset: int, limit: int | None
) -> Iterator[tuple[bytes, int, int, str | None]]:
    """Yield (bytes, start, end, reason to reject) for each value that is no array around others.

    Of one above the limit only the first bytes are kept.

    Args:
        stream: Bytes from ``offset`` on, which is the file's beginning or a record's end.
        offset: Where the stream begins in the source.
        limit: Longer records are rejected; None: no limit.
    """
    scan = _Scan()
    parts: list[bytes] = []
    size = 0
    start = offset
    reason: str | None = None
    is_first = not offset
    while True:
        try:
            data = stream.read1(_CHUNK)
        except DamagedStream as error:
            reason, data = error.reason, b""
        if not data:
            break
        place = 0
        if is_first and data.startswith(UTF8_BOM):
            place, start = len(UTF8_BOM), start + len(UTF8_BOM)
        is_first = False
        while place < len(data):
            if not size:
                begin = _record_begins(data, place)
                start += begin - place
                place = begin
                if place == len(data):
                    break
            end, is_whole = scan.end_of_value(data, place)
            if limit is None or size <= limit:
                parts.append(data[place:end])
            size += end - place
            place = end
            if is_whole:
                yield b"".join(parts), start, start + size, _too_long(size, limit)
                parts, start, size = [], start + size, 0
    if size and reason is None and scan.is_open:
        reason = "the file breaks off within this record, or a quote or brace of it is not closed"
    if size or reason is not None:
        yield b"".join(parts), start, start + size, reason or _too_long(size, limit)


def _record_begins(data: bytes, place: int) -> int:
    """Return where the first record from a place on begins, or the end of the bytes."""
    found = _BETWEEN.match(data, place)
    return place if found is None else found.end()


class _Scan:
    """Finds the end of a value, whose bytes come in pieces.

    Attributes:
        is_open: A brace, bracket or quote of it is not closed yet.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._is_string = self._is_escaped = self._is_bare = False

    @property
    def is_open(self) -> bool:
        return bool(self._depth) or self._is_string

    def end_of_value(self, data: bytes, place: int) -> tuple[int, bool]:
        """Return where a value ends in a piece, and whether it does; else the piece's end.

        Args:
            data: The piece.
            place: Where the value begins or goes on.
        """
        if not self.is_open and not self._is_bare and data[place] not in b'"{':
            self._is_bare = True
        if self._is_bare:
            found = _END_OF_BARE.search(data, place + (data[place] in b"}"))
            self._is_bare = found is None
            return (len(data), False) if found is None else (found.start(), True)
        if self._is_escaped:
            self._is_escaped = False
            place += 1
        while (
            found := (_IN_STRING if self._is_string else _MARKS).search(data, place)
        ) is not None:
            place = found.end()
            mark = found[0]
            if mark == b"\\":
                if place == len(data):
                    self._is_escaped = True
                place += 1
            elif mark == b'"':
                self._is_string = not self._is_string
            else:
                self._depth += 1 if mark in b"{[" else -1
            if not self.is_open:
                return place, True
        return len(data), False


def _too_long(size: int, limit: int | None) -> str | None:
    if limit is None or size <= limit:
        return None
    return f"the record has {size:,} bytes, more than the limit of {limit:,}"


_MARK = "\ufeff"
_BLANKS = " \t\r\n\v\f"
_DECODER = json.JSONDecoder()


def read_lines(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
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
            # Text that only looks like the escapes of another encoding is UTF-8 all the same.
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
