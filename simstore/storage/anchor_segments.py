"""Write, merge and look up log-structured segments of the passage index (n-gram postings).

A log-structured merge: what is added becomes a segment of level 0, and eight segments of one level
one of the next, so that each posting is rewritten once a level, and few segments are asked.

References:
    O'Neil, Cheng, Gawlick, O'Neil: The log-structured merge-tree, Acta Informatica 33, 1996.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.anchor_pages import (
    PAGE_BITS,
    PageLayout,
    Posting,
    Postings,
    in_order,
    layout_for,
    own_pages,
    pack,
    unpack,
)
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt
from simstore.storage.rows import execute, fetch, insert_one, insert_rows, select_in

FAN_OUT = 8
# The numbers of its pages, and of the first page behind them, are to be 64-bit integers.
LARGEST_SEGMENT = (1 << (63 - PAGE_BITS)) - 2
# Postings that are merged at a time.
_MERGED_AT_ONCE = 1 << 20
# No segment has fewer key bits: a merge goes by these leading bits of the hash.
_LEAST_KEY_BITS = 8
_SEGMENTS = (
    "SELECT segment_id, level, posting_count, key_bits, entry_bytes, start_bytes, length_bytes, "
    "low_bytes FROM anchor_segment ORDER BY segment_id"
)
_PAGES = "SELECT page, postings FROM anchor_page WHERE page IN ({})"
_SIZES = "SELECT page, length(postings) FROM anchor_page WHERE page IN ({})"


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment: postings that were packed together.

    Attributes:
        level: How many merges lie behind it.
        posting_count: Its postings, those of entries that are gone too.
    """

    segment_id: int
    level: int
    posting_count: int
    layout: PageLayout

    @property
    def first_page(self) -> int:
        """Return the number that those of its pages are added to."""
        return self.segment_id << PAGE_BITS


def segments(connection: Connection) -> list[Segment]:
    """Return all segments.

    Raises:
        CorruptStore: One says that its pages are cut as none are, or has a number that none has.
    """
    found = [
        Segment(row[0], row[1], row[2], PageLayout(*row[3:]))
        for row in fetch(connection, _SEGMENTS)
    ]
    for one in found:
        if one.segment_id > LARGEST_SEGMENT:
            raise corrupt(connection, f"segment {one.segment_id} of anchors: no number of one")
        if not one.layout.is_possible:
            raise corrupt(connection, f"segment {one.segment_id} of anchors has damaged widths")
    return found


def add(connection: Connection, postings: Postings) -> None:
    """Write postings, in any order, as a segment of level 0; merge where there are many."""
    if len(postings):
        _write(connection, 0, [in_order(postings)], _layout_of(postings), len(postings))
    level = 0
    while True:
        found = [one for one in segments(connection) if one.level == level]
        if len(found) < FAN_OUT:
            return
        merge(connection, found, level + 1)
        level += 1


def merge(connection: Connection, merged: Sequence[Segment], level: int) -> None:
    """Put one segment in the place of several, without postings of entries that are gone."""
    total = sum(one.posting_count for one in merged)
    if total:
        layouts = [one.layout for one in merged]
        sized = layout_for(total, 0, 0, 0)
        layout = PageLayout(
            sized.key_bits,
            max(one.entry_bytes for one in layouts),
            max(one.start_bytes for one in layouts),
            max(one.length_bytes for one in layouts),
            sized.low_bytes,
        )
        _write(connection, level, _merged(connection, merged, total), layout, None)
    for one in merged:
        connection.execute(
            sql.delete(tables.anchor_segment).where(
                tables.anchor_segment.c.segment_id == one.segment_id
            )
        )


