"""Look up fingerprints by 16-bit segment, in index pages and in rows not packed yet (the tail).

SQLAlchemy takes longer for a look-up than SQLite does; only here, where a query spends its time,
is it left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.search import pages
from simstore.search.segments import SEGMENT_BITS
from simstore.storage.connection import Connection
from simstore.storage.fingerprints import segment_pages, tail
from simstore.storage.generations import GenerationRow
from simstore.storage.rows import chunks
from simstore.storage.tables.names import tail_name

# Look-ups that a compound statement does faster than a list of keys.
_FEW = 8
# Compound statements for so many pages.
_PAGES = [
    " UNION ALL ".join(
        f"SELECT page, records FROM fingerprint_page WHERE page "  # noqa: S608 - integers
        f"BETWEEN ?{number} - {segment_pages.BEFORE} AND ?{number} + {segment_pages.AFTER}"
        for number in range(1, count + 1)
    )
    for count in range(_FEW + 1)
]
# Reading pages through the page cache of the system copies 8 KiB for a record of a few bytes.
_MAPPED_BYTES = 1 << 40

Probe = tuple[int, int]


class Postings:
    """The fingerprints of one generation in one snapshot, by segment and value.

    Args:
        connection: The snapshot.
        bits: Fingerprint length M.
        row: The generation.
    """

    def __init__(self, connection: Connection, bits: int, row: GenerationRow) -> None:
        self._connection = connection
        self._bits = bits
        self._generation_id = row.generation_id
        self._base = segment_pages.page_key(row.generation_id, 0, 0)
        self._value_shift = bits - SEGMENT_BITS
        self._firsts = [
            segment_pages.page_key(row.generation_id, segment, 0)
            for segment in range(bits // SEGMENT_BITS)
        ]
        self._tail_name = tail_name(bits)
        self.has_pages = row.packed_count > 0
        self.has_tail = row.fingerprint_count > row.packed_count
        driver = connection.driver
        self._cursor = driver.cursor() if isinstance(driver, sqlite3.Connection) else None
        self._page_cursor = driver.cursor() if isinstance(driver, sqlite3.Connection) else None
        if self._page_cursor is not None and self.has_pages:
            # A row that is not fetched keeps the file open for as long as the cursor lives, also
            # after the connection is closed.
            self._page_cursor.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}").fetchall()
            # The filter tells records that are no bytes; looking at each row takes as long as it.
            self._page_cursor.row_factory = None

    def pages(self, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return the rows of the pages that are there.

        Args:
            numbers: :func:`simstore.search.pages.page_number` of each.

        Returns:
            (number in the table, records) of each row, as :func:`simstore.search.pages.near` takes
            them.
        """
        base = self._base
        keys = [base | number << pages.ROW_BITS for number in numbers]
        if self._page_cursor is None:
            return segment_pages.read(self._connection, self._bits, keys)
        if len(keys) <= _FEW:
            found = self._page_cursor.execute(_PAGES[len(keys)], keys).fetchall()
        else:
            found = []
            for part in chunks(keys):
                found += self._page_cursor.execute(_page_list_text(len(part)), part).fetchall()
        return pages.of_pages(found, keys, self._bits) if pages.any_shared(found) else found

    def own_pages(self, turned: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return the rows of the pages of a fingerprint's own segment values, shared ones whole.

        Args:
            turned: The fingerprint by :func:`simstore.search.pages.rotations`.
        """
        shift, low = self._value_shift, pages.ROW_BITS
        keys = [
            first | one >> shift << low for first, one in zip(self._firsts, turned, strict=True)
        ]
        if self._page_cursor is None:
            return segment_pages.read(self._connection, self._bits, keys)
        return self._page_cursor.execute(_PAGES[len(keys)], keys).fetchall()

    def tail(self, probes: Sequence[Probe], limit: int = -1) -> NDArray[np.uint64]:
        """Return the fingerprints of the tail with some (segment, value), once for each of them.

        Args:
            probes: What to look up.
            limit: Where there are more of them than so many, some may be left out.

        Returns:
            uint64, shape (candidates, ceil(M / 64)); more than ``limit`` where some are left out.
        """
        if self._cursor is not None and len(probes) <= _FEW:
            rows = self._tail_rows(self._cursor, probes, limit)
            return tail.held_words(self._connection, [row[0] for row in rows], self._bits)
        grouped: dict[int, list[int]] = {}
        for segment, value in probes:
            grouped.setdefault(segment, []).append(value)
        return tail.candidates(
            self._connection, self._bits, self._generation_id, list(grouped.items())
        )

    def tail_values(self, probes: Sequence[Probe], limit: int) -> list[int] | None:
        """Return the stored fingerprints of the tail with some (segment, value), in SQLite.

        Args:
            probes: What to look up.
            limit: Where there are more than so many, there is no answer.

        Returns:
            As the table holds them, some twice; None: :meth:`tail` is to be asked.
        """
        if self._cursor is None or len(probes) > _FEW:
            return None
        if not self.has_tail:
            return []
        cursor: sqlite3.Cursor = self._connection.driver.cursor()
        # A hundred rows of one number each: their types are looked at together.
        cursor.row_factory = None
        values = [value for (value,) in self._tail_rows(cursor, probes, limit)]
        return values if len(values) <= limit and set(map(type, values)) <= {int} else None

    def _tail_rows(
        self, cursor: sqlite3.Cursor, probes: Sequence[Probe], limit: int
    ) -> list[tuple[Any, ...]]:
        text = _tail_text(self._tail_name, tuple(segment for segment, _ in probes))
        places = [part for _, value in probes for part in (self._generation_id, value)]
        places.append(limit + 1 if limit >= 0 else -1)
        return cursor.execute(text, places).fetchall()

    def count(self, segment: int, values: Sequence[int]) -> int:
        """Return how many fingerprints have one of these values in a segment."""
        found = 0
        where = (self._connection, self._bits, self._generation_id, segment, values)
        if self.has_pages:
            found += segment_pages.posting_count(*where)
        if self.has_tail:
            found += tail.posting_count(*where)
        return found


@cache
def _page_list_text(count: int) -> str:
    return segment_pages.rows_text("page, records", ", ".join(["(?)"] * count))


@cache
def _tail_text(name: str, segments: tuple[int, ...]) -> str:
    parts = " UNION ALL ".join(
        f"SELECT value FROM {name} WHERE generation_id = ? AND s{segment} = ?"  # noqa: S608 - our own names
        for segment in segments
    )
    return f"{parts} LIMIT ?"
