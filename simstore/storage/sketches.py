"""Sketches of documents, and the pages that their bands are packed into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, insert, select, update

from simstore.errors import InvalidParameter
from simstore.fingerprint.minhash import BandLayout
from simstore.storage.damage import check_deleted, corrupt
from simstore.storage.documents import chunks
from simstore.storage.rows import fetch, insert_rows, select_in
from simstore.storage.tables import band_layout, band_page, sketch

# Sketches that are read from the database at a time.
_READ_ROWS = 8_192
_READ = (
    "SELECT sketch_id, sketch FROM sketch WHERE scheme_id = ? AND sketch_id > ? "
    "AND sketch_id <= ? AND size > 0 ORDER BY sketch_id LIMIT ?"
)
# Pages that are read from the database at a time.
_READ_PAGES = 10_000
_PAGES = (
    "SELECT page, postings FROM band_page WHERE layout_id = ? AND page >= ? AND page < ? "
    "ORDER BY page LIMIT ?"
)
# search.bands.page_numbers takes no more.
_MOST_KEY_BITS = 40
_LAYOUT = (
    "SELECT layout_id, bands, band_rows, key_bits, packed_to, packed_count FROM band_layout "
    "WHERE scheme_id = ? AND status = ? ORDER BY layout_id DESC LIMIT 1"
)


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


def put_many(
    connection: Connection, scheme_id: int, made: Sequence[tuple[int, int, bytes]]
) -> None:
    """Write sketches of documents that have none by this scheme: (document, size, sketch)."""
    insert_rows(
        connection,
        sketch,
        ("scheme_id", "document_id", "size", "sketch"),
        [(scheme_id, *row) for row in made],
    )


def drop_many(connection: Connection, document_ids: Sequence[int]) -> None:
    """Delete the sketches of documents, by every scheme."""
    for part in chunks(document_ids):
        connection.execute(delete(sketch).where(sketch.c.document_id.in_(part)))


def of_documents(
    connection: Connection, scheme_id: int, document_ids: Sequence[int]
) -> dict[int, StoredSketch]:
    """Return the sketches of documents that have one."""
    return _rows(connection, scheme_id, "document_id", document_ids)


def by_numbers(
    connection: Connection, scheme_id: int, sketch_ids: Sequence[int]
) -> dict[int, StoredSketch]:
    """Return the sketches with these numbers that are still there, by document."""
    return _rows(connection, scheme_id, "sketch_id", sketch_ids)


def _rows(
    connection: Connection,
    scheme_id: int,
    name: Literal["sketch_id", "document_id"],
    numbers: Sequence[int],
) -> dict[int, StoredSketch]:
    columns = "sketch_id, document_id, size, sketch"
    statement = f"SELECT {columns} FROM sketch WHERE scheme_id = ? AND {name} IN ({{}})"  # noqa: S608 - one of two names
    rows = select_in(connection, statement, numbers, scheme_id)
    return {row[1]: StoredSketch(*row) for row in rows}


def read_after(
    connection: Connection, scheme_id: int, after: int, up_to: int | None = None
) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
    """Yield sketches that are not empty, above a number, ascending: numbers and sketches."""
    last = (1 << 63) - 1 if up_to is None else up_to
    while rows := fetch(connection, _READ, scheme_id, after, last, _READ_ROWS):
        yield np.array([row[0] for row in rows], np.int64), [row[1] for row in rows]
        if len(rows) < _READ_ROWS:
            return
        after = rows[-1][0]


def count(connection: Connection, scheme_id: int, after: int = 0) -> int:
    """Return the number of sketches above a number, empty ones too."""
    statement = select(func.count()).where(sketch.c.scheme_id == scheme_id)
    if after:
        # Without it the rows are counted in an index, which is much smaller than they are.
        statement = statement.where(sketch.c.sketch_id > after)
    return connection.execute(statement).scalar_one()


def last_number(connection: Connection, scheme_id: int) -> int:
    """Return the largest number of a sketch, or 0."""
    statement = select(func.max(sketch.c.sketch_id)).where(sketch.c.scheme_id == scheme_id)
    return connection.execute(statement).scalar_one() or 0


def last_document(connection: Connection, scheme_id: int) -> int:
    """Return the largest number of a document with a sketch, or 0."""
    statement = select(func.max(sketch.c.document_id)).where(sketch.c.scheme_id == scheme_id)
    return connection.execute(statement).scalar_one() or 0


def layout(connection: Connection, scheme_id: int, status: str = "standing") -> LayoutRow | None:
    """Return the newest layout of a scheme with this status; None where there is none."""
    for row in fetch(connection, _LAYOUT, scheme_id, status):
        try:
            bands = BandLayout(row[1], row[2])
        except InvalidParameter as error:
            raise corrupt(connection, f"the layout of its bands is damaged: {error}") from error
        if not 0 <= row[3] <= _MOST_KEY_BITS:
            raise corrupt(connection, f"its pages of bands are numbered by {row[3]} bits")
        return LayoutRow(row[0], bands, *row[3:])
    return None


def add_layout(
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
    result = connection.execute(
        insert(band_layout),
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
    key = result.inserted_primary_key
    return LayoutRow(int(key[0]) if key else 0, bands, key_bits, packed_to, packed_count)


def set_layout_status(connection: Connection, scheme_id: int, old: str, new: str) -> None:
    """Change the status of a scheme's layouts that have an old one."""
    c = band_layout.c
    connection.execute(
        update(band_layout).where(c.scheme_id == scheme_id, c.status == old).values(status=new)
    )


