"""The table of segment pages: read, merged into, taken from; the tail's fingerprints and back.

A fingerprint of a generation is in the tail, or in one page of each of its segments.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, select

from simstore.search import pages
from simstore.search.segments import SEGMENT_BITS
from simstore.storage import generations
from simstore.storage.damage import corrupt
from simstore.storage.documents import chunks, integers
from simstore.storage.forms import forms_of, sqlite_driver
from simstore.storage.rows import fetch
from simstore.storage.schema import fingerprint_page

# A page's number: 44 bits of generation, 3 of segment, 16 of value.
_SEGMENT_SHIFT = SEGMENT_BITS
_GENERATION_SHIFT = SEGMENT_BITS + 3
# Pages that are read, changed and written at a time.
_BLOCK_PAGES = 8_192
# Packed fingerprints for each that is looked for, from which pages are not unpacked for it.
_RECORDS_EACH = 8
# Records that are looked for in one statement.
_ASKED_AT_ONCE = 1_000
_PAGE = "SELECT records FROM fingerprint_page WHERE page = ?"
# A block is read whole where at least this share of it is wanted.
_WHOLE_SHARE = 3

Change = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.uint64]]


def page_key(generation_id: int, segment: int, value: int) -> int:
    """Return the number of a page."""
    return generation_id << _GENERATION_SHIFT | segment << _SEGMENT_SHIFT | value


def is_packable(bits: int) -> bool:
    """Return whether fingerprints of M bits have pages."""
    return bits in pages.PACKED_BITS


def packed_among(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Return whether each fingerprint is in pages.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        generation_id: The generation.
        words: Fingerprints, shape (n, ceil(M / 64)).

    Returns:
        Shape (n,).
    """
    found = np.zeros(len(words), bool)
    packed = generations.packed_count(connection, generation_id) if len(words) else 0
    if not packed:
        return found
    values = pages.leading_values(words)
    driver = sqlite_driver(connection)
    if driver is not None and len(words) * _RECORDS_EACH < packed:
        keys = (values + page_key(generation_id, 0, 0)).tolist()
        return _holding(driver, list(zip(keys, pages.records_of(words), strict=True)))
    order = np.argsort(values, kind="stable")
    for start, end, rows in _blocks(connection, generation_id, 0, values[order]):
        chosen = order[start:end]
        found[chosen] = pages.among(words[chosen], _unpacked(connection, rows, bits))
    return found


def _holding(driver: sqlite3.Connection, wanted: list[tuple[int, bytes]]) -> NDArray[np.bool_]:
    """Return whether each record is in its page, which SQLite looks through where it lies."""
    found = np.zeros(len(wanted), bool)
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        part = wanted[start : start + _ASKED_AT_ONCE]
        places = driver.execute(
            _holding_text(len(part)), [value for pair in part for value in pair]
        ).fetchall()
        for (place,), (_, record), number in zip(
            places, part, range(start, len(wanted)), strict=False
        ):
            # From 1; what lies across two records may come before the record itself.
            if place and (place - 1) % len(record) == 0:
                found[number] = True
            elif place:
                rows = driver.execute(_PAGE, wanted[number][:1]).fetchall()
                found[number] = pages.holds(rows[0][0], record)
    return found