def _merged(connection: Connection, merged: Sequence[Segment], total: int) -> Iterator[Postings]:
    """Take the live postings out of segments in order, a range of hashes at a time."""
    bits = min(max(total // _MERGED_AT_ONCE, 1).bit_length() - 1, _LEAST_KEY_BITS)
    for part in range(1 << bits):
        first = part << (PAGE_BITS - bits)
        end = (part + 1) << (PAGE_BITS - bits)
        found = [read_between(connection, one, first, end) for one in merged]
        # Before the new pages are written, which take their room.
        for one in merged:
            _delete_between(connection, one, first, end)
        yield in_order(live(connection, np.concatenate(found)))


def _delete_between(connection: Connection, segment: Segment, first: int, end: int) -> None:
    execute(
        connection,
        "DELETE FROM anchor_page WHERE page >= ? AND page < ?",
        segment.first_page + first,
        segment.first_page + end,
    )


def live(connection: Connection, postings: Postings) -> Postings:
    """Return the postings of entries that still exist."""
    return postings[documents_of(connection, postings["entry"]) >= 0]


def documents_of(connection: Connection, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the document of each entry, -1 where it is gone."""
    distinct, places = np.unique(entries, return_inverse=True)
    statement = "SELECT entry_id, document_id FROM passage_entry WHERE entry_id IN ({})"
    rows = np.array(list(select_in(connection, statement, distinct.tolist())), np.int64)
    found = np.full(len(distinct), -1, np.int64)
    if len(rows):
        found[np.searchsorted(distinct, rows[:, 0])] = rows[:, 1]
    return found[places]


def _layout_of(postings: Postings) -> PageLayout:
    most = (int(postings[name].max(initial=0)) for name in ("entry", "start", "length"))
    return layout_for(len(postings), *most)


def _write(
    connection: Connection,
    level: int,
    parts: Iterable[Postings],
    layout: PageLayout,
    count: int | None,
) -> None:
    """Write a segment of parts in order; ``count``: how many postings, where it is known."""
    segment_id = insert_one(
        connection,
        tables.anchor_segment,
        {
            "level": level,
            "key_bits": layout.key_bits,
            "entry_bytes": layout.entry_bytes,
            "start_bytes": layout.start_bytes,
            "length_bytes": layout.length_bytes,
            "low_bytes": layout.low_bytes,
            "posting_count": count or 0,
        },
    )
    first = segment_id << PAGE_BITS
    written = 0
    for part in parts:
        rows = [(first + number, blob) for number, blob in pack(part, layout)]
        insert_rows(connection, tables.anchor_page, ("page", "postings"), rows)
        written += len(part)
    if not written:
        execute(connection, "DELETE FROM anchor_segment WHERE segment_id = ?", segment_id)
    elif count is None:
        execute(
            connection,
            "UPDATE anchor_segment SET posting_count = ? WHERE segment_id = ?",
            written,
            segment_id,
        )


def read_between(connection: Connection, segment: Segment, first: int, end: int) -> Postings:
    """Return the postings in pages ``first <= number < end`` of a segment, in no order.

    Raises:
        CorruptStore: A page is damaged.
    """
    rows = fetch(
        connection,
        "SELECT page, postings FROM anchor_page WHERE page >= ? AND page < ?",
        segment.first_page + first,
        segment.first_page + end,
    )
    return _unpacked(connection, segment, rows)[0]


def scan(connection: Connection, segment: Segment) -> Iterator[Postings]:
    """Yield all postings of a segment, a range of hashes at a time.

    Raises:
        CorruptStore: A page is damaged.
    """
    count = segment.posting_count
    bits = min(max(count // _MERGED_AT_ONCE, 1).bit_length() - 1, _LEAST_KEY_BITS)
    size = 1 << (PAGE_BITS - bits)
    for first in range(0, 1 << PAGE_BITS, size):
        yield read_between(connection, segment, first, first + size)


def look_up(
    connection: Connection, segment: Segment, hashes: NDArray[np.uint64]
) -> tuple[Postings, NDArray[np.uint64]]:
    """Return the postings of hashes that are in shared pages, and the hashes that are crowded.

    Args:
        connection: A snapshot.
        segment: The segment.
        hashes: Ascending, distinct.

    Raises:
        CorruptStore: A page is damaged.
    """
    numbers = np.unique(segment.layout.pages_of(hashes)) + segment.first_page
    rows = list(select_in(connection, _PAGES, numbers.tolist()))
    found, crowded = _unpacked(connection, segment, rows)
    return found[among(found["hash"], hashes)], np.intersect1d(crowded, hashes)


def crowded_counts(
    connection: Connection, segment: Segment, crowded: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return how many postings each crowded hash has in a segment, without reading them."""
    numbers = own_pages(crowded) + segment.first_page
    sizes = dict(select_in(connection, _SIZES, numbers.tolist()))
    size = segment.layout.record.itemsize
    return np.array([sizes.get(number, 0) // size for number in numbers.tolist()], np.int64)


def crowded_postings(
    connection: Connection, segment: Segment, crowded: NDArray[np.uint64]
) -> Postings:
    """Return the postings of crowded hashes.

    Raises:
        CorruptStore: A page is damaged.
    """
    numbers = own_pages(crowded) + segment.first_page
    rows = list(select_in(connection, _PAGES, numbers.tolist()))
    return _unpacked(connection, segment, rows)[0]


def among(values: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which values are among those wanted, which are ascending and distinct."""
    if not len(wanted):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    found: NDArray[np.bool_] = wanted[places] == values
    return found


def stray_pages(connection: Connection) -> int:
    """Return how many pages are of no segment."""
    statement = (
        "SELECT count(*) FROM anchor_page WHERE NOT EXISTS (SELECT 1 FROM anchor_segment "
        "WHERE segment_id = page / ?)"
    )
    return int(fetch(connection, statement, 1 << PAGE_BITS)[0][0])


def page_bytes(connection: Connection) -> int:
    """Return the bytes of all pages, without the table's own."""
    statement = "SELECT coalesce(sum(length(postings)), 0) FROM anchor_page"
    return int(fetch(connection, statement)[0][0])


def _unpacked(
    connection: Connection, segment: Segment, rows: Sequence[tuple[int, bytes]]
) -> tuple[Postings, NDArray[np.uint64]]:
    if not rows:
        return np.empty(0, Posting), np.empty(0, np.uint64)
    numbers = [row[0] - segment.first_page for row in rows]
    try:
        return unpack(numbers, [row[1] for row in rows], segment.layout)
    except ValueError as error:
        raise corrupt(connection, error) from error
