"""Write exported documents to Parquet with PyArrow (the extra ``parquet``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from simstore.errors import InvalidParameter, MissingExtra
from simstore.model import LABELS, ExportedDocument
from simstore.outputs import is_standard_output, written
from simstore.reports.exported import exported_record
from simstore.reports.lines import to_json

# A row group ends with whichever comes first.
_GROUP_DOCUMENTS = 10_000
_GROUP_CHARACTERS = 1 << 25


@contextmanager
def parquet_sink(
    target: str | os.PathLike[str],
    *,
    replace: bool = False,
    with_reasons: bool = False,
) -> Iterator[Callable[[Sequence[ExportedDocument]], None]]:
    """Yield a function that appends documents to a Parquet file, some thousand a row group.

    The columns are fields of the JSON records, for people and other programs; metadata are JSON
    text, times are UTC. JSON Lines are for ``simstore ingest``, which restores documents from them.

    Args:
        target: The file.
        replace: Put it in the place of a file that is there.
        with_reasons: With the fields of ``dropped_because``.

    Raises:
        MissingExtra: PyArrow is not installed.
        InvalidParameter: The file is standard output.
        OutputExists: There is a file already.
        StorageError: It cannot be written.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("Parquet", "parquet") from error
    if is_standard_output(target):
        raise InvalidParameter("Parquet goes to a file: name it with -o")
    schema = _schema(pa, with_reasons=with_reasons)
    waiting: list[ExportedDocument] = []
    with (
        written(target, replace=replace, compress=False) as stream,
        parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):

        def flush() -> None:
            if waiting:
                rows = [_row(document) for document in waiting]
                writer.write_table(pa.Table.from_pylist(rows, schema))
                waiting.clear()

        def append(page: Sequence[ExportedDocument]) -> None:
            waiting.extend(page)
            size = sum(len(document.text or "") for document in waiting)
            if len(waiting) >= _GROUP_DOCUMENTS or size >= _GROUP_CHARACTERS:
                flush()

        yield append
        flush()


def _schema(pa: Any, *, with_reasons: bool) -> Any:
    time = pa.timestamp("s", "UTC")
    columns = [
        pa.field("key", pa.string(), nullable=False),
        # A row group may hold more than 2 GiB of text.
        ("text", pa.large_string()),
        *((name, pa.string()) for name in LABELS),
        ("metadata", pa.string()),
        ("source", pa.string()),
        ("first_seen", time),
        ("last_seen", time),
        ("links", pa.list_(pa.string())),
    ]
    if with_reasons:
        columns += [
            ("canonical", pa.string()),
            ("distance", pa.int32()),
            ("resemblance", pa.float64()),
            ("reason", pa.string()),
        ]
    return pa.schema(columns)


def _row(document: ExportedDocument) -> dict[str, Any]:
    """Return the record of a document as a row: one object less deep, times as such."""
    row = exported_record(document)
    row |= row.pop("dropped_because", {})
    if "metadata" in row:
        row["metadata"] = to_json(row["metadata"])
    for name in ("first_seen", "last_seen"):
        row[name] = datetime.fromtimestamp(row[name], UTC)
    return row
