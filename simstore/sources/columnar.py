"""Readers of columnar tables: Parquet, Arrow and Feather files, and streams of Arrow batches.

PyArrow reads them in a process of its own (:mod:`~.isolated`): some damaged files crash it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

from simstore.errors import MissingExtra
from simstore.model import Rejection
from simstore.model.documents import EXPORT_FIELD
from simstore.sources.documents import TEXT_FIELDS
from simstore.sources.fields import RecordFields, no_text, written_otherwise
from simstore.sources.isolated import IsolatedReader
from simstore.sources.reader import ReadRequest
from simstore.sources.source import Record

_ROWS = 1_000
_ARROW_STREAM = b"\xff\xff\xff\xff"


class ParquetReader(IsolatedReader):
    """Reads Parquet; a record a row.

    What the fields mean: :class:`~.fields.RecordFields`. The byte offset of a record is the number
    of its row group; reading goes on at a row group and passes over the rows before the record.
    """

    package, feature, extra = "pyarrow", "Parquet", "parquet"

    def read_here(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record | None]:
        """Yield the documents of the rows, and None after each batch of them.

        Raises:
            MissingExtra: PyArrow is not installed.
        """
        pyarrow = pyarrow_for("Parquet", "pyarrow.parquet")
        rows = _Rows(request)
        try:
            file = pyarrow.parquet.ParquetFile(stream)
            if (refused := rows.without_text(file.schema_arrow.names)) is not None:
                yield from refused
                return
            metadata = file.metadata
            ends = list(
                accumulate(metadata.row_group(n).num_rows for n in range(metadata.num_row_groups))
            )
            for group, end in enumerate(ends):
                if end <= request.position:
                    continue
                position = end - metadata.row_group(group).num_rows
                for batch in file.iter_batches(_ROWS, row_groups=[group]):
                    yield from rows.of_batch(batch, position, group)
                    position += batch.num_rows
                    yield None
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            yield rows.broken(error)


class ArrowReader(IsolatedReader):
    """Reads Arrow files (Feather too) and streams of Arrow batches; a record a row.

    A stream is told by its name. The byte offset of a record is the number of its batch.
    """

    package, feature, extra = "pyarrow", "Arrow", "parquet"

    def read_here(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record | None]:
        """Yield the documents of the rows, and None after each batch of them.

        Raises:
            MissingExtra: PyArrow is not installed.
        """
        pyarrow = pyarrow_for("Arrow", "pyarrow.ipc")
        rows = _Rows(request)
        try:
            position = 0
            for number, batch in enumerate(arrow_batches(pyarrow, stream, request.head)):
                # A place outside of a batch would be read, and be a text, or end the process.
                batch.validate(full=True)
                if (refused := rows.without_text(batch.schema.names)) is not None:
                    yield from refused
                    return
                end = position + batch.num_rows
                while position < end:
                    part = batch.slice(position - end + batch.num_rows, _ROWS)
                    yield from rows.of_batch(part, position, number)
                    position += part.num_rows
                    yield None
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            yield rows.broken(error)


read_parquet = ParquetReader().read
read_arrow = ArrowReader().read


def arrow_batches(pyarrow: Any, stream: io.BufferedReader, head: bytes) -> Iterator[Any]:
    """Yield the batches of an Arrow file, or of a stream of Arrow batches."""
    if head.startswith(_ARROW_STREAM):
        yield from pyarrow.ipc.open_stream(stream)
        return
    file = pyarrow.ipc.open_file(stream)
    for number in range(file.num_record_batches):
        yield file.get_batch(number)


def taken(table: Any, places: Sequence[int]) -> Any:
    """Return some rows of an Arrow table or record batch, in the order of their places."""
    try:
        return table.take(places)
    except NotImplementedError:
        # PyArrow has no kernel for some types (string_view), but joins slices of all types. The
        # empty slice makes it copy a single row, too: Parquet cannot store some sliced structs.
        pyarrow = pyarrow_for("Arrow", "pyarrow")
        is_batch = isinstance(table, pyarrow.RecordBatch)
        whole = pyarrow.Table.from_batches([table]) if is_batch else table
        slices = (whole.slice(place, 1) for place in places)
        found = pyarrow.concat_tables([whole.slice(0, 0), *slices]).combine_chunks()
        return next(iter(found.to_batches()), table.slice(0, 0)) if is_batch else found


class _Rows:
    """Makes records of batches of rows, from a position on."""

    def __init__(self, request: ReadRequest) -> None:
        self._name = request.name
        self._options = request.options
        self._first = request.position
        self._next = request.position
        self._offset = request.byte_offset
        self._fields = RecordFields(request.name, request.options)

    def of_batch(self, batch: Any, position: int, offset: int) -> Iterator[Record]:
        """Yield the records of a batch.

        Args:
            batch: The rows.
            position: Number of the first.
            offset: The byte offset of each.
        """
        self._offset = offset
        if position + batch.num_rows <= self._first:
            return
        if position < self._first:
            batch = batch.slice(self._first - position)
            position = self._first
        names = batch.schema.names
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            self._next = position + 1
            yield self._fields.row(zip(names, row, strict=True), position, offset)
            position += 1

    def without_text(self, names: Sequence[str]) -> tuple[Rejection, ...] | None:
        """Return the rejection of a table that has no column for the text; None: it has one.

        It is one for the whole table, at its beginning: nothing where reading goes on.
        """
        wanted = (self._options.text_field,) if self._options.text_field else TEXT_FIELDS
        # A column may hold an object.
        if EXPORT_FIELD in names or any(
            name in names or name.partition(".")[0] in names for name in wanted
        ):
            return None
        if not self._options.text_field and written_otherwise(TEXT_FIELDS, names):
            return None
        if self._first:
            return ()
        return (Rejection(self._name, 0, self._offset, self._offset, no_text(wanted, names)),)

    def broken(self, error: Exception) -> Rejection:
        """Return the rejection of what comes after the last row that could be read.

        Raises:
            MemoryError: The table wants more memory than there is.
        """
        if isinstance(error, MemoryError):
            raise error
        reason = f"the table is damaged: {' '.join(str(error).split())[:200]}"
        return Rejection(self._name, self._next, self._offset, self._offset, reason)


def pyarrow_for(what: str, module: str) -> Any:
    """Return PyArrow with one of its modules imported.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import pyarrow

        import_module(module)
    except ImportError:
        raise MissingExtra(what, "parquet") from None
    return pyarrow