def put_pages(connection: Connection, layout_id: int, pages: Iterable[tuple[int, bytes]]) -> None:
    """Write pages of a layout: (page, postings)."""
    rows = [(layout_id, number, postings) for number, postings in pages]
    insert_rows(connection, band_page, ("layout_id", "page", "postings"), rows)


def pages(connection: Connection, layout_id: int, numbers: Sequence[int]) -> dict[int, bytes]:
    """Return the pages of a layout that are there."""
    statement = "SELECT page, postings FROM band_page WHERE layout_id = ? AND page IN ({})"
    return {row[0]: row[1] for row in select_in(connection, statement, numbers, layout_id)}


def pages_between(
    connection: Connection, layout_id: int, first: int, end: int
) -> Iterator[tuple[int, bytes]]:
    """Yield the pages ``first <= page < end`` of a layout by ascending number."""
    while rows := fetch(connection, _PAGES, layout_id, first, end, _READ_PAGES):
        yield from rows
        first = rows[-1][0] + 1


def drop_retired_pages(connection: Connection, limit: int) -> bool:
    """Delete up to ``limit`` pages of retired layouts; return whether some may remain."""
    c = band_layout.c
    retired = select(c.layout_id).where(c.status == "retired").order_by(c.layout_id).limit(1)
    number = connection.execute(retired).scalar_one_or_none()
    if number is None:
        return False
    page = band_page.c
    last = connection.execute(
        select(page.page).where(page.layout_id == number).order_by(page.page).limit(1).offset(limit)
    ).scalar_one_or_none()
    of_layout = page.layout_id == number
    if last is None:
        connection.execute(delete(band_page).where(of_layout))
        deleted = connection.execute(delete(band_layout).where(c.layout_id == number)).rowcount
        check_deleted(connection, band_layout.name, deleted)
    else:
        of_part = page.page < last
        deleted = connection.execute(delete(band_page).where(of_layout, of_part)).rowcount
        check_deleted(connection, band_page.name, deleted)
    return True


def drop_scheme_rows(connection: Connection, scheme_id: int, limit: int) -> bool:
    """Delete up to ``limit`` sketches of a scheme and retire its layouts.

    Returns:
        Whether some may remain.
    """
    c = band_layout.c
    connection.execute(
        update(band_layout)
        .where(c.scheme_id == scheme_id, c.status != "retired")
        .values(status="retired")
    )
    s = sketch.c
    some = select(s.sketch_id).where(s.scheme_id == scheme_id).order_by(s.sketch_id).limit(limit)
    numbers = list(connection.execute(some).scalars())
    deleted = 0
    for part in chunks(numbers):
        deleted += connection.execute(delete(sketch).where(s.sketch_id.in_(part))).rowcount
    if numbers:
        check_deleted(connection, sketch.name, deleted)
    return bool(numbers)


def stored_bytes(connection: Connection, scheme_id: int) -> tuple[int, int]:
    """Return the bytes of a scheme's sketches and of its pages, without the tables' own."""
    s, p = sketch.c, band_page.c
    sketched = select(func.coalesce(func.sum(func.length(s.sketch)), 0)).where(
        s.scheme_id == scheme_id
    )
    paged = select(func.coalesce(func.sum(func.length(p.postings)), 0)).join(
        band_layout, band_layout.c.layout_id == p.layout_id
    )
    paged = paged.where(band_layout.c.scheme_id == scheme_id)
    return (
        int(connection.execute(sketched).scalar_one()),
        int(connection.execute(paged).scalar_one()),
    )
