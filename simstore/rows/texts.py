"""Files that are one row each: a folder of texts."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from simstore.errors import InvalidParameter
from simstore.model import Document, Rejection
from simstore.rows.batch import DROPPED, Content, FileContent, Marks, RowBatch
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions

FORMATS = ("text", "markdown")


class TextFile:
    """A file that is one text, and one row.

    Args:
        path: Where it is.
        name: What it is called in keys and messages.
        options: How to read it.
        looks_like: The format of rows that it looks like; None: of none.
    """

    def __init__(
        self, path: str, name: str, options: ReadOptions, looks_like: str | None = None
    ) -> None:
        self.path = path
        self.name = name
        self.format = "text"
        self.looks_like = looks_like
        self._options = options

    @property
    def kind(self) -> tuple[object, ...]:
        """Return what files have in common whose rows can stand in one: nothing."""
        return "text", self.path

    def refused(self) -> None:
        """Return None: a text has no columns."""

    def batches(self) -> Iterator[RowBatch]:
        """Yield the one row, in a batch."""
        records = FileSource(self.path, self._options, self.name).records()
        rows = tuple(row for row in records if isinstance(row, Document | Rejection))[:1]
        yield RowBatch(rows, 0, FileContent(Path(self.path)) if rows else None)

    def again(
        self,
        spans: Iterable[tuple[int, int]],
        *,
        whole: bool = True,  # noqa: ARG002 - as of other files
    ) -> Iterator[FileContent]:
        """Yield the row once more, if there was one."""
        if list(spans):
            yield FileContent(Path(self.path))

    @contextmanager
    def writer(self, stream: BinaryIO, marks: Sequence[str] = ()) -> Iterator[TextWriter]:
        """Yield a writer that copies the file.

        Raises:
            InvalidParameter: There are columns to be added.
        """
        if marks:
            raise InvalidParameter(
                "texts take no columns: leave out --mark, --log tells the same; where it is a "
                "table, --as csv reads its rows"
            )
        yield TextWriter(stream)


class TextWriter:
    """Copies a file where its row is kept."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, content: Content, fates: Sequence[int], marks: Marks) -> None:  # noqa: ARG002
        """Write the bytes of the file, as they lie there."""
        if not isinstance(content, FileContent):
            raise TypeError(f"{type(content).__name__}: no file")
        if fates[0] != DROPPED:
            with content.path.open("rb") as file:
                shutil.copyfileobj(file, self._stream, 1 << 20)
