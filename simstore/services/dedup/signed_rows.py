"""Sign the rows of files: digests, fingerprints, sketches and shingle sets, in work files."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors.remedies import in_words
from simstore.fingerprint.channels import signatures
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.model import Document, Rejection
from simstore.processors import usual_processor_count
from simstore.rows.batch import LineContent, Row, RowBatch, RowFile, TableContent
from simstore.rows.inputs import check_unchanged, identity
from simstore.rows.tables import row_json
from simstore.services.dedup.options import RowObserver, RowOptions, RowRule
from simstore.services.dedup.work_files import WorkFiles
from simstore.services.ingest.pipeline import collected_between, in_order
from simstore.text.decoding import document_digest, encode, exact_text

# A row in the work files. `kind` is 1 for a document, 0 for what could not be read.
ROW = np.dtype(
    [
        ("file", "<i4"), ("kind", "u1"), ("position", "<i8"), ("first", "<i8"), ("end", "<i8"),
        ("byte_count", "<i8"), ("features", "<i8"), ("shingles", "<i8"), ("print", "<u8"),
        ("digest", "<u8", (2,)), ("key_bytes", "<i4"),
    ]
)  # fmt: skip
ROWS, KEYS, SKETCHES, SETS, REJECTS = "rows", "keys", "sketches", "sets", "rejects.jsonl"
# Kernels read values of 16 bits, of whichever sketches.
SKETCH_VALUE = np.dtype("<u2")
_MOST_THREADS = 4
# Sketches that are read at once, and what their bands take that are made of all in one reading.
_BLOCK_ROWS = 1 << 15
_COLUMN_BYTES = 96 << 20


@dataclass(slots=True)
class Reading:
    """The files of rows that a run reads.

    Attributes:
        files: The files.
        observer: Called with progress and with what cannot be read.
        damaged: Numbers of the files that break off.
    """

    files: Sequence[RowFile]
    observer: RowObserver
    damaged: list[int] = field(default_factory=list)

    def batches(self) -> Iterator[tuple[int, RowBatch]]:
        """Yield the number of a file and some of its rows, in order.

        Raises:
            UnreadableSource: A file changed while it was read, or cannot be read.
        """
        known = [identity(file.path) for file in self.files]
        total = sum(size for size, *_ in known)
        done = 0
        for number, file in enumerate(self.files):
            size = known[number][0]
            for batch in file.batches():
                for row in batch.rows:
                    if isinstance(row, Rejection):
                        self.observer.on_reject(row)
                if batch.damage is not None:
                    self.observer.on_reject(batch.damage)
                    self.damaged.append(number)
                yield number, batch
                self.observer.on_progress(done + min(batch.end, size), total)
            check_unchanged(file, known[number])
            done += size
        self.observer.on_progress(total, total)


def rejection_lines(batch: RowBatch) -> bytes:
    """Return what could not be read of a batch as JSON Lines, with the bytes of each row.

    A row of a table stands there as JSON.
    """
    lines = []
    for number, row in enumerate(batch.rows):
        if isinstance(row, Rejection):
            data = row.head
            if isinstance(batch.content, LineContent):
                first, end = batch.content.spans[number]
                data = batch.content.data[first:end]
            elif isinstance(batch.content, TableContent):
                # A table has rows, and no bytes of each.
                lines.append(_rejection_line(row, row_json(batch.content, number), None))
                continue
            lines.append(_rejection_line(row, data, row.byte_offset))
    if batch.damage is not None:
        lines.append(_rejection_line(batch.damage, batch.damage.head, batch.damage.byte_offset))
    return b"".join(lines)


def _rejection_line(row: Rejection, data: bytes, byte_offset: int | None) -> bytes:
    told: dict[str, Any] = {
        "source": row.source,
        "position": row.position,
        "byte_offset": byte_offset,
        "reason": in_words(row.reason),
    }
    try:
        told["row"] = data.decode()
    except UnicodeDecodeError:
        told["row_base64"] = base64.b64encode(data).decode()
    return json.dumps(told).encode() + b"\n"


def sign_files(reading: Reading, work: WorkFiles, rule: RowRule, options: RowOptions) -> None:
    """Sign all rows of files."""
    compiled.announce(sum(identity(file.path)[0] for file in reading.files))
    threads = options.threads or min(usual_processor_count(), _MOST_THREADS)

    def signed(read: tuple[int, RowBatch]) -> dict[str, bytes]:
        return _signed(*read, rule)

    share = 1 / (2 * threads)
    with collected_between() as collect:
        for made in in_order(signed, reading.batches(), threads, share=lambda _: share):
            for name, data in made.items():
                work.append(name, data)
            collect()


def row_array(number: int, rows: Sequence[Row]) -> NDArray[Any]:
    """Return rows for the work files, without what is derived from their texts."""
    made = np.zeros(len(rows), ROW)
    made["file"] = number
    made["kind"] = [isinstance(row, Document) for row in rows]
    made["position"] = [row.position or 0 for row in rows]
    made["first"] = [row.byte_offset or 0 for row in rows]
    made["end"] = [row.end_offset or 0 for row in rows]
    return made


def _signed(number: int, batch: RowBatch, rule: RowRule) -> dict[str, bytes]:
    """Return what a batch adds to the work files, by their names."""
    rows = batch.rows
    made = row_array(number, rows)
    documents = [row for row in rows if isinstance(row, Document)]
    texts = [one.text for one in documents]
    encoded = [encode(text) for text in texts]
    keys = [encode(one.key) for one in documents]
    held = np.flatnonzero(made["kind"])
    compared = rule.recipe.name
    sketches = np.zeros((len(rows), rule.recipe.sketching.values), SKETCH_VALUE)
    sets = b""
    if documents:
        sizes = list(map(len, encoded))
        found = signatures(
            rule.scheme, rule.channels, texts, sum(sizes), with_sets=True, compared=compared
        )
        made["byte_count"][held] = sizes
        made["features"][held] = found.feature_counts
        made["shingles"][held] = found.shingle_counts
        if found.words is not None:
            made["print"][held] = found.words[:, 0]
        # Rows may share a key, so the place of an empty text tells it apart.
        owners = [b"%d:%d" % (number, one.position or 0) for one in documents]
        digests = b"".join(map(document_digest, owners, texts, encoded))
        made["digest"][held] = np.frombuffer(digests, "<u8").reshape(-1, 2)
        made["key_bytes"][held] = list(map(len, keys))
        if compared in found.sketches:
            sketches[held] = found.sketches[compared]
        if found.sets is not None:
            sets = found.sets.hashes.tobytes()
    return {
        ROWS: made.tobytes(),
        KEYS: b"".join(keys),
        SKETCHES: sketches.tobytes(),
        SETS: sets,
        REJECTS: rejection_lines(batch),
    }


class StoredKeys:
    """The rows of the work files with their keys. Files are mapped into memory, not read.

    Attributes:
        rows: Shape (rows,), dtype ``ROW``.
    """

    def __init__(self, work: WorkFiles) -> None:
        self._work = work
        self.rows: NDArray[Any] = work.mapped(ROWS, ROW)
        self._keys = work.mapped(KEYS, np.dtype("u1"))
        self._key_starts = _starts(self.rows["key_bytes"])

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, row: int) -> str:
        """Return the key of a row."""
        start = int(self._key_starts[row])
        return exact_text(self._keys[start : start + int(self.rows["key_bytes"][row])].tobytes())


class SignedRows(StoredKeys):
    """The rows of the work files, all of them signed.

    Args:
        work: The files.
        values: Values of a sketch.
    """

    def __init__(self, work: WorkFiles, values: int) -> None:
        super().__init__(work)
        self._values = values
        self._set_starts = _starts(self.rows["shingles"])

    @property
    def sketches(self) -> NDArray[np.uint16]:
        """Return the sketches, shape (rows, values)."""
        return self._work.mapped(SKETCHES, SKETCH_VALUE).reshape(-1, self._values)

    def band_columns(
        self, rows: NDArray[np.int64], layout: BandLayout
    ) -> Iterator[NDArray[np.uint64]]:
        """Yield the hashes of a band of some rows' sketches, shape (rows,), band after band.

        Sketches are read some at a time, several times over: all of them would take more memory
        than what is made of them.

        Args:
            rows: Which rows, int64, ascending.
            layout: The bands.
        """
        together = max(_COLUMN_BYTES // (8 * max(len(rows), 1)), 1)
        for first in range(0, layout.bands, together):
            some = BandLayout(min(together, layout.bands - first), layout.rows)
            made = np.empty((some.bands, len(rows)), np.uint64)
            begin, end = first * layout.rows, (first + some.bands) * layout.rows
            descriptor = self._work.descriptor(SKETCHES)
            block_bytes = _BLOCK_ROWS * self._values * SKETCH_VALUE.itemsize
            for number, start in enumerate(range(0, len(self), _BLOCK_ROWS)):
                data = os.pread(descriptor, block_bytes, number * block_bytes)
                block = np.frombuffer(data, SKETCH_VALUE).reshape(-1, self._values)
                low, high = np.searchsorted(rows, (start, start + _BLOCK_ROWS))
                chosen = block[rows[low:high] - start, begin:end]
                made[:, low:high] = band_values(chosen, some).T
            yield from made

    def sets(self, rows: NDArray[np.int64]) -> ShingleSets:
        """Return the shingle sets of rows."""
        starts, sizes = self._set_starts[rows].tolist(), self.rows["shingles"][rows].tolist()
        descriptor = self._work.descriptor(SETS)
        # Read, not mapped: most are looked at once, and pages of a mapped file stay in memory.
        held = [
            np.frombuffer(os.pread(descriptor, 8 * size, 8 * start), "<u8")
            for start, size in zip(starts, sizes, strict=True)
        ]
        return from_rows(held)


def _starts(sizes: NDArray[Any]) -> NDArray[np.int64]:
    ends = np.cumsum(sizes, dtype=np.int64)
    result: NDArray[np.int64] = ends - sizes
    return result
