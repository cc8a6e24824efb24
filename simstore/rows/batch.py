"""Batches of rows: the documents that rows hold, beside what they are made of in their file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from simstore.errors import InvalidParameter, printable
from simstore.model import Document, Rejection

# Rows of a batch, and bytes of it, about.
BATCH_ROWS = 2_000
BATCH_BYTES = 4 << 20

# What becomes of a row: it is left out; it is written, with the columns that are added; it is
# written as it is, as one that could not be read.
DROPPED, KEPT, PASSED = 0, 1, 2

Row = Document | Rejection
# Values of columns that are added to rows, by their names: a value a row.
Marks = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class LineContent:
    """Rows that are bytes of their file, one after the other.

    Attributes:
        data: The bytes, from the end of the rows before on: blank lines among them.
        spans: First byte and end of each row in ``data``.
        header: What stands before the first row, where these are the first: a row of names, a byte
            order mark. It is no part of ``data``.
    """

    data: bytes
    spans: Sequence[tuple[int, int]]
    header: bytes | None = None


@dataclass(frozen=True, slots=True)
class TableContent:
    """Rows of a table: a ``pyarrow.RecordBatch`` with all columns."""

    batch: Any


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file that is one row."""

    path: Path


Content = LineContent | TableContent | FileContent


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some rows of a file, in their order.

    Attributes:
        rows: What each row is: its document, or why it is none.
        end: How far the file is read: bytes; of tables, rows.
        content: What the rows are made of; None: there are none.
        damage: Why the file cannot be read on; None: it can.
    """

    rows: tuple[Row, ...]
    end: int
    content: Content | None
    damage: Rejection | None = None


class RowWriter(Protocol):
    """Writes rows in the format of the file they come from."""

    def write(self, content: Content, fates: Sequence[int], marks: Marks) -> None:
        """Write those rows of a batch that are kept, unchanged, in their order.

        Args:
            content: The batch's.
            fates: What becomes of each row: ``DROPPED``, ``KEPT`` or ``PASSED``.
            marks: Columns that are added; a value a row, whatever becomes of it.

        Raises:
            InvalidParameter: The rows do not go with those that were written before.
        """


class RowFile(Protocol):
    """A file whose rows are read and given back.

    Attributes:
        name: What it is called in keys and messages.
        path: Where it is.
        format: The format: ``jsonl``, ``csv``, ``lines``, ``parquet``, ``arrow`` or ``text``.
    """

    name: str
    path: str
    format: str

    @property
    def kind(self) -> tuple[object, ...]:
        """Return what files have in common whose rows can stand in one."""

    def refused(self) -> str | None:
        """Return why none of its rows can be read, as its columns tell; None: they can.

        Raises:
            SourceNotFound: It has gone.
            MissingExtra: A package is not installed.
        """

    def batches(self) -> Iterator[RowBatch]:
        """Yield the rows in batches.

        Raises:
            SourceNotFound: It has gone.
            UnreadableSource: It cannot be read at all.
            MissingExtra: A package is not installed.
        """

    def again(self, spans: Iterable[tuple[int, int]], *, whole: bool = True) -> Iterator[Content]:
        """Yield the rows once more, without looking into them, in batches.

        Args:
            spans: First byte and end of each row that was read, in order: those of documents and
                rejections. Of tables and texts only how many there are counts.
            whole: The file was read to its end, and not to where it is damaged.

        Raises:
            UnreadableSource: It is another since.
        """

    def writer(
        self, stream: BinaryIO, marks: Sequence[str] = ()
    ) -> AbstractContextManager[RowWriter]:
        """Return a writer of the file's format.

        Args:
            stream: What it writes to.
            marks: Names of the columns that are added to rows.

        Raises:
            InvalidParameter: The format takes no columns.
        """


def already_there(name: str, columns: Sequence[str]) -> InvalidParameter:
    """Return the error for rows that have the columns already that are to be added."""
    return InvalidParameter(
        f"{printable(name)} has {' and '.join(columns)} already; rename that, or leave out --mark"
    )
