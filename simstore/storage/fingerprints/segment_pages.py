"""Read, add and remove fingerprints in index pages (compressed, by 16-bit segment value).

A fingerprint of a generation is in the tail, or in one page of each of its segments. A page is kept
in rows, whose numbers follow each other, or shares one with the page of the value beside its own
(:mod:`simstore.search.pages`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from simstore.search import pages
from simstore.search.segments import SEGMENT_BITS
from simstore.storage import generations, sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt
from simstore.storage.rows import (
    chunks,
    count_rows,
    delete_in,
    dialect_of,
    fetch,
    insert_rows,
    sqlite_driver,
)

# A row's number: 32 bits of generation, 3 of segment, 16 of value, 12 of the row within its page.
_GENERATION_SHIFT = SEGMENT_BITS + 3
# What a column of integers may hold.
_LARGEST_KEY = (1 << 63) - 1
# Pages that are read, changed and written at a time.
_BLOCK_PAGES = 8_192
# Packed fingerprints for each that is looked for, from which pages are not unpacked for it.
_RECORDS_EACH = 8
# Records that are looked for in one statement.
_ASKED_AT_ONCE = 1_000
# The rows of a page lie between these numbers, and one that it may share.
BEFORE = pages.MOST_SHARED
AFTER = pages.ROW_NUMBERS - 1
_OF_PAGE = f"page BETWEEN first - {BEFORE} AND first + {AFTER}"
_PUT = (
    "INSERT INTO fingerprint_page (page, records) VALUES (?, ?) "
    "ON CONFLICT (page) DO UPDATE SET records = excluded.records"
)
_ROW = "SELECT records FROM fingerprint_page WHERE page = ?"
# A block is read whole where at least this share of it is wanted, and written whole where at least
# that share of it changes: written in order, leaves of the B-tree are full.
_WHOLE_SHARE = 3
_REWRITTEN_SHARE = 2

Change = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.uint64]]


def page_key(generation_id: int, segment: int, value: int) -> int:
    """Return the number of the first row of a page."""
    page = generation_id << _GENERATION_SHIFT | pages.page_number(segment, value)
    return pages.row_number(page)


def is_packable(bits: int) -> bool:
    """Return whether fingerprints of M bits have pages."""
    return bits in pages.PACKED_BITS


def packed_among(
    connection: Connection,
    bits: int,
    generation_id: int,
    words: NDArray[np.uint64],
    *,
    packed_count: int | None = None,
) -> NDArray[np.bool_]:
    """Return whether each fingerprint is in pages.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        generation_id: The generation.
        words: Fingerprints, shape (n, ceil(M / 64)).
        packed_count: Fingerprints of the generation that are in pages; None: it is looked up.

    Returns:
        Shape (n,).
    """
    found = np.zeros(len(words), bool)
    if packed_count is None and len(words):
        packed_count = generations.packed_count(connection, generation_id)
    if not packed_count:
        return found
    values = pages.leading_values(words)
    driver = sqlite_driver(connection)
    if driver is not None and len(words) * _RECORDS_EACH < packed_count:
        keys = ((values << pages.ROW_BITS) + page_key(generation_id, 0, 0)).tolist()
        return _holding(driver, list(zip(keys, pages.records_of(words), strict=True)), bits)
    order = np.argsort(values, kind="stable")
    for start, end, rows in _blocks(connection, generation_id, 0, values[order]):
        chosen = order[start:end]
        found[chosen] = pages.among(words[chosen], _unpacked(connection, rows, bits))
    return found


def _holding(
    driver: sqlite3.Connection, wanted: list[tuple[int, bytes]], bits: int
) -> NDArray[np.bool_]:
    """Return whether each record is in its page, which SQLite looks through where it lies."""
    found = np.zeros(len(wanted), bool)
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        part = wanted[start : start + _ASKED_AT_ONCE]
        given = [
            value for number, pair in enumerate(part, start) for value in (number, *pair)
        ]  # fmt: skip
        for number, row, place in driver.execute(_holding_text(len(part)), given).fetchall():
            first, record = wanted[number]
            # The row may be shared with another page.
            is_own = not pages.is_shared(row) or (
                (place <= pages.first_bytes(row, bits)) == (row & -pages.ROW_NUMBERS == first)
            )
            # From 1; what lies across two records may come before the record itself.
            if is_own and (place - 1) % len(record) == 0:
                found[number] = True
            elif not found[number]:
                rows = [(row, driver.execute(_ROW, (row,)).fetchall()[0][0])]
                own = pages.of_pages(rows, [first], bits)
                found[number] = any(pages.holds(records, record) for _, records in own)
    return found


@cache
def _holding_text(count: int) -> str:
    rows = ", ".join(["(?, ?, ?)"] * count)
    return (
        f"WITH wanted (number, first, record) AS (VALUES {rows}) "  # noqa: S608 - marks
        "SELECT number, page, instr(records, record) AS place "
        "FROM wanted CROSS JOIN fingerprint_page "
        f"WHERE {_OF_PAGE} AND place > 0"
    )


def add(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> int:
    """Put fingerprints into the pages; return how many were not there.

    The caller takes care that none of them is in the tail, and counts them.

    Args:
        connection: A writer.
        bits: M, 64 or 128.
        generation_id: The generation.
        words: Fingerprints, shape (n, M / 64), in any order.
    """
    return _change(connection, bits, generation_id, pages.distinct(words), pages.united)


def remove(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> int:
    """Take fingerprints out of the pages; return how many were there. The caller counts them."""
    return -_change(connection, bits, generation_id, pages.distinct(words), pages.without)


def scan(
    connection: Connection, bits: int, generation_id: int, segment: int = 0
) -> Iterator[NDArray[np.uint64]]:
    """Yield the fingerprints in pages of one segment, rotated so that it leads, ascending.

    Raises:
        CorruptStore: A page is damaged.
    """
    for first in range(0, pages.PAGES_PER_SEGMENT, _BLOCK_PAGES):
        rows = _between(connection, *_block_keys(generation_id, segment, first))
        if rows:
            yield _unpacked(connection, rows, bits)


def read_range(
    connection: Connection, bits: int, generation_id: int, first: int, last: int
) -> NDArray[np.uint64]:
    """Return the fingerprints in pages from the first to the last of a range, ascending.

    Args:
        connection: A snapshot.
        bits: M, 64 or 128.
        generation_id: The generation.
        first: The smallest fingerprint; the first of a page.
        last: The largest; the last of a page.

    Raises:
        CorruptStore: A page is damaged.
    """
    values = (first >> (bits - SEGMENT_BITS), last >> (bits - SEGMENT_BITS))
    start, end = (page_key(generation_id, 0, value) for value in values)
    rows = _between(connection, start - BEFORE, end + pages.ROW_NUMBERS)
    words = _unpacked(connection, rows, bits)
    # The pages at the ends may share rows with others.
    begin, stop = np.searchsorted(pages.leading_values(words), (values[0], values[1] + 1))
    return words[begin:stop]


def read(connection: Connection, bits: int, keys: Sequence[int]) -> list[tuple[int, bytes]]:
    """Return the rows of pages that are there, in order: their numbers and records.

    Args:
        connection: A snapshot.
        bits: M, 64 or 128.
        keys: The number of each page's first row.
    """
    rows = _stored(connection, keys)
    return pages.of_pages(rows, keys, bits) if pages.any_shared(rows) else rows


def _stored(connection: Connection, keys: Sequence[int]) -> list[tuple[int, bytes]]:
    """Return the rows of pages as they are stored, ascending."""
    found: list[tuple[int, bytes]] = []
    for part in chunks(keys):
        found += _rows(connection, rows_text("page, records", _listed(part)))
    # A row that two of the pages share was read for each.
    return sorted(dict(found).items())


def rows_text(columns: str, wanted: str) -> str:
    """Return the statement that reads all rows of some pages, shared ones too.

    Args:
        columns: What it selects.
        wanted: The first rows' numbers, as SQL: ``(1), (2)``.
    """
    return (
        f"WITH wanted (first) AS (VALUES {wanted}) "  # noqa: S608 - ours
        f"SELECT {columns} FROM wanted CROSS JOIN fingerprint_page "
        f"WHERE {_OF_PAGE}"
    )


def _listed(keys: Sequence[int]) -> str:
    return ", ".join(f"({int(key)})" for key in keys)


def posting_count(
    connection: Connection, bits: int, generation_id: int, segment: int, values: Sequence[int]
) -> int:
    """Return how many packed fingerprints have one of these values in a segment."""
    place = f"(page & {pages.ROW_NUMBERS - 1})"
    of_first = f"({pages.ROW_NUMBERS} - {place}) * {pages.record_bytes(bits)}"
    own_bytes = (
        f"CASE WHEN {place} < {pages.ROWS_PER_PAGE} THEN length(records) "
        f"WHEN page < first THEN length(records) - {of_first} ELSE {of_first} END"
    )
    total = 0
    for part in chunks([page_key(generation_id, segment, value) for value in values]):
        total += connection.exec_driver_sql(
            rows_text(f"coalesce(sum({own_bytes}), 0)", _listed(part))
        ).scalar_one()
    return int(total) // pages.record_bytes(bits)


def drop(connection: Connection, generation_id: int, limit: int | None = None) -> bool:
    """Delete up to ``limit`` rows of a generation's pages, or all; return whether some remain."""
    c = tables.fingerprint_page.c.page
    first, end = _keys_of(generation_id)
    of_generation = (c >= first, c < end)
    last = None
    if limit is not None:
        last = connection.execute(
            sql.select(c).where(*of_generation).order_by(c).limit(1).offset(limit)
        ).scalar_one_or_none()
    if last is not None:
        of_generation = (c >= first, c < last)
    connection.execute(sql.delete(tables.fingerprint_page).where(*of_generation))
    return last is not None


