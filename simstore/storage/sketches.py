"""Read and write MinHash sketches of documents, and the forms of titles beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simstore.storage import tables
from simstore.storage.connection import Connection
from simstore.storage.damage import check_deleted
from simstore.storage.rows import (
    count_rows,
    delete_in,
    fetch,
    insert_rows,
    largest,
    numbers_after,
    select_in,
)
from simstore.storage.tables.names import SKETCH_NAMES

if TYPE_CHECKING:
    from sqlalchemy import Table

# Sketches that are read from the database at a time.
_READ_ROWS = 8_192
_WRITTEN = ("scheme_id", "document_id", "size", "sketch", "forms")
# Document, size, sketch, forms.
MadeSketch = tuple[int, int, bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class StoredSketch:
    """The sketch of a document.

    Attributes:
        sketch_id: Its number; a later sketch has a larger one.
        size: Distinct shingles of the document.
        packed: 256 bytes; none where it has no shingle.
        forms: What its title is found by, packed; None: it is none.
    """

    sketch_id: int
    document_id: int
    size: int
    packed: bytes
    forms: bytes | None


class SketchTable:
    """The sketches of one channel.

    Args:
        name: The name of their table.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._read = (
            f"SELECT sketch_id, sketch, forms FROM {name} WHERE scheme_id = ? "  # noqa: S608 - ours
            "AND sketch_id > ? AND sketch_id <= ? AND size > 0 ORDER BY sketch_id LIMIT ?"
        )
        self._insert_one = (
            f"INSERT INTO {name} ({', '.join(_WRITTEN)}) "  # noqa: S608 - ours
            "VALUES (?, ?, ?, ?, ?) RETURNING sketch_id"
        )

    @property
    def sketches(self) -> Table:
        """The table."""
        return tables.metadata.tables[self.name]

    def put_many(self, connection: Connection, scheme_id: int, made: Sequence[MadeSketch]) -> None:
        """Write sketches of documents that have none by this scheme."""
        rows = [(scheme_id, *row) for row in made]
        insert_rows(connection, self.name, _WRITTEN, rows)

    def put_one(self, connection: Connection, scheme_id: int, made: MadeSketch) -> int:
        """Write the sketch of a document as :meth:`put_many` does; return the sketch's number."""
        number: int = fetch(connection, self._insert_one, scheme_id, *made)[0][0]
        return number

    def drop_many(self, connection: Connection, document_ids: Sequence[int]) -> None:
        """Delete the sketches of documents, by every scheme."""
        delete_in(connection, self.sketches.c.document_id, document_ids)

    def of_documents(
        self, connection: Connection, scheme_id: int, document_ids: Sequence[int]
    ) -> dict[int, StoredSketch]:
        """Return the sketches of documents that have one."""
        rows = self._rows(connection, scheme_id, "document_id", document_ids)
        return {row[1]: StoredSketch(*row) for row in rows}

    def by_numbers(
        self, connection: Connection, scheme_id: int, sketch_ids: Sequence[int]
    ) -> list[tuple[Any, ...]]:
        """Return the sketches with these numbers that are still there, in any order.

        Most are looked at and left: of each there are the fields of a :class:`StoredSketch`.
        """
        return self._rows(connection, scheme_id, "sketch_id", sketch_ids)

    def _rows(
        self,
        connection: Connection,
        scheme_id: int,
        name: Literal["sketch_id", "document_id"],
        numbers: Sequence[int],
    ) -> list[tuple[Any, ...]]:
        chosen = f"sketch_id, document_id, size, sketch, forms FROM {self.name}"
        statement = f"SELECT {chosen} WHERE scheme_id = ? AND {name} IN ({{}})"
        return list(select_in(connection, statement, numbers, scheme_id))

    def read_after(
        self, connection: Connection, scheme_id: int, after: int, up_to: int | None = None
    ) -> Iterator[tuple[NDArray[np.int64], list[bytes], list[bytes | None]]]:
        """Yield sketches that are not empty, above a number: numbers, sketches, forms.

        The numbers ascend.
        """
        last = (1 << 63) - 1 if up_to is None else up_to
        while rows := fetch(connection, self._read, scheme_id, after, last, _READ_ROWS):
            numbers, packed, forms = zip(*rows, strict=True)
            yield np.array(numbers, np.int64), list(packed), list(forms)
            if len(rows) < _READ_ROWS:
                return
            after = rows[-1][0]

    def count(self, connection: Connection, scheme_id: int, after: int = 0) -> int:
        """Return the number of sketches above a number, empty ones too."""
        c = self.sketches.c
        # Without the number the rows are counted in an index, which is much smaller than they are.
        above = (c.sketch_id > after,) if after else ()
        return count_rows(connection, self.sketches, c.scheme_id == scheme_id, *above)

    def counts_up_to(self, connection: Connection, scheme_id: int, last: int) -> tuple[int, int]:
        """Return how many sketches up to a number are not empty, and how many forms they have."""
        statement = (
            f"SELECT count(*), coalesce(sum(length(forms)), 0) / 8 FROM {self.name} "  # noqa: S608
            "WHERE scheme_id = ? AND sketch_id <= ? AND size > 0"
        )
        ((count, forms),) = fetch(connection, statement, scheme_id, last)
        return count, int(forms)

    def last_number(self, connection: Connection, scheme_id: int) -> int:
        """Return the largest number of a sketch, or 0."""
        return largest(
            connection, self.sketches.c.sketch_id, self.sketches.c.scheme_id == scheme_id
        )

    def last_document(self, connection: Connection, scheme_id: int) -> int:
        """Return the largest number of a document with a sketch, or 0."""
        return largest(
            connection, self.sketches.c.document_id, self.sketches.c.scheme_id == scheme_id
        )

    def alive(
        self, connection: Connection, scheme_id: int, first: int, last: int
    ) -> NDArray[np.int64]:
        """Return the numbers of the sketches that are there, ``first <= number <= last``."""
        statement = (
            f"SELECT sketch_id FROM {self.name} "  # noqa: S608 - ours
            "WHERE scheme_id = ? AND sketch_id >= ? AND sketch_id <= ?"
        )
        rows = fetch(connection, statement, scheme_id, first, last)
        return np.sort(np.array([number for (number,) in rows], np.int64))

    def drop_scheme_rows(self, connection: Connection, scheme_id: int, limit: int) -> bool:
        """Delete up to ``limit`` sketches of a scheme; return whether some may remain."""
        s = self.sketches.c
        numbers = numbers_after(connection, s.sketch_id, 0, limit, s.scheme_id == scheme_id)
        deleted = delete_in(connection, s.sketch_id, numbers)
        if numbers:
            check_deleted(connection, self.name, deleted)
        return bool(numbers)

    def stored_bytes(self, connection: Connection, scheme_id: int) -> int:
        """Return the bytes of a scheme's sketches and forms, without the table's own."""
        length = "coalesce(sum(length(sketch) + coalesce(length(forms), 0)), 0)"
        statement = f"SELECT {length} FROM {self.name} WHERE scheme_id = ?"  # noqa: S608 - ours
        return int(fetch(connection, statement, scheme_id)[0][0])


# The table of each channel of sketches.
SKETCHES = {channel: SketchTable(name) for channel, name in SKETCH_NAMES.items()}
# Those of runs of words, by which resemblance is estimated.
WORDS = SKETCHES["minhash"]
