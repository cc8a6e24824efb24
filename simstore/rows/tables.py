"""Rows of columnar tables: Parquet, Arrow and Feather files, and streams of Arrow batches.

A child process reads the file (:mod:`simstore.sources.isolated`) and hands over whole batches in
Arrow's own form; this process makes documents of the columns for key and text, and writes batches
with the rows that are kept, of the same types.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from simstore.errors import UnreadableSource
from simstore.model import Rejection
from simstore.rows.batch import (
    BATCH_BYTES,
    BATCH_ROWS,
    DROPPED,
    KEPT,
    Content,
    Marks,
    Row,
    RowBatch,
    TableContent,
    already_there,
)
from simstore.sources.columnar import arrow_batches, pyarrow_for, taken
from simstore.sources.documents import KEY_FIELDS, TEXT_FIELDS
from simstore.sources.fields import RecordFields, no_key, no_text, of_table, written_otherwise
from simstore.sources.isolated import IsolatedReader
from simstore.sources.reader import ReadOptions, ReadRequest
from simstore.sources.registry import look_ahead
from simstore.sources.source import Record
from simstore.sources.streams import ByteStream, sought

FORMATS = ("parquet", "arrow")
_ARROW_STREAM = b"\xff\xff\xff\xff"
# Behind any row: the schema is read, and no batch.
_NO_ROWS = 1 << 62
# Types of columns that are added, as PyArrow names them; of others: strings.
_TYPES = {"resemblance": "float64", "cluster": "int64"}


class TableBatches(IsolatedReader):
    """Reads the batches of a Parquet or Arrow file, each as a stream of Arrow's of its own."""

    package, feature, extra = "pyarrow", "Parquet and Arrow", "parquet"

    def read_here(
        self, stream: io.BufferedReader, request: ReadRequest
    ) -> Iterator[Record | bytes | None]:
        """Yield how the file was written, as JSON; its schema; then its batches.

        Raises:
            MissingExtra: PyArrow is not installed.
        """
        pyarrow = pyarrow_for("Parquet", "pyarrow.parquet")
        pyarrow_for("Arrow", "pyarrow.ipc")
        is_parquet = request.options.format == "parquet"
        read = _parquet_batches if is_parquet else _checked_batches
        try:
            for batch in read(pyarrow, stream, request):
                if isinstance(batch, dict):
                    yield json.dumps(batch).encode()
                    continue
                written = io.BytesIO()
                schema = batch if isinstance(batch, pyarrow.Schema) else batch.schema
                with pyarrow.ipc.new_stream(written, schema) as target:
                    if batch is not schema:
                        target.write_batch(batch)
                yield written.getvalue()
                yield None
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            reason = f"the table is damaged: {' '.join(str(error).split())[:200]}"
            yield Rejection(request.name, 0, 0, 0, reason)


