"""Rows of CSV, one by one: how many bytes each has, and what a bad quote costs."""

from __future__ import annotations

import csv
import io
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from simstore.sources.encoding_detection import not_certain
from simstore.sources.encodings import UTF8, decoded_as, line_end_in
from simstore.sources.lines import read_line
from simstore.sources.source import HEAD_BYTES
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import UTF8_BOM

_MARK = "\ufeff"


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
