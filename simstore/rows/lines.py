"""Rows that are bytes of a file: JSON Lines, CSV and TSV, plain text with a document a line.

The readers of :mod:`simstore.sources` say where a row begins and ends; the bytes between are kept
as they are, so what is written of a row is what was read, byte for byte.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

from simstore.errors import InvalidParameter, UnreadableSource
from simstore.model import Document, Rejection
from simstore.rows.batch import (
    BATCH_BYTES,
    BATCH_ROWS,
    DROPPED,
    KEPT,
    Content,
    LineContent,
    Marks,
    Row,
    RowBatch,
    already_there,
)
from simstore.sources.delimited import Header, table_header
from simstore.sources.encoding_detection import wide_encoding
from simstore.sources.encodings import line_end_in
from simstore.sources.fields import no_key
from simstore.sources.reader import ReadOptions, ReadRequest
from simstore.sources.registry import look_ahead, read_with, reader_named
from simstore.sources.streams import ByteStream
from simstore.sources.unpacking import buffered

FORMATS = ("jsonl", "csv", "lines")
# Marks of byte order, the longer before those that they begin with.
_BYTE_ORDER_MARKS = (
    b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff",
)  # fmt: skip
# Rows that are looked at for fields that are to be added.
_LOOKED_AT = 100
_BLANKS = b" \t\r\n\v\f\0"


class LineRows:
    """A file whose rows are lines, or rows of CSV over several lines.

    Args:
        path: Where it is.
        name: What it is called in keys and messages.
        options: How to read it; ``format`` is one of ``FORMATS``.
    """

    def __init__(self, path: str, name: str, options: ReadOptions) -> None:
        self.path = path
        self.name = name
        self.format = options.format
        self._options = options
        self._head: bytes | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """Return what files have in common whose rows can stand in one."""
        head = self._looked_at()
        if self.format != "csv":
            return self.format, line_end_in(self._encoding())
        found = self._table_header()
        return (
            self.format,
            _bare(head[: found.size]) if found else b"",
            line_end_in(self._encoding()),
        )

    def refused(self) -> str | None:
        """Return why the first row of CSV names no text, or not the key; None: it does."""
        if self.format != "csv":
            return None
        request = ReadRequest(self.name, options=self._options, head=self._looked_at())
        found = table_header(request)
        if isinstance(found, str):
            return found or None
        return no_key(self._options.key_field, found.names)

    def batches(self) -> Iterator[RowBatch]:
        """Yield the rows in batches."""
        options = self._options
        with ByteStream(self.name, options.max_expansion, self.path).open() as opened:
            stream = opened
            if self._head is None:
                _, self._head, stream = look_ahead(opened, self.name, options)
            recorder = _Recorder(stream)
            request = ReadRequest(self.name, 0, 0, options, self._head, is_lean=True)
            batch = _Batch(recorder, self._header())
            for record in read_with(reader_named(self.format), buffered(recorder), request):
                if not isinstance(record, Document | Rejection):
                    continue
                if isinstance(record, Rejection) and record.byte_offset == record.end_offset:
                    yield from batch.ended(record)
                    return
                batch.append(record)
                if batch.is_full():
                    yield batch.taken()
            yield from batch.ended()

    def again(
        self, spans: Iterable[tuple[int, int]], *, whole: bool = True
    ) -> Iterator[LineContent]:
        """Yield the rows once more, without looking into them, in batches.

        Args:
            spans: First byte and end of each row, in order, in the (decompressed) file.
            whole: What comes behind the last row is wanted, too: the file is not damaged there.

        Raises:
            UnreadableSource: It has become shorter.
        """
        header = self._header()
        with ByteStream(self.name, self._options.max_expansion, self.path).open() as stream:
            place, is_first = 0, True
            held: list[tuple[int, int]] = []

            def taken(end: int | None) -> LineContent:
                nonlocal place, is_first, held
                data = stream.read(-1 if end is None else end - place)
                last = held[-1][1] - place if held else min(len(data), len(header))
                if len(data) < last:
                    raise UnreadableSource(self.name, "it has become shorter since it was read")
                if data[last:].strip(_BLANKS) and not (is_first and not held):
                    raise UnreadableSource(self.name, "it has more rows since it was read")
                begin = len(header) if is_first else place
                spans = [(max(first - begin, 0), stop - begin) for first, stop in held]
                data = data[len(header) :] if is_first else data
                content = LineContent(data, spans, header if is_first else None)
                place, is_first, held = end or place, False, []
                return content

            for span in spans:
                held.append(span)
                if len(held) >= BATCH_ROWS or span[1] - place >= BATCH_BYTES:
                    yield taken(span[1])
            if whole:
                yield taken(None)
            elif held:
                yield taken(held[-1][1])

    @contextmanager
    def writer(self, stream: BinaryIO, marks: Sequence[str] = ()) -> Iterator[LineWriter]:
        """Yield a writer of such rows.

        Args:
            stream: What it writes to.
            marks: Names of the columns that are added to rows.

        Raises:
            InvalidParameter: Rows are lines of text, or have such columns already.
        """
        if marks and self.format == "lines":
            raise InvalidParameter("lines of plain text take no columns: leave out --mark")
        if marks and self.format == "jsonl":
            self._check_fields(marks)
        encoding, delimiter = self._encoding(), ","
        if self.format == "csv" and (found := self._table_header()):
            delimiter = found.delimiter
            if held := [name for name in marks if name in found.names]:
                raise already_there(self.name, held)
        yield LineWriter(stream, self.format, encoding, delimiter, tuple(marks))

    def _check_fields(self, marks: Sequence[str]) -> None:
        """Raise where one of the first rows has a field that is to be added."""
        request = ReadRequest(self.name, options=self._options, head=self._looked_at())
        with ByteStream(self.name, self._options.max_expansion, self.path).open() as stream:
            records = read_with(reader_named(self.format), stream, request)
            for row in islice(records, _LOOKED_AT):
                metadata = row.metadata if isinstance(row, Document) else {}
                if held := [name for name in marks if name in metadata]:
                    raise already_there(self.name, held)

    def _looked_at(self) -> bytes:
        if self._head is None:
            with ByteStream(self.name, self._options.max_expansion, self.path).open() as opened:
                _, self._head, _ = look_ahead(opened, self.name, self._options)
        return self._head

    def _encoding(self) -> str:
        """Return an encoding in which added characters of ASCII and line ends are right."""
        head = self._looked_at()
        if self.format == "csv" and (found := self._table_header()):
            return found.encoding
        return wide_encoding(head) or self._options.named_encoding or "utf-8"

    def _table_header(self) -> Header | None:
        request = ReadRequest(self.name, options=self._options, head=self._looked_at())
        found = table_header(request)
        return found if isinstance(found, Header) else None

    def _header(self) -> bytes:
        """Return what stands before the first row: a byte order mark, the names of CSV."""
        head = self._looked_at()
        if self.format == "csv":
            found = self._table_header()
            return head[: found.size] if found else b""
        return next((mark for mark in _BYTE_ORDER_MARKS if head.startswith(mark)), b"")


class LineWriter:
    """Writes rows as the bytes that they were.

    Args:
        stream: What it writes to.
        format_name: ``jsonl``, ``csv`` or ``lines``.
        encoding: Of what is added.
        delimiter: Between fields of CSV.
        marks: Names of columns that are added.
    """

    def __init__(
        self,
        stream: BinaryIO,
        format_name: str,
        encoding: str,
        delimiter: str,
        marks: tuple[str, ...],
    ) -> None:
        self._stream = stream
        self._format = format_name
        self._encoding = encoding
        self._delimiter = delimiter
        self._marks = marks
        self._line_end = line_end_in(encoding)
        self._header: bytes | None = None
        self._is_ended = True

    def write(self, content: Content, fates: Sequence[int], marks: Marks) -> None:
        """Write those rows that are kept; blank lines stay where they are.

        Args:
            content: The rows.
            fates: What becomes of each.
            marks: Columns that are added; a value a row.
        """
        if not isinstance(content, LineContent):
            raise TypeError(f"{type(content).__name__}: no lines")
        if content.header is not None:
            self._begin(content.header)
        data, parts, place = content.data, [], 0
        for number, (first, end) in enumerate(content.spans):
            if first > place:
                parts.append(data[place:first])
            if fates[number] != DROPPED:
                row = data[first:end]
                if self._marks and fates[number] == KEPT:
                    row = self._marked(row, marks, number)
                elif self._marks and self._format == "csv":
                    # It could not be read, and gets as many cells as others do.
                    row = self._with_cells(row, [""] * len(self._marks))
                parts.append(row)
            place = end
        parts.append(data[place:])
        self._put(b"".join(parts))

    def _begin(self, header: bytes) -> None:
        """Write what stands before the first row, once."""
        if self._header is None:
            self._header = header
            if self._marks and self._format == "csv":
                header = self._with_cells(header, self._marks)
            self._put(header)

    def _put(self, data: bytes) -> None:
        if not data:
            return
        if not self._is_ended:
            # The file before had no line end behind its last row.
            self._stream.write(self._line_end)
        self._stream.write(data)
        is_mark = data == self._header and self._format != "csv"
        self._is_ended = is_mark or data.endswith(self._line_end)

    def _marked(self, row: bytes, marks: Marks, number: int) -> bytes:
        values = {name: marks[name][number] for name in self._marks}
        if self._format == "csv":
            return self._with_cells(row, list(values.values()))
        added = ", " + json.dumps(values)[1:-1]
        brace = "}".encode(self._encoding)
        bare = len(row)
        while bare and row[bare - 1 : bare] in _SINGLE_BLANKS:
            bare -= 1
        # In UTF-16 the last byte of a brace may be 0, as that of a blank.
        width = len(brace)
        bare += -bare % width
        if row[bare - width : bare] != brace:
            return row
        return row[: bare - width] + added.encode(self._encoding) + row[bare - width :]

    def _with_cells(self, row: bytes, cells: Sequence[Any]) -> bytes:
        written = io.StringIO()
        csv.writer(written, delimiter=self._delimiter, lineterminator="").writerow(cells)
        if not row.strip(_BLANKS):
            return row
        end = len(row)
        for mark in ("\n", "\r"):
            code = mark.encode(self._encoding)
            if row[:end].endswith(code):
                end -= len(code)
        added = (self._delimiter + written.getvalue()).encode(self._encoding)
        return row[:end] + added + row[end:]


_SINGLE_BLANKS = tuple(bytes([byte]) for byte in _BLANKS)


class _Recorder(io.RawIOBase):
    """A stream that remembers the bytes which were read of it, until they are taken."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._held = bytearray()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as the stream does."""
        count = self._stream.readinto1(buffer)
        self._held += memoryview(buffer).cast("B")[:count]
        return count

    def take(self, count: int | None) -> bytes:
        """Return so many bytes of those that were read first; None: all."""
        count = len(self._held) if count is None else count
        data = bytes(memoryview(self._held)[:count])
        del self._held[:count]
        return data


