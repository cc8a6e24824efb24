"""Sign the rows of files: digests, fingerprints, sketches and shingle sets, kept in a ledger."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors.remedies import in_words
from simstore.fingerprint.channels import signatures
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.model import Document, Rejection
from simstore.rows.batch import LineContent, Place, Row, RowBatch, RowFile, TableContent
from simstore.rows.inputs import check_unchanged, identity
from simstore.rows.tables import row_json
from simstore.services.dedup.ledger import Ledger
from simstore.services.dedup.options import RowObserver, RowOptions, RowRule
from simstore.services.ingest.garbage import collected_between
from simstore.services.ingest.pipeline import in_order
from simstore.services.workers.processors import usual_processor_count
from simstore.text.decoding import document_digest, encode, exact_text

# A row as it stands in the ledger. `kind` is 1 for a document, 0 for what could not be read.
ROW = np.dtype(
    [
        ("file", "<i4"), ("kind", "u1"), ("position", "<i8"), ("first", "<i8"), ("end", "<i8"),
        ("byte_count", "<i8"), ("features", "<i8"), ("shingles", "<i8"), ("print", "<u8"),
        ("digest", "<u8", (2,)), ("key_bytes", "<i4"),
    ]
)  # fmt: skip
ROWS, KEYS, SKETCHES, SETS, REJECTS = "rows", "keys", "sketches", "sets", "rejects.jsonl"
FILES = (ROWS, KEYS, SKETCHES, SETS, REJECTS)
# Kernels read values of 16 bits, of whichever sketches.
SKETCH_VALUE = np.dtype("<u2")
_MOST_THREADS = 4
# Sketches that are read at once, and what their bands take that are made of all in one reading.
_BLOCK_ROWS = 1 << 15
_COLUMN_BYTES = 96 << 20


_BEGINNING = Place()


@dataclass(frozen=True, slots=True)
class Reading:
    """How far files were read.

    Attributes:
        file: Number of the file that is read.
        place: Where it is read on.
        row_count: Rows that were read of all.
        damaged: Numbers of files that break off.
    """

    file: int = 0
    place: Place = _BEGINNING
    row_count: int = 0
    damaged: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "file": self.file,
            "place": list(self.place),
            "row_count": self.row_count,
            "damaged": list(self.damaged),
        }

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Reading:
        """Return what a checkpoint tells; the beginning, where there was none."""
        if "file" not in facts:
            return cls()
        place = Place(*facts["place"])
        return cls(facts["file"], place, facts["row_count"], tuple(facts["damaged"]))


def read_files(
    files: Sequence[RowFile], ledger: Ledger, observer: RowObserver
) -> Iterator[tuple[int, RowBatch, Reading]]:
    """Yield the batches of files that are still to be read, and how far reading is after each.

    Args:
        files: The files.
        ledger: Tells where reading goes on.
        observer: Hears of what cannot be read.

    Raises:
        UnreadableSource: A file has changed since the run began, or cannot be read.
    """
    now = Reading.of(ledger.last)
    sizes = [identity(file.path)[0] for file in files]
    for number in range(now.file, len(files)):
        file, known = files[number], identity(files[number].path)
        place = now.place if number == now.file else Place()
        damaged = now.damaged
        for batch in file.batches(place):
            place = batch.end
            for row in batch.rows:
                if isinstance(row, Rejection):
                    observer.on_reject(row)
            if batch.damage is not None:
                observer.on_reject(batch.damage)
                damaged = (*damaged, number)
            now = Reading(number, place, now.row_count + len(batch.rows), damaged)
            yield number, batch, now
            done = sum(sizes[:number]) + min(place.byte_offset, sizes[number])
            observer.on_progress(done, sum(sizes))
        check_unchanged(file, known)
        now = Reading(number + 1, Place(), now.row_count, damaged)
    observer.on_progress(sum(sizes), sum(sizes))


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


def sign_files(
    files: Sequence[RowFile],
    ledger: Ledger,
    rule: RowRule,
    options: RowOptions,
    observer: RowObserver,
) -> Reading:
    """Sign all rows of files that are not signed yet.

    Returns:
        How far files were read: to their end.
    """
    compiled.announce(sum(identity(file.path)[0] for file in files))
    threads = options.threads or min(usual_processor_count(), _MOST_THREADS)
    now = Reading.of(ledger.last)

    def signed(read: tuple[int, RowBatch, Reading]) -> tuple[dict[str, bytes], Reading]:
        number, batch, reached = read
        return _signed(number, batch, rule), reached

    share = 1 / (2 * threads)
    read = read_files(files, ledger, observer)
    with collected_between() as collect:
        for made, reached in in_order(signed, read, threads, share=lambda _: share):
            for name, data in made.items():
                ledger.append(name, data)
            now = reached
            ledger.checkpoint(now.as_json())
            collect()
    now = Reading(len(files), Place(), now.row_count, now.damaged)
    ledger.checkpoint(now.as_json(), now=True)
    return now


def row_array(number: int, rows: Sequence[Row]) -> NDArray[Any]:
    """Return rows as they stand in the ledger, without what is made of their texts."""
    made = np.zeros(len(rows), ROW)
    made["file"] = number
    made["kind"] = [isinstance(row, Document) for row in rows]
    made["position"] = [row.position or 0 for row in rows]
    made["first"] = [row.byte_offset or 0 for row in rows]
    made["end"] = [row.end_offset or 0 for row in rows]
    return made


def _signed(number: int, batch: RowBatch, rule: RowRule) -> dict[str, bytes]:
    """Return what a batch adds to the files of a ledger."""
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
    """The rows of a ledger with their keys. Files are mapped into memory, not read.

    Attributes:
        rows: Shape (rows,), dtype ``ROW``.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.rows: NDArray[Any] = _mapped(ledger, ROWS, ROW)
        self._keys = _mapped(ledger, KEYS, np.dtype("u1"))
        self._key_starts = _starts(self.rows["key_bytes"])

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, row: int) -> str:
        """Return the key of a row."""
        start = int(self._key_starts[row])
        return exact_text(self._keys[start : start + int(self.rows["key_bytes"][row])].tobytes())