def _keys_of(generation_id: int) -> tuple[int, int]:
    """Return between which numbers the pages of a generation lie: ``first <= number < end``.

    A damaged row may name a generation that is too large to have pages: it has none.
    """
    first, end = page_key(generation_id, 0, 0), page_key(generation_id + 1, 0, 0)
    return min(first, _LARGEST_KEY), min(end, _LARGEST_KEY)


def row_count(connection: Connection, generation_id: int) -> int:
    """Return the number of rows that the pages of a generation have, all segments together."""
    c = tables.fingerprint_page.c.page
    first, end = _keys_of(generation_id)
    return count_rows(connection, tables.fingerprint_page, c >= first, c < end)


def _change(
    connection: Connection,
    bits: int,
    generation_id: int,
    words: NDArray[np.uint64],
    change: Change,
) -> int:
    """Rewrite the pages of fingerprints in every segment; return how many more there are."""
    grown = 0
    for segment in range(bits // SEGMENT_BITS):
        turned = pages.distinct(pages.rotated(words, segment)) if segment else words
        more = 0
        for first, start, end, wanted in _wanted_blocks(
            generation_id, segment, pages.leading_values(turned)
        ):
            is_whole = len(wanted) * _REWRITTEN_SHARE >= _BLOCK_PAGES
            bounds = _block_keys(generation_id, segment, first)
            rows = (
                _between(connection, *bounds)
                if is_whole
                else _stored(connection, _with_neighbours(wanted))
            )
            held = _unpacked(connection, rows, bits)
            made = change(held, turned[start:end])
            more += len(made) - len(held)
            numbers, packed = pages.joined(*pages.pack(made), bits)
            keys = (numbers + page_key(generation_id, segment, 0)).tolist()
            new = list(zip(keys, packed, strict=True))
            if is_whole:
                _rewrite(connection, *bounds, new)
            else:
                _replace(connection, dict(rows), new)
        if segment and more != grown:
            raise corrupt(
                connection,
                f"pages of segment {segment} hold other fingerprints than those of segment 0",
            )
        grown = more
    return grown


def _with_neighbours(keys: Sequence[int]) -> list[int]:
    """Return the numbers of first rows with those of the pages that may share a row with them."""
    return sorted({*keys, *(key ^ pages.ROW_NUMBERS for key in keys)})


def read_for(
    connection: Connection,
    bits: int,
    generation_id: int,
    segment: int,
    values: NDArray[np.int64],
) -> Iterator[tuple[int, int, NDArray[np.uint64]]]:
    """Yield the pages of some values of a segment, a block of pages at a time.

    Args:
        connection: A snapshot.
        bits: M, 64 or 128.
        generation_id: The generation.
        segment: The segment.
        values: Values to look up in it, ascending.

    Yields:
        Which of the values belong to the block (start, end), and the fingerprints of their pages
        and of some others, rotated so that the segment leads, ascending.

    Raises:
        CorruptStore: A page is damaged.
    """
    for start, end, rows in _blocks(connection, generation_id, segment, values):
        yield start, end, _unpacked(connection, rows, bits)


def _blocks(
    connection: Connection, generation_id: int, segment: int, values: NDArray[np.int64]
) -> Iterator[tuple[int, int, list[tuple[int, bytes]]]]:
    """Yield which of the ascending values are of a block (start, end), and rows of their pages."""
    for first, start, end, wanted in _wanted_blocks(generation_id, segment, values):
        if len(wanted) * _WHOLE_SHARE >= _BLOCK_PAGES:
            rows = _between(connection, *_block_keys(generation_id, segment, first))
            if len(wanted) < _BLOCK_PAGES:
                known = set(wanted)
                rows = [
                    row
                    for row in rows
                    if row[0] & -pages.ROW_NUMBERS in known or pages.is_shared(row[0])
                ]
        else:
            rows = _stored(connection, wanted)
        yield start, end, rows


def _wanted_blocks(
    generation_id: int, segment: int, values: NDArray[np.int64]
) -> Iterator[tuple[int, int, int, list[int]]]:
    """Yield the blocks that ascending values are in.

    Yields:
        The first value of the block, which of the values belong to it (start, end), and the numbers
        of the first rows of their pages, ascending.
    """
    base = page_key(generation_id, segment, 0)
    for first in range(0, pages.PAGES_PER_SEGMENT, _BLOCK_PAGES):
        start, end = np.searchsorted(values, (first, first + _BLOCK_PAGES)).tolist()
        if start < end:
            wanted = (np.unique(values[start:end]) << pages.ROW_BITS) + base
            yield first, start, end, wanted.tolist()


def _block_keys(generation_id: int, segment: int, first: int) -> tuple[int, int]:
    """Return the number of the first row of a block of pages, and that beyond its last."""
    start = page_key(generation_id, segment, first)
    return start, start + pages.row_number(_BLOCK_PAGES)


def _unpacked(
    connection: Connection, rows: Sequence[tuple[int, bytes]], bits: int
) -> NDArray[np.uint64]:
    numbers, records = zip(*rows, strict=True) if rows else ((), ())
    try:
        return pages.unpack(numbers, records, bits)
    except (TypeError, ValueError) as error:
        raise corrupt(connection, error) from error


def _between(connection: Connection, first: int, end: int) -> list[tuple[int, bytes]]:
    return _rows(
        connection,
        f"SELECT page, records FROM fingerprint_page "  # noqa: S608 - integers
        f"WHERE page >= {first} AND page < {end} ORDER BY page",
    )


def _rows(connection: Connection, statement: str) -> list[tuple[int, bytes]]:
    # Without SQLAlchemy's rows, nor a look at each one's types: there are many, and what holds no
    # records is told when it is unpacked.
    driver = sqlite_driver(connection)
    if driver is not None:
        cursor = driver.cursor()
        cursor.row_factory = None
        return cast(list[tuple[int, bytes]], cursor.execute(statement).fetchall())
    return cast(list[tuple[int, bytes]], fetch(connection, statement))


def _rewrite(connection: Connection, first: int, end: int, rows: list[tuple[int, bytes]]) -> None:
    """Write all rows of a range of numbers anew, in order."""
    c = tables.fingerprint_page.c.page
    connection.execute(sql.delete(tables.fingerprint_page).where(c >= first, c < end))
    insert_rows(connection, tables.fingerprint_page, ("page", "records"), rows)


def _replace(connection: Connection, held: dict[int, bytes], rows: list[tuple[int, bytes]]) -> None:
    """Write the rows that differ from those held, and delete those that are no more."""
    different = [row for row in rows if held.get(row[0]) != row[1]]
    dialect_of(connection).run_many(connection, _PUT, different)
    gone = held.keys() - {row[0] for row in rows}
    delete_in(connection, tables.fingerprint_page.c.page, sorted(gone))