@cache
def _holding_text(count: int) -> str:
    rows = ", ".join(["(?, ?)"] * count)
    # As many rows as were asked for, in their order: a scalar sub-query gives none or one each.
    return (
        f"WITH wanted (page, record) AS (VALUES {rows}) SELECT (SELECT instr(records, record) "  # noqa: S608 - marks
        "FROM fingerprint_page WHERE page = wanted.page) FROM wanted"
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
        start = page_key(generation_id, segment, first)
        rows = _between(connection, start, start + _BLOCK_PAGES)
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
    return _unpacked(connection, _between(connection, start, end + 1), bits)


def read(connection: Connection, keys: Sequence[int]) -> dict[int, bytes]:
    """Return the pages with these numbers that are there."""
    found: dict[int, bytes] = {}
    for part in chunks(keys):
        found.update(
            _rows(
                connection,
                f"SELECT page, records FROM fingerprint_page WHERE page IN ({integers(part)})",  # noqa: S608 - integers
            )
        )
    return found


def posting_count(
    connection: Connection, bits: int, generation_id: int, segment: int, values: Sequence[int]
) -> int:
    """Return how many packed fingerprints have one of these values in a segment."""
    total = 0
    for part in chunks([page_key(generation_id, segment, value) for value in values]):
        total += connection.exec_driver_sql(
            f"SELECT coalesce(sum(length(records)), 0) FROM fingerprint_page "  # noqa: S608 - integers
            f"WHERE page IN ({integers(part)})"
        ).scalar_one()
    return int(total) // pages.record_bytes(bits)


def drop(connection: Connection, generation_id: int, limit: int | None = None) -> bool:
    """Delete up to ``limit`` pages of a generation, or all; return whether some remain."""
    c = fingerprint_page.c.page
    first, end = page_key(generation_id, 0, 0), page_key(generation_id + 1, 0, 0)
    of_generation = (c >= first, c < end)
    last = None
    if limit is not None:
        last = connection.execute(
            select(c).where(*of_generation).order_by(c).limit(1).offset(limit)
        ).scalar_one_or_none()
    if last is not None:
        of_generation = (c >= first, c < last)
    connection.execute(delete(fingerprint_page).where(*of_generation))
    return last is not None


def page_count(connection: Connection, generation_id: int) -> int:
    """Return the number of pages of a generation, all segments together."""
    c = fingerprint_page.c.page
    statement = select(func.count()).where(
        c >= page_key(generation_id, 0, 0), c < page_key(generation_id + 1, 0, 0)
    )
    return connection.execute(statement).scalar_one()


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
        values = pages.leading_values(turned)
        for start, end, rows in _blocks(connection, generation_id, segment, values):
            held = _unpacked(connection, rows, bits)
            made = change(held, turned[start:end])
            more += len(made) - len(held)
            kept, packed = pages.pack(made)
            gone = np.setdiff1d(np.unique(values[start:end]), kept, assume_unique=True)
            base = page_key(generation_id, segment, 0)
            _put(connection, list(zip((kept + base).tolist(), packed, strict=True)))
            _delete(connection, [base + value for value in gone.tolist()])
        if segment and more != grown:
            raise corrupt(
                connection,
                f"pages of segment {segment} hold other fingerprints than those of segment 0",
            )
        grown = more
    return grown


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
        Which of the values belong to the block (start, end), and the fingerprints of their pages,
        rotated so that the segment leads, ascending.

    Raises:
        CorruptStore: A page is damaged.
    """
    for start, end, rows in _blocks(connection, generation_id, segment, values):
        yield start, end, _unpacked(connection, rows, bits)


def _blocks(
    connection: Connection, generation_id: int, segment: int, values: NDArray[np.int64]
) -> Iterator[tuple[int, int, list[tuple[int, bytes]]]]:
    """Yield which of the ascending values belong to a block (start, end), and their pages."""
    base = page_key(generation_id, segment, 0)
    for first in range(0, pages.PAGES_PER_SEGMENT, _BLOCK_PAGES):
        start, end = np.searchsorted(values, (first, first + _BLOCK_PAGES)).tolist()
        if start == end:
            continue
        wanted = (np.unique(values[start:end]) + base).tolist()
        if len(wanted) * _WHOLE_SHARE >= _BLOCK_PAGES:
            rows = _between(connection, base + first, base + first + _BLOCK_PAGES)
            if len(wanted) < len(rows):
                known = set(wanted)
                rows = [row for row in rows if row[0] in known]
        else:
            rows = sorted(read(connection, wanted).items())
        yield start, end, rows


def _unpacked(
    connection: Connection, rows: Sequence[tuple[int, bytes]], bits: int
) -> NDArray[np.uint64]:
    numbers = np.array([row[0] for row in rows], np.int64)
    try:
        return pages.unpack(numbers & (pages.PAGES_PER_SEGMENT - 1), [row[1] for row in rows], bits)
    except ValueError as error:
        raise corrupt(connection, error) from error


def _between(connection: Connection, first: int, end: int) -> list[tuple[int, bytes]]:
    return _rows(
        connection,
        f"SELECT page, records FROM fingerprint_page "  # noqa: S608 - integers
        f"WHERE page >= {first} AND page < {end} ORDER BY page",
    )


def _rows(connection: Connection, statement: str) -> list[tuple[int, bytes]]:
    # Without SQLAlchemy's rows: there are many.
    return cast(list[tuple[int, bytes]], fetch(connection, statement))


def _put(connection: Connection, rows: list[tuple[int, bytes]]) -> None:
    forms_of(connection).replace_rows(connection, "fingerprint_page", ("page", "records"), rows)


def _delete(connection: Connection, keys: Sequence[int]) -> None:
    for part in chunks(keys):
        connection.execute(delete(fingerprint_page).where(fingerprint_page.c.page.in_(part)))
