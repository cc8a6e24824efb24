"""Read sources into documents with fingerprints and sketches, on Spark's executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simstore.errors import InvalidParameter, printable
from simstore.fingerprint.channels import signatures
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.model import (
    LABELS,
    Document,
    DocumentLabels,
    ExportedDocument,
    Ignored,
    Rejection,
)
from simstore.reports.exported import exported_record
from simstore.reports.lines import to_json
from simstore.sources.fields import RecordFields
from simstore.sources.files import FileSource
from simstore.sources.frames import present
from simstore.sources.reader import ReadOptions
from simstore.sources.seen_since import claim
from simstore.spark.options import SKETCH_COLUMNS, Recipe
from simstore.text.decoding import document_digest, encode

if TYPE_CHECKING:
    import pyarrow as pa

# Documents that are made at a time: by number, and by characters.
_BATCH_DOCUMENTS = 1_000
_BATCH_CHARACTERS = 4 << 20
# A place is the number of a source and the number of a record in it.
PLACE_BITS = 40

# Columns of what is read: those of an export, and what dedup goes by. Spark's names of types.
DOCUMENT_COLUMNS = (
    "simstore_record int, key string, key_base64 string, text string, text_base64 string, "
    f"{', '.join(f'{name} string' for name in LABELS)}, "
    "metadata string, digest string, source string, "
    "first_seen bigint, first_seen_basis string, last_seen bigint, links array<string>, "
    "links_base64 array<string>, place bigint, fingerprint string"
)
_SKETCHES = ", ".join(f"{name} binary" for name in SKETCH_COLUMNS.values())
READ_COLUMNS = (
    f"{DOCUMENT_COLUMNS}, key_bytes binary, text_digest binary, byte_count bigint, "
    "major bigint, w0 bigint, w1 bigint, feature_count bigint, shingle_count bigint, "
    f"{_SKETCHES}, is_detected boolean, rejected string, position bigint, byte_offset bigint, "
    "head binary"
)
# What a DataFrame of a caller is not likely to call a column.
PLACE = "simstore_place"
SPLIT_COLUMNS = "number bigint, name string"


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads sources into documents with signatures.

    Attributes:
        recipe: By which they are signed.
        options: By which they are read.
        folder: The working directory of the driver, where relative names begin.
        now: When documents without a date are seen.
        label: What rejected rows of a DataFrame are of.
    """

    recipe: Recipe
    options: ReadOptions
    folder: str
    now: int
    label: str = "DataFrame"

    def of_splits(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the documents of sources, as ``READ_COLUMNS``.

        Args:
            batches: Rows of ``SPLIT_COLUMNS``.
        """
        return self._signed(
            place
            for batch in batches
            for row in batch.to_pylist()
            for place in self._records(row["number"], row["name"])
        )

    def of_rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the documents of the rows of a DataFrame, as ``READ_COLUMNS``.

        Args:
            batches: Rows; their places are in the column :data:`PLACE`.
        """
        fields = RecordFields(self.label, self.options, key_required=True)

        def records() -> Iterator[tuple[int, Any]]:
            for batch in batches:
                for row in batch.to_pylist():
                    place = row.pop(PLACE)
                    yield place, fields.row(present(row.items()).items(), place)

        return self._signed(records())

    def _records(self, number: int, name: str) -> Iterator[tuple[int, Any]]:
        """Yield the records of a source with their places."""
        try:
            with chdir(self.folder):
                for count, record in enumerate(FileSource(name, self.options).records()):
                    yield number << PLACE_BITS | count, record
        except FileNotFoundError:
            raise InvalidParameter(
                f"{printable(self.folder)}: this folder is not on every machine of the cluster; "
                "put the inputs where all machines see them"
            ) from None

    def _signed(self, records: Iterable[tuple[int, Any]]) -> Iterator[pa.RecordBatch]:
        waiting: list[tuple[int, Any]] = []
        size = 0
        for record in records:
            waiting.append(record)
            size += len(record[1].text) if isinstance(record[1], Document) else 0
            if len(waiting) >= _BATCH_DOCUMENTS or size >= _BATCH_CHARACTERS:
                yield self._batch(waiting)
                waiting, size = [], 0
        if waiting:
            yield self._batch(waiting)

    def _batch(self, records: list[tuple[int, Any]]) -> pa.RecordBatch:
        import pyarrow as pa

        documents = [(place, one) for place, one in records if isinstance(one, Document)]
        rows = self._rows(documents) if documents else []
        for place, one in records:
            if isinstance(one, Rejection):
                rows.append(
                    {
                        "place": place,
                        "source": printable(one.source),
                        "rejected": one.reason,
                        "position": one.position,
                        "byte_offset": one.byte_offset,
                        "head": one.head,
                    }
                )
            elif isinstance(one, Ignored):
                rows.append({"place": place, "source": printable(one.source)})
        return pa.RecordBatch.from_pylist(rows, arrow_schema(READ_COLUMNS))

    def _rows(self, documents: list[tuple[int, Document]]) -> list[dict[str, Any]]:
        scheme, channels = self.recipe.open()
        texts = [document.text for _, document in documents]
        encoded = [encode(text) for text in texts]
        compared = self.recipe.compared().name
        made = signatures(scheme, channels, texts, sum(map(len, encoded)), compared=compared)
        keys = [document.key for _, document in documents]
        majors = self.recipe.order.majors(keys, list(map(len, encoded)))
        rows: list[dict[str, Any]] = []
        for row, (place, document) in enumerate(documents):
            data = encoded[row]
            digest = document_digest(encode(document.key), document.text, data)
            seen_at = self.now if document.seen_at is None else document.seen_at
            first_seen, basis = claim(document, seen_at)
            record = exported_record(
                ExportedDocument(
                    key=document.key,
                    text=document.text,
                    **DocumentLabels.of(document).by_name(),
                    metadata=document.metadata,
                    digest=digest.hex(),
                    source=None,
                    first_seen=first_seen,
                    first_seen_basis=basis,
                    last_seen=seen_at,
                    links=document.links,
                )
            )
            if "metadata" in record:
                record["metadata"] = to_json(record["metadata"])
            record |= {
                "place": place,
                "key_bytes": encode(document.key),
                "text_digest": digest,
                "byte_count": len(data),
                "is_detected": document.decoding is not None and document.decoding.is_detected,
                "major": majors[row],
                "feature_count": int(made.feature_counts[row]),
                "shingle_count": int(made.shingle_counts[row]),
                "position": document.position,
            }
            if made.words is not None:
                words = made.words[row : row + 1]
                record["fingerprint"] = to_hex(to_integers(words)[0], scheme.bits)
                signed = words.view("int64")[0].tolist()
                record |= {f"w{place}": value for place, value in enumerate(signed)}
            for name, made_of in made.sketches.items():
                kind = channels.recipe(name).sketching.dtype
                record[SKETCH_COLUMNS[name]] = made_of[row].astype(kind).tobytes()
            rows.append(record)
        return rows


def arrow_schema(columns: str) -> pa.Schema:
    """Return the Arrow schema of columns that are given as Spark takes them."""
    import pyarrow as pa

    types = {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "boolean": pa.bool_(),
        "double": pa.float64(),
        "array<string>": pa.list_(pa.string()),
    }
    pairs = (column.split() for column in columns.split(","))
    return pa.schema([(name, types[kind]) for name, kind in pairs])
