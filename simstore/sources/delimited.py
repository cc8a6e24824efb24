"""Read CSV and TSV files: one record a row, with field names from the first row."""

from __future__ import annotations

import csv
import io
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simstore.errors import printable
from simstore.model import Rejection
from simstore.sources.documents import KEY_FIELDS, TEXT_FIELDS
from simstore.sources.encoding_detection import not_certain, recognised, wide_encoding
from simstore.sources.encodings import (
    UTF8,
    Decoded,
    decoded_as,
    line_end_in,
    strictly_decoded,
)
from simstore.sources.fields import RecordFields, no_text, written_otherwise
from simstore.sources.lines import read_line
from simstore.sources.reader import ReadOptions, ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.streams import base_name
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import UTF8_BOM

DELIMITERS = ",;\t|"
_TABBED = (".tsv", ".tab")
_LAST_ASCII = 0x7F
# Fewer bytes beyond ASCII tell no encoding.
_TELLING_BYTES = 16
# Encodings in which what a byte means depends on those before it.
_WITH_STATES = ("iso2022",)
_MARK = "\ufeff"
_WITHOUT_NAMES = "; the first row names the fields: put one in front, as id,text"
# Words of the name of a field.
_MOST_WORDS = 4


def read(stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the documents of the rows of CSV or TSV.

    The first row names the fields; what they mean: :class:`~.fields.RecordFields`. A row's key is
    ``NAME:ROW`` (from 1) where it has none, or its cell is empty. In a ``.tsv`` file the fields
    are separated by tabs, else by what separates most in the first row: a comma, a semicolon, a
    tab, or a bar. Quotes are those of RFC 4180. Rows of more or fewer fields than the first are
    rejected. A row that is longer than ``max_document_bytes``, as after a quote that is never
    closed, is rejected up to its first line end, and reading goes on there.

    A file that begins in another encoding than UTF-8 is read in the one that its byte order mark
    tells or that is recognised, which its documents tell (``encoding``, ``encoding_detected``,
    ``replaced_bytes``); in a file of UTF-8, or where the encoding is not certain, a row that is not
    UTF-8 is rejected.
    """
    name, options, position = request.name, request.options, request.position
    offset = request.byte_offset
    header = table_header(request)
    if isinstance(header, str):
        if header and not position:
            yield Rejection(name, 0, 0, 0, header, request.head[:HEAD_BYTES])
        return
    if not position:
        # The first record comes after the row of names.
        offset = len(stream.read(header.size))
    fields = RecordFields(name, options, is_lean=request.is_lean, empty_is_none=True)
    names = header.names
    rows = Rows(stream, header.delimiter, options.max_document_bytes, header.encoding)
    while (row := rows.next()) is not None:
        end = offset + row.size
        reason = row.reason
        if reason is None and row.cells:
            if len(row.cells) == len(names):
                cells: dict[str, Any] = dict(zip(names, row.cells, strict=True))
                if header.encoding != UTF8:
                    read = Decoded("", header.encoding, row.replaced, header.is_detected)
                    cells |= read.metadata
                made = fields.document(cells, position, offset, end)
                if isinstance(made, str):
                    reason = made
                else:
                    yield made
            else:
                reason = f"{len(row.cells)} fields; the first row has {len(names)}"
        if reason is not None:
            yield Rejection(name, position, offset, end, reason, row.head or rows.head())
        offset = end
        position += 1


@dataclass(frozen=True, slots=True)
class Header:
    """The row of names, what separates them, its size in bytes, and the file's encoding."""

    names: list[str]
    delimiter: str
    size: int
    encoding: str
    is_detected: bool


def table_header(request: ReadRequest) -> Header | str:
    """Return the row of names; or why there is none, which is nothing for an empty file."""
    head, options = request.head, request.options
    told = wide_encoding(head) or options.named_encoding
    if told is not None and told.startswith(_WITH_STATES):
        return f"it is to be {told}; save it as UTF-8"
    encoding = told or _encoding(head)
    is_detected = told is None and encoding != UTF8
    best: Header | None = None
    given: list[str] = []
    reason = ""
    for delimiter in "\t" if base_name(request.name).lower().endswith(_TABBED) else DELIMITERS:
        row = Rows(io.BytesIO(head), delimiter, len(head), encoding, at_start=True).next()
        if row is None:
            return ""
        if row.reason is not None or not row.cells:
            reason = f"the first row does not name the fields: {row.reason or 'it is blank'}"
        elif best is None or len(row.cells) > len(best.names):
            best = Header(_distinct(row.cells), delimiter, row.size, encoding, is_detected)
            given = row.cells
    if best is None:
        return reason
    if twice := _named_twice(given, options):
        return twice
    wanted = (options.text_field,) if options.text_field else TEXT_FIELDS
    if any(name in best.names for name in wanted):
        return best
    if not options.text_field and written_otherwise(TEXT_FIELDS, best.names):
        return best
    return no_text(wanted, best.names) + (_WITHOUT_NAMES if are_values(best.names) else "")


def _named_twice(names: list[str], options: ReadOptions) -> str:
    """Return that the field of the text or of the key stands twice; empty: it does not."""
    for what, chosen, usual in (
        ("text", options.text_field, TEXT_FIELDS),
        ("key", options.key_field, KEY_FIELDS),
    ):
        name = next((one for one in ((chosen,) if chosen else usual) if one in names), None)
        if name is not None and names.count(name) > 1:
            return (
                f"the first row names the field {printable(name)} twice: rename one, or name "
                f"another for the {what} with --{what}-field"
            )
    return ""


def are_values(names: list[str]) -> bool:
    """Return whether the first row looks like one of values, not of names."""
    return any(
        not name.strip() or name.strip().isdigit() or len(name.split()) > _MOST_WORDS
        for name in names
    )


def _encoding(head: bytes) -> str:
    """Return the encoding of a file: UTF-8, if half of the lines that are not ASCII are."""
    lines = [line for line in head.split(b"\n")[:-1] or [head] if not line.isascii()]
    foreign = sum(strictly_decoded(line, UTF8) is None for line in lines)
    telling = sum(byte > _LAST_ASCII for line in lines for byte in line)
    if 2 * foreign <= len(lines) or telling < _TELLING_BYTES:
        return UTF8
    found = recognised(b"\n".join(lines))
    return UTF8 if found is None or found.startswith(_WITH_STATES) else found


def _distinct(names: list[str]) -> list[str]:
    """Return names of which each stands once."""
    found: dict[str, None] = {}
    # The last number that each name was given: the next is looked for behind it.
    numbers: dict[str, int] = {}
    for name in names:
        number, distinct = numbers.get(name, 1), name
        while distinct in found:
            number += 1
            distinct = f"{name}.{number}"
        numbers[name] = number
        found[distinct] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its fields, none for a blank line; or why it has none, and its first bytes.

    Attributes:
        replaced: Bytes that could not be read in the file's encoding.
    """

    cells: list[str]
    size: int
    reason: str | None = None
    head: bytes = b""
    replaced: int = 0


class Rows:
    """Takes rows from a stream one by one, and knows how many bytes each has.

    Args:
        stream: Bytes from a row's beginning on.
        delimiter: What separates fields.
        limit: Longer rows are refused; None: no limit.
        encoding: That of the bytes.
        at_start: They begin where the file does, where a byte order mark may stand.
    """

    def __init__(
        self,
        stream: io.BufferedReader | io.BytesIO,
        delimiter: str,
        limit: int | None,
        encoding: str,
        *,
        at_start: bool = False,
    ) -> None:
        self._lines = _Lines(stream, limit, encoding, at_start=at_start)
        self._delimiter = delimiter
        # The library has one limit for all readers; ours is told by the lines.
        csv.field_size_limit(max(csv.field_size_limit(), sys.maxsize if limit is None else limit))
        self._reader = self._new_reader()

    def next(self) -> Row | None:
        """Return the next row; None at the end.

        Of what is no row only the first line is refused; the lines after it are read anew.
        """
        lines = self._lines
        lines.begin()
        try:
            cells = next(self._reader)
        except StopIteration:
            return None
        except DamagedStream as error:
            lines.end()
            return Row([], 0, error.reason, lines.head())
        except _TooLong as error:
            reason = str(error)
        except csv.Error as error:
            unclosed = "unexpected end of data" in str(error)
            if "new-line character" in str(error):
                reason = "not CSV: its lines end in carriage returns alone; save it with line feeds"
            else:
                reason = "a quote is not closed" if unclosed else f"not CSV: {error}"
        else:
            if lines.is_utf8:
                return Row(cells, lines.size, replaced=lines.replaced)
            return Row([], lines.size, not_certain(), lines.head())
        head = lines.head()
        size = lines.keep_first()
        self._reader = self._new_reader()
        return Row([], size, reason, head)

    def head(self) -> bytes:
        """Return the first bytes of the row that was taken."""
        return self._lines.head()

    def _new_reader(self) -> Iterator[list[str]]:
        return csv.reader(self._lines, delimiter=self._delimiter, strict=True)


class _TooLong(Exception):
    """A row is longer than the limit."""


class _Lines:
    """The lines of a stream, of which those of a row can be given back.

    Attributes:
        size: Bytes of the lines that were taken for this row.
        is_utf8: They are UTF-8, if they should be.
        replaced: Bytes of them that could not be read.
    """

    def __init__(
        self,
        stream: io.BufferedReader | io.BytesIO,
        limit: int | None,
        encoding: str,
        *,
        at_start: bool,
    ) -> None:
        self.size = self.replaced = 0
        self.is_utf8 = True
        self._encoding = encoding
        self._line_end = line_end_in(encoding)
        self._stream = stream
        self._limit = limit
        self._taken: list[tuple[bytes, int]] = []
        self._given_back: deque[tuple[bytes, int]] = deque()
        self._ended = False
        # Inside of a file it is a character like others.
        self._may_be_marked = at_start

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self._given_back:
            line, size = self._given_back.popleft()
        elif self._ended:
            raise StopIteration
        else:
            line, size = read_line(self._stream, self._limit, self._line_end)
        if not size:
            raise StopIteration
        self._taken.append((line, size))
        self.size += size
        if self._limit is not None and self.size > self._limit + 2 * len(self._line_end):
            raise _TooLong(
                f"the row has more than {self._limit:,} bytes, the limit, or a quote is not closed"
            )
        is_first, self._may_be_marked = self._may_be_marked, False
        if self._encoding != UTF8:
            found = decoded_as(line, self._encoding)
            self.replaced += found.replaced
            return found.text.removeprefix(_MARK) if is_first else found.text
        try:
            return (line.removeprefix(UTF8_BOM) if is_first else line).decode("utf-8")
        except UnicodeDecodeError:
            self.is_utf8 = False
            return line.decode("utf-8", "surrogateescape")

    def begin(self) -> None:
        """Begin a row."""
        self._taken.clear()
        self.size, self.replaced, self.is_utf8 = 0, 0, True

    def head(self) -> bytes:
        """Return the first bytes of the row."""
        return b"".join(line for line, _ in self._taken[:HEAD_BYTES])[:HEAD_BYTES]

    def keep_first(self) -> int:
        """Give back all lines of the row but the first; return the bytes of that one."""
        self._given_back.extendleft(reversed(self._taken[1:]))
        return self._taken[0][1]

    def end(self) -> None:
        """Take no more lines."""
        self._ended = True
        self._given_back.clear()