def _parquet_batches(
    pyarrow: Any, stream: io.BufferedReader, request: ReadRequest
) -> Iterator[Any]:
    file = pyarrow.parquet.ParquetFile(stream)
    metadata = file.metadata
    yield _written_by(metadata)
    yield file.schema_arrow
    if request.position == _NO_ROWS:
        return
    size = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    most = max(1, min(BATCH_ROWS, BATCH_BYTES * metadata.num_rows // max(size, 1)))
    for group in range(metadata.num_row_groups):
        yield from file.iter_batches(most, row_groups=[group])


def _checked_batches(
    pyarrow: Any, stream: io.BufferedReader, request: ReadRequest
) -> Iterator[Any]:
    yield {}
    if request.head.startswith(_ARROW_STREAM):
        yield pyarrow.ipc.open_stream(stream).schema
    else:
        yield pyarrow.ipc.open_file(stream).schema
    if request.position == _NO_ROWS:
        return
    stream.seek(0)
    for batch in arrow_batches(pyarrow, stream, request.head):
        # A place outside of a batch would be read, and be a text, or end the process.
        batch.validate(full=True)
        most = max(1, min(BATCH_ROWS, BATCH_BYTES * batch.num_rows // max(batch.nbytes, 1)))
        yield from (batch.slice(first, most) for first in range(0, batch.num_rows, most))


def _written_by(metadata: Any) -> dict[str, Any]:
    """Return the options of a writer by which a Parquet file was written."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return {}
    codec = metadata.row_group(0).column(0).compression.lower()
    physical = {metadata.schema.column(n).physical_type for n in range(metadata.num_columns)}
    return {
        "compression": "none" if codec == "uncompressed" else codec,
        "use_deprecated_int96_timestamps": "INT96" in physical,
    }


class TableRows:
    """A Parquet or Arrow file, whose rows keep their columns, types and order.

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
        self._begun: tuple[dict[str, Any], Any] | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """Return what files have in common whose rows can stand in one: their columns."""
        _, schema = self._beginning()
        return self.format, tuple((field.name, str(field.type)) for field in schema)

    def refused(self) -> str | None:
        """Return why no column holds the text or the key; None: all do, or it is damaged."""
        try:
            _, schema = self._beginning()
        except UnreadableSource:
            return None
        _, refused = self._columns(schema.names)
        if refused is not None:
            return refused.reason
        return no_key(self._options.key_field, schema.names)

    def batches(self) -> Iterator[RowBatch]:
        """Yield the rows in batches."""
        position = 0
        fields = RecordFields(self.name, self._options, is_lean=True)
        names: list[str] | None = None
        for batch in self._pieces():
            if isinstance(batch, Rejection):
                yield RowBatch((), position, None, batch)
                return
            if names is None:
                names, refused = self._columns(batch.schema.names)
                if refused is not None:
                    yield RowBatch((), 0, None, refused)
                    return
            columns = [batch.column(name).to_pylist() for name in names]
            rows: list[Row] = [
                fields.row(zip(names, values, strict=True), number, number)
                for number, values in enumerate(zip(*columns, strict=True), position)
            ]
            position += batch.num_rows
            yield RowBatch(tuple(rows), position, TableContent(batch))

    def again(
        self,
        spans: Iterable[tuple[int, int]],
        *,
        whole: bool = True,
    ) -> Iterator[TableContent]:
        """Yield the rows once more, without looking into them, in batches.

        Args:
            spans: A pair a row that was read.
            whole: The file was read to its end; else the rows behind are damaged.

        Raises:
            UnreadableSource: It is another file since.
        """
        left = sum(1 for _ in spans)
        for batch in self._pieces():
            if isinstance(batch, Rejection):
                if whole or left:
                    raise UnreadableSource(self.name, batch.reason)
                return
            if batch.num_rows > left:
                if whole:
                    raise UnreadableSource(self.name, "it has more rows since it was read")
                batch = batch.slice(0, left)
            left -= batch.num_rows
            yield TableContent(batch)
        if left:
            raise UnreadableSource(self.name, "it has fewer rows since it was read")

    @contextmanager
    def writer(self, stream: BinaryIO, marks: Sequence[str] = ()) -> Iterator[TableWriter]:
        """Yield a writer of such a table.

        Raises:
            InvalidParameter: The table has such columns already.
        """
        pyarrow = pyarrow_for("Parquet", "pyarrow.parquet")
        pyarrow_for("Arrow", "pyarrow.ipc")
        written_by, schema = self._beginning()
        if held := [name for name in marks if name in schema.names]:
            raise already_there(self.name, held)
        for name in marks:
            schema = schema.append(
                pyarrow.field(name, getattr(pyarrow, _TYPES.get(name, "string"))())
            )
        if self.format == "parquet":
            opened = pyarrow.parquet.ParquetWriter(stream, schema, **written_by)
        elif self._head().startswith(_ARROW_STREAM):
            opened = pyarrow.ipc.new_stream(stream, schema)
        else:
            opened = pyarrow.ipc.new_file(stream, schema)
        with opened as target:
            yield TableWriter(pyarrow, target, schema, tuple(marks))

    def _pieces(self) -> Iterator[Any]:
        """Yield the batches; a rejection where the file is damaged."""
        pyarrow = pyarrow_for("Arrow", "pyarrow.ipc")
        with self._opened() as stream:
            request = ReadRequest(self.name, 0, 0, self._options, self._head())
            for number, piece in enumerate(TableBatches().pieces(stream, request)):
                if isinstance(piece, Rejection):
                    yield piece
                    return
                if number > 1 and isinstance(piece, bytes):
                    yield from pyarrow.ipc.open_stream(piece)

    def _beginning(self) -> tuple[dict[str, Any], Any]:
        """Return how the file was written, and its columns.

        Raises:
            UnreadableSource: The file is damaged.
        """
        if self._begun is not None:
            return self._begun
        pyarrow = pyarrow_for("Arrow", "pyarrow.ipc")
        with self._opened() as stream:
            request = ReadRequest(self.name, _NO_ROWS, 0, self._options, self._head())
            found: list[bytes] = []
            for piece in TableBatches().pieces(stream, request):
                if isinstance(piece, Rejection):
                    raise UnreadableSource(self.name, piece.reason)
                if isinstance(piece, bytes):
                    found.append(piece)
            if len(found) > 1:
                self._begun = json.loads(found[0]), pyarrow.ipc.open_stream(found[1]).schema
                return self._begun
        raise UnreadableSource(self.name, "the table has no columns")

    @contextmanager
    def _opened(self) -> Iterator[io.BufferedReader]:
        with (
            ByteStream(self.name, self._options.max_expansion, self.path).open() as opened,
            sought(opened, self.name) as stream,
        ):
            yield stream

    def _head(self) -> bytes:
        with ByteStream(self.name, self._options.max_expansion, self.path).open() as opened:
            return look_ahead(opened, self.name, self._options)[1]

    def _columns(self, names: Sequence[str]) -> tuple[list[str], Rejection | None]:
        """Return the columns that a document is made of; or why there are none."""
        options = self._options
        texts = (options.text_field,) if options.text_field else TEXT_FIELDS
        keys = (options.key_field,) if options.key_field else KEY_FIELDS
        first = {name.partition(".")[0] for name in (*texts, *keys)} | {*texts, *keys}
        if not options.text_field:
            first.add(written_otherwise(TEXT_FIELDS, names))
        if not options.key_field:
            first.add(written_otherwise(KEY_FIELDS, names))
        found = [name for name in names if name in first]
        if any(name in found or name.partition(".")[0] in found for name in texts) or (
            not options.text_field and written_otherwise(TEXT_FIELDS, names)
        ):
            return found, None
        return found, Rejection(self.name, 0, 0, 0, no_text(texts, names))


def row_json(content: TableContent, number: int) -> bytes:
    """Return a row of a table as JSON, in ASCII; columns of bytes are left out.

    Args:
        content: Rows of the table.
        number: Which of them.
    """
    (row,) = content.batch.slice(number, 1).to_pylist()
    return json.dumps(of_table(row.items()), default=str).encode()


class TableWriter:
    """Writes batches of rows with their columns.

    Args:
        pyarrow: The package.
        target: A writer of PyArrow.
        schema: Columns, those that are added the last.
        marks: Names of these.
    """

    def __init__(self, pyarrow: Any, target: Any, schema: Any, marks: tuple[str, ...]) -> None:
        self._pyarrow = pyarrow
        self._target = target
        self._schema = schema
        self._marks = marks

    def write(self, content: Content, fates: Sequence[int], marks: Marks) -> None:
        """Write those rows that are kept; what could not be read has nulls in added columns."""
        if not isinstance(content, TableContent):
            raise TypeError(f"{type(content).__name__}: no table")
        pyarrow, batch = self._pyarrow, content.batch
        columns = list(batch.columns)
        for name in self._marks:
            values = [
                value if fate == KEPT else None
                for value, fate in zip(marks[name], fates, strict=True)
            ]
            columns.append(pyarrow.array(values, self._schema.field(name).type))
        made = pyarrow.Table.from_arrays(columns, schema=self._schema)
        if DROPPED in fates:
            kept = [place for place, fate in enumerate(fates) if fate != DROPPED]
            made = taken(made, kept)
        if made.num_rows:
            self._target.write_table(made)