class _Batch:
    """Rows that are collected for a batch."""

    def __init__(self, recorder: _Recorder, header: bytes) -> None:
        self._recorder = recorder
        self._end = 0
        self._header: bytes | None = header
        self._rows: list[Row] = []

    def append(self, row: Row) -> None:
        """Add a row."""
        self._rows.append(row)

    def is_full(self) -> bool:
        """Return whether there are enough."""
        end = self._rows[-1].end_offset or 0
        return len(self._rows) >= BATCH_ROWS or end - self._end >= BATCH_BYTES

    def taken(self, *, at_end: bool = False) -> RowBatch:
        """Return the batch, and begin the next."""
        rows, header = tuple(self._rows), self._header
        begin = self._end
        end = (rows[-1].end_offset or 0) if rows else begin
        data = self._recorder.take(None if at_end else end - begin)
        if header is not None:
            data, begin = data[len(header) :], len(header)
        spans = [
            (max((row.byte_offset or 0) - begin, 0), (row.end_offset or 0) - begin) for row in rows
        ]
        self._end, self._rows, self._header = end, [], None
        return RowBatch(rows, self._end, LineContent(data, spans, header))

    def ended(self, damage: Rejection | None = None) -> Iterator[RowBatch]:
        """Yield what is left at the end of the file, or before damage."""
        # What stands before damage is a part of a row.
        yield self.taken(at_end=damage is None)
        if damage is not None:
            yield RowBatch((), self._end, None, damage)


def _bare(header: bytes) -> bytes:
    """Return the names of CSV without byte order mark and line end."""
    for mark in _BYTE_ORDER_MARKS:
        if header.startswith(mark):
            header = header[len(mark) :]
            break
    return header.rstrip(b"\r\n\0")
