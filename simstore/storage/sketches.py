"""Read and write MinHash sketches of documents, and the index pages of their LSH bands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.minhash import BandLayout
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import check_deleted, corrupt
from simstore.storage.rows import (
    count_rows,
    delete_in,
    fetch,
    insert_one,
    insert_rows,
    largest,
    numbers_after,
    select_in,
)
from simstore.storage.tables.names import SKETCH_PREFIXES, sketch_names

if TYPE_CHECKING:
    from sqlalchemy import Table

# Sketches that are read from the database at a time.
_READ_ROWS = 8_192
# Pages that are read from the database at a time.
_READ_PAGES = 10_000
# search.bands.page_numbers takes no more.
_MOST_KEY_BITS = 40


@dataclass(frozen=True, slots=True)
class StoredSketch:
    """The sketch of a document.

    Attributes:
        sketch_id: Its number; a later sketch has a larger one.
        size: Distinct shingles of the document.
        packed: 256 bytes; none where it has no shingle.
    """

    sketch_id: int
    document_id: int
    size: int
    packed: bytes


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """Sketches packed by their bands.

    Attributes:
        key_bits: Bits of a band's hash that name its page.
        packed_to: Largest number of a sketch when packing began; those above are the tail.
        packed_count: Sketches that were packed.
    """

    layout_id: int
    layout: BandLayout
    key_bits: int
    packed_to: int
    packed_count: int


class SketchTables:
    """The sketches of one channel: their table, that of their layouts, and that of the pages.

    Args:
        prefix: What the names of its tables begin with.
    """

    def __init__(self, prefix: str) -> None:
        self.name, self._layouts_name, self._pages_name = sketch_names(prefix)
        self._read = (
            f"SELECT sketch_id, sketch FROM {self.name} WHERE scheme_id = ? "  # noqa: S608 - ours
            "AND sketch_id > ? AND sketch_id <= ? AND size > 0 ORDER BY sketch_id LIMIT ?"
        )
        self._read_pages = (
            f"SELECT page, postings FROM {self._pages_name} WHERE layout_id = ? "  # noqa: S608 - ours
            "AND page >= ? AND page < ? ORDER BY page LIMIT ?"
        )
        self._insert_one = (
            f"INSERT INTO {self.name} (scheme_id, document_id, size, sketch) "  # noqa: S608 - ours
            "VALUES (?, ?, ?, ?) RETURNING sketch_id"
        )
        columns = "layout_id, bands, band_rows, key_bits, packed_to, packed_count"
        self._layout = (
            f"SELECT {columns} FROM {self._layouts_name} WHERE scheme_id = ? "  # noqa: S608 - ours
            "AND status = ? ORDER BY layout_id DESC LIMIT 1"
        )

    @property
    def sketches(self) -> Table:
        """The table of sketches."""
        return tables.metadata.tables[self.name]

    @property
    def layouts(self) -> Table:
        """The table of the layouts that they are packed by."""
        return tables.metadata.tables[self._layouts_name]

    @property
    def band_pages(self) -> Table:
        """The table of the pages of the layouts."""
        return tables.metadata.tables[self._pages_name]

    def put_many(
        self, connection: Connection, scheme_id: int, made: Sequence[tuple[int, int, bytes]]
    ) -> None:
        """Write sketches of documents that have none by this scheme: (document, size, sketch)."""
        insert_rows(
            connection,
            self.sketches,
            ("scheme_id", "document_id", "size", "sketch"),
            [(scheme_id, *row) for row in made],
        )

    def put_one(self, connection: Connection, scheme_id: int, made: tuple[int, int, bytes]) -> int:
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
        chosen = f"sketch_id, document_id, size, sketch FROM {self.name}"
        statement = f"SELECT {chosen} WHERE scheme_id = ? AND {name} IN ({{}})"
        return list(select_in(connection, statement, numbers, scheme_id))

    def read_after(
        self, connection: Connection, scheme_id: int, after: int, up_to: int | None = None
    ) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
        """Yield sketches that are not empty, above a number, ascending: numbers and sketches."""
        last = (1 << 63) - 1 if up_to is None else up_to
        while rows := fetch(connection, self._read, scheme_id, after, last, _READ_ROWS):
            yield np.array([row[0] for row in rows], np.int64), [row[1] for row in rows]
            if len(rows) < _READ_ROWS:
                return
            after = rows[-1][0]

    def count(self, connection: Connection, scheme_id: int, after: int = 0) -> int:
        """Return the number of sketches above a number, empty ones too."""
        c = self.sketches.c
        # Without the number the rows are counted in an index, which is much smaller than they are.
        above = (c.sketch_id > after,) if after else ()
        return count_rows(connection, self.sketches, c.scheme_id == scheme_id, *above)

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

    def layout(
        self, connection: Connection, scheme_id: int, status: str = "standing"
    ) -> LayoutRow | None:
        """Return the newest layout of a scheme with this status; None where there is none."""
        for row in fetch(connection, self._layout, scheme_id, status):
            try:
                bands = BandLayout(row[1], row[2])
            except InvalidParameter as error:
                raise corrupt(connection, f"the layout of its bands is damaged: {error}") from error
            if not 0 <= row[3] <= _MOST_KEY_BITS:
                raise corrupt(connection, f"its pages of bands are numbered by {row[3]} bits")
            return LayoutRow(row[0], bands, *row[3:])
        return None

    def add_layout(
        self,
        connection: Connection,
        scheme_id: int,
        bands: BandLayout,
        *,
        key_bits: int,
        packed_to: int,
        packed_count: int,
        created_at: int,
    ) -> LayoutRow:
        """Begin a layout under construction."""
        number = insert_one(
            connection,
            self.layouts,
            {
                "scheme_id": scheme_id,
                "status": "building",
                "bands": bands.bands,
                "band_rows": bands.rows,
                "key_bits": key_bits,
                "packed_to": packed_to,
                "packed_count": packed_count,
                "created_at": created_at,
            },
        )
        return LayoutRow(number, bands, key_bits, packed_to, packed_count)

    def set_layout_status(self, connection: Connection, scheme_id: int, old: str, new: str) -> None:
        """Change the status of a scheme's layouts that have an old one."""
        c = self.layouts.c
        connection.execute(
            sql.update(self.layouts)
            .where(c.scheme_id == scheme_id, c.status == old)
            .values(status=new)
        )

    def put_pages(
        self, connection: Connection, layout_id: int, pages: Iterable[tuple[int, bytes]]
    ) -> None:
        """Write pages of a layout: (page, postings)."""
        rows = [(layout_id, number, postings) for number, postings in pages]
        insert_rows(connection, self.band_pages, ("layout_id", "page", "postings"), rows)

    def pages(
        self, connection: Connection, layout_id: int, numbers: Sequence[int]
    ) -> dict[int, bytes]:
        """Return the pages of a layout that are there."""
        table = self._pages_name
        statement = f"SELECT page, postings FROM {table} WHERE layout_id = ? AND page IN ({{}})"  # noqa: S608 - ours
        return {row[0]: row[1] for row in select_in(connection, statement, numbers, layout_id)}

    def pages_between(
        self, connection: Connection, layout_id: int, first: int, end: int
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the pages ``first <= page < end`` of a layout by ascending number."""
        while rows := fetch(connection, self._read_pages, layout_id, first, end, _READ_PAGES):
            yield from rows
            first = rows[-1][0] + 1

    def drop_retired_pages(self, connection: Connection, limit: int) -> bool:
        """Delete up to ``limit`` pages of retired layouts; return whether some may remain."""
        c = self.layouts.c
        retired = (
            sql.select(c.layout_id).where(c.status == "retired").order_by(c.layout_id).limit(1)
        )
        number = connection.execute(retired).scalar_one_or_none()
        if number is None:
            return False
        page = self.band_pages.c
        last = connection.execute(
            sql.select(page.page)
            .where(page.layout_id == number)
            .order_by(page.page)
            .limit(1)
            .offset(limit)
        ).scalar_one_or_none()
        of_layout = page.layout_id == number
        if last is None:
            connection.execute(sql.delete(self.band_pages).where(of_layout))
            deleted = connection.execute(
                sql.delete(self.layouts).where(c.layout_id == number)
            ).rowcount
            check_deleted(connection, self._layouts_name, deleted)
        else:
            of_part = page.page < last
            deleted = connection.execute(
                sql.delete(self.band_pages).where(of_layout, of_part)
            ).rowcount
            check_deleted(connection, self._pages_name, deleted)
        return True

    def drop_scheme_rows(self, connection: Connection, scheme_id: int, limit: int) -> bool:
        """Delete up to ``limit`` sketches of a scheme and retire its layouts.

        Returns:
            Whether some may remain.
        """
        c = self.layouts.c
        connection.execute(
            sql.update(self.layouts)
            .where(c.scheme_id == scheme_id, c.status != "retired")
            .values(status="retired")
        )
        s = self.sketches.c
        numbers = numbers_after(connection, s.sketch_id, 0, limit, s.scheme_id == scheme_id)
        deleted = delete_in(connection, s.sketch_id, numbers)
        if numbers:
            check_deleted(connection, self.name, deleted)
        return bool(numbers)

    def stored_bytes(self, connection: Connection, scheme_id: int) -> tuple[int, int]:
        """Return the bytes of a scheme's sketches and of its pages, without the tables' own."""
        s, p = self.sketches.c, self.band_pages.c
        sketched = sql.select(sql.func.coalesce(sql.func.sum(sql.func.length(s.sketch)), 0)).where(
            s.scheme_id == scheme_id
        )
        paged = sql.select(sql.func.coalesce(sql.func.sum(sql.func.length(p.postings)), 0)).join(
            self.layouts, self.layouts.c.layout_id == p.layout_id
        )
        paged = paged.where(self.layouts.c.scheme_id == scheme_id)
        return (
            int(connection.execute(sketched).scalar_one()),
            int(connection.execute(paged).scalar_one()),
        )


# The tables of each channel of sketches.
SKETCHES = {name: SketchTables(prefix) for name, prefix in SKETCH_PREFIXES.items()}
# Those of runs of words, by which resemblance is estimated.
WORDS = SKETCHES["minhash"]
