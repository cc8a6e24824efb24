"""Documents of an export as Parquet, by PyArrow (``pip install 'simstore[parquet]'``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from simstore.errors import InvalidParameter, MissingExtra
from simstore.reports.exported import ExportedDocument
from simstore.reports.lines import key_text, to_json
from simstore.reports.written import STANDARD_OUTPUT, written
from simstore.text.decoding import encode

# A row group ends with whichever comes first.
_GROUP_DOCUMENTS = 10_000
_GROUP_CHARACTERS = 1 << 25


@contextmanager
def parquet_sink(
    target: str | os.PathLike[str], *, replace: bool = False
) -> Iterator[Callable[[Sequence[ExportedDocument]], None]]:
    """Yield a function that appends documents to a Parquet file, some thousand a row group.

    The columns are those of the JSON records; metadata are JSON text, times are UTC, and the bytes
    of keys and texts that are not UTF-8 stand in ``key_bytes`` and ``text_bytes``.

    Args:
        target: The file.
        replace: Put it in the place of a file that is there.

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
    if os.fspath(target) == STANDARD_OUTPUT:
        raise InvalidParameter("Parquet goes to a file: name it with -o")
    schema = _schema(pa)
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


def _schema(pa: Any) -> Any:
    time = pa.timestamp("s", "UTC")
    return pa.schema(
        [
            pa.field("key", pa.string(), nullable=False),
            ("key_bytes", pa.binary()),
            # A row group may hold more than 2 GiB of text.
            ("text", pa.large_string()),
            ("text_bytes", pa.large_binary()),
            ("title", pa.string()),
            ("collection", pa.string()),
            ("metadata", pa.string()),
            pa.field("digest", pa.string(), nullable=False),
            ("source", pa.string()),
            ("first_seen", time),
            ("first_seen_basis", pa.string()),
            ("last_seen", time),
            ("links", pa.list_(pa.string())),
            ("cluster_id", pa.int64()),
            ("canonical", pa.string()),
            ("distance", pa.int32()),
            ("resemblance", pa.float64()),
            ("reason", pa.string()),
        ]
    )


def _row(document: ExportedDocument) -> dict[str, Any]:
    dropped = document.dropped
    row: dict[str, Any] = {
        "key": key_text(document.key),
        "key_bytes": _odd_bytes(document.key),
        "text": None if document.text is None else key_text(document.text),
        "text_bytes": None if document.text is None else _odd_bytes(document.text),
        "title": document.title,
        "collection": document.collection,
        "metadata": to_json(dict(document.metadata)) if document.metadata else None,
        "digest": document.digest,
        "source": None if document.source is None else key_text(document.source),
        "first_seen": datetime.fromtimestamp(document.first_seen, UTC),
        "first_seen_basis": document.first_seen_basis,
        "last_seen": datetime.fromtimestamp(document.last_seen, UTC),
        "links": [key_text(link) for link in document.links],
    }
    if dropped is not None:
        row |= {
            "cluster_id": dropped.cluster_id,
            "canonical": key_text(dropped.canonical),
            "distance": dropped.distance,
            "resemblance": dropped.resemblance,
            "reason": dropped.reason,
        }
    return row


def _odd_bytes(text: str) -> bytes | None:
    """Return the bytes of a text that is not UTF-8; None for any other."""
    data = encode(text)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    return None