class SignedRows(StoredKeys):
    """The rows of a ledger, all of them signed.

    Args:
        ledger: The ledger.
        values: Values of a sketch.
    """

    def __init__(self, ledger: Ledger, values: int) -> None:
        super().__init__(ledger)
        self._values = values
        self._set_starts = _starts(self.rows["shingles"])

    @property
    def sketches(self) -> NDArray[np.uint16]:
        """Return the sketches, shape (rows, values)."""
        return _mapped(self._ledger, SKETCHES, SKETCH_VALUE).reshape(-1, self._values)

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
            with self._ledger.opened(SKETCHES) as file:
                for start in range(0, len(self), _BLOCK_ROWS):
                    block = np.fromfile(file, SKETCH_VALUE, _BLOCK_ROWS * self._values)
                    block = block.reshape(-1, self._values)
                    low, high = np.searchsorted(rows, (start, start + _BLOCK_ROWS))
                    chosen = block[rows[low:high] - start, begin:end]
                    made[:, low:high] = band_values(chosen, some).T
            yield from made

    def sets(self, rows: NDArray[np.int64]) -> ShingleSets:
        """Return the shingle sets of rows."""
        starts, sizes = self._set_starts[rows].tolist(), self.rows["shingles"][rows].tolist()
        # Read, not mapped: most are looked at once, and pages of a mapped file stay in memory.
        with self._ledger.opened(SETS) as file:
            held = [
                np.frombuffer(os.pread(file.fileno(), 8 * size, 8 * start), "<u8")
                for start, size in zip(starts, sizes, strict=True)
            ]
        return from_rows(held)


def _starts(sizes: NDArray[Any]) -> NDArray[np.int64]:
    ends = np.cumsum(sizes, dtype=np.int64)
    result: NDArray[np.int64] = ends - sizes
    return result


def _mapped(ledger: Ledger, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    with ledger.opened(name) as file:
        if not os.fstat(file.fileno()).st_size:
            return np.empty(0, dtype)
        # Kernels are compiled for arrays that can be written; changes would stay in memory.
        return np.asarray(np.memmap(file, dtype, "c"))
