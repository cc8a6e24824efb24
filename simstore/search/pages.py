"""Pack fingerprints into pages, one for each value of a 16-bit segment, and search these pages.

Fingerprints of 64 or 128 bits are rotated so that a segment leads; those that share its value make
a page. The value names the page, so a record holds the other bits only: 6 or 14 bytes, least
significant first. A page is sorted by the rotated fingerprint, so longer prefixes are ranges of it.
Every segment has pages of all fingerprints: the pages of one segment give all of them back.

A page is kept in rows of at most :data:`ROW_BYTES`, numbered from 0: a row that is longer than half
a leaf of the file's B-tree takes a leaf to itself, however little of it it fills. Two short pages
of neighbouring values share a row (:func:`joined`): a row's number takes as much as two records.

References:
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3.2
    (tables sorted by permuted fingerprints, without the leading bits in each entry).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import begins_run
from simstore.search.segments import SEGMENT_BITS

PACKED_BITS = (64, 128)
PAGES_PER_SEGMENT = 1 << SEGMENT_BITS
# Four such rows fill a leaf of an SQLite file with pages of 8,192 bytes, and a page of a PostgreSQL
# table, which would keep longer ones elsewhere. Shorter rows would take longer to read.
ROW_BYTES = 1_974
# A row is a multiple of this: whole records of 6 bytes, and of 14.
ROW_UNIT_BYTES = 42
# The low bits of a row's number: which row of its page it is.
ROW_BITS = 12
ROW_NUMBERS = 1 << ROW_BITS
# Two pages share a row where each has at most so many records.
MOST_SHARED = 7
# The last numbers of a page's rows tell how many records of a shared row belong to the first page.
ROWS_PER_PAGE = ROW_NUMBERS - MOST_SHARED

_WORD = (1 << 64) - 1
_ROW_MASK = ROW_NUMBERS - 1
_VALUE_MASK = (1 << SEGMENT_BITS) - 1
_SEGMENT_SHIFT = ROW_BITS + SEGMENT_BITS
_SEGMENT_MASK = 7
_LEADING_BITS = np.uint64(SEGMENT_BITS)
_REST_BITS = np.uint64(64 - SEGMENT_BITS)
_REST = np.uint64((1 << (64 - SEGMENT_BITS)) - 1)
# Reading the last record as whole words looks two bytes beyond it.
_PADDING = b"\0\0"
_DAMAGED = "damaged page of fingerprints"


def record_bytes(bits: int) -> int:
    """Return the bytes of a record: what a segment leaves of M bits."""
    return (bits - SEGMENT_BITS) // 8


def rotated(words: NDArray[np.uint64], segment: int) -> NDArray[np.uint64]:
    """Return fingerprints turned left until a segment leads; shape (n, words) stays."""
    return _turned(words, SEGMENT_BITS * segment)


def restored(words: NDArray[np.uint64], segment: int) -> NDArray[np.uint64]:
    """Return rotated fingerprints in their original order; the inverse of :func:`rotated`."""
    return _turned(words, 64 * words.shape[1] - SEGMENT_BITS * segment)


def _turned(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """Return each fingerprint of 64 or 128 bits turned left."""
    whole, rest = divmod(bits % (64 * words.shape[1]), 64)
    turned = np.roll(words, -whole, axis=1)
    if rest:
        following = np.roll(turned, -1, axis=1)
        turned = turned << np.uint64(rest) | following >> np.uint64(64 - rest)
    return turned


def sortable(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return each fingerprint as one number or string of bytes, in the order of the numbers.

    Args:
        words: Shape (n, words).

    Returns:
        Shape (n,): uint64 for one word, 16 bytes for two.
    """
    if words.shape[1] == 1:
        return words[:, 0]
    return np.ascontiguousarray(words.astype(">u8")).view("S16").ravel()


def from_sortable(keys: NDArray[Any]) -> NDArray[np.uint64]:
    """Return fingerprints as words; the inverse of :func:`sortable`."""
    if keys.dtype.kind == "u":
        return keys.astype(np.uint64, copy=False).reshape(-1, 1)
    return np.ascontiguousarray(keys).view(">u8").astype(np.uint64).reshape(-1, 2)


def distinct(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the fingerprints ascending, each once."""
    keys = np.sort(sortable(words))
    return from_sortable(keys[begins_run(keys)])


def united(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the fingerprints of both, ascending, each once."""
    return distinct(np.concatenate((one, other)))


def without(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the fingerprints of the one that are not among the other, which ascends."""
    return one[~among(one, other)]


def among(words: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return whether each fingerprint is among others, which ascend; shape (n,)."""
    if not len(others):
        return np.zeros(len(words), bool)
    keys, held = sortable(words), sortable(others)
    places = np.minimum(np.searchsorted(held, keys), len(held) - 1)
    found: NDArray[np.bool_] = held[places] == keys
    return found


def leading_values(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the value of the segment that leads each rotated fingerprint, shape (n,)."""
    return (words[:, 0] >> _REST_BITS).astype(np.int64)


def pack(words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], list[bytes]]:
    """Return the rows of the pages of rotated fingerprints.

    Args:
        words: Rotated, ascending, distinct; shape (n, words).

    Returns:
        The number of each row within its segment, ascending, shape (rows,): the page's segment
        value, then :data:`ROW_BITS` bits that count the rows of the page; and the rows, each of one
        page, which are about equally long in a page. They are stored as :func:`joined` has them.
    """
    values = leading_values(words)
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    size = record_bytes(64 * words.shape[1])
    lengths = np.diff(starts, append=len(words))
    # A page of more rows than can be numbered has longer ones.
    rows = np.minimum(-(-size * lengths // ROW_BYTES), ROWS_PER_PAGE)
    unit = ROW_UNIT_BYTES // size
    most = unit * -(-lengths // (unit * rows))
    rows = -(-lengths // most)
    places = np.arange(int(rows.sum())) - np.repeat(np.cumsum(rows) - rows, rows)
    numbers = np.repeat(values[starts], rows) << ROW_BITS | places
    data = _as_records(words)
    begins = np.repeat(starts, rows) + places * np.repeat(most, rows)
    bounds = (size * np.append(begins, len(words))).tolist()
    return numbers, [data[start:end] for start, end in pairwise(bounds)]


def joined(
    numbers: NDArray[np.int64], rows: list[bytes], bits: int
) -> tuple[NDArray[np.int64], list[bytes]]:
    """Return rows as they are stored: two short pages of neighbouring values share one.

    The values of the two differ in their last bit. The records of the even one come first; the row
    is of that page, and its own number there is 4,096 less the count of them.

    Args:
        numbers: Ascending, as :func:`pack` returns them; both pages of a pair, or neither.
        rows: The rows.
        bits: M, 64 or 128.
    """
    if len(rows) < 2:
        return numbers, rows
    size = record_bytes(bits)
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    values = numbers >> ROW_BITS
    # Pages of one short row.
    is_short = sizes <= MOST_SHARED * size
    is_short[1:] &= values[1:] != values[:-1]
    is_short[:-1] &= values[:-1] != values[1:]
    firsts = np.flatnonzero(
        is_short[:-1] & is_short[1:] & (values[:-1] & 1 == 0) & (values[1:] == values[:-1] + 1)
    )
    if not len(firsts):
        return numbers, rows
    numbers, rows = numbers.copy(), rows.copy()
    numbers[firsts] += ROW_NUMBERS - sizes[firsts] // size
    for first in firsts.tolist():
        rows[first] += rows[first + 1]
    is_kept = np.ones(len(rows), bool)
    is_kept[firsts + 1] = False
    return numbers[is_kept], [rows[place] for place in np.flatnonzero(is_kept).tolist()]


def is_shared(number: int) -> bool:
    """Return whether the row of a number holds two pages."""
    return number & _ROW_MASK >= ROWS_PER_PAGE


def first_bytes(number: int, bits: int) -> int:
    """Return how many bytes of a shared row belong to its first page."""
    return (ROW_NUMBERS - (number & _ROW_MASK)) * record_bytes(bits)


def any_shared(rows: Sequence[tuple[int, bytes]]) -> bool:
    """Return whether there is a row that holds two pages."""
    return bool([number for number, _ in rows if number & _ROW_MASK >= ROWS_PER_PAGE])


def of_pages(
    rows: Sequence[tuple[int, bytes]], firsts: Sequence[int], bits: int
) -> list[tuple[int, bytes]]:
    """Return the rows of some pages out of those that were read, each once.

    Args:
        rows: As they are stored; one that two pages share may come for each of them.
        firsts: The numbers of the first rows of the pages.
        bits: M, 64 or 128.
    """
    wanted = set(firsts)
    size = record_bytes(bits)
    found: dict[int, bytes] = {}
    # Long queries wait for this: without the functions above.
    for number, records in rows:
        page = number & -ROW_NUMBERS
        count = page + ROW_NUMBERS - number
        if count > MOST_SHARED:
            if page in wanted:
                found[number] = records
            continue
        is_whole = isinstance(records, bytes) and not len(records) % size
        if page in wanted:
            found[page] = records[: size * count] if is_whole else records
        page += ROW_NUMBERS
        if page in wanted:
            found[page] = records[size * count :] if is_whole else records
    return list(found.items())


def records_of(words: NDArray[np.uint64]) -> list[bytes]:
    """Return the record of each rotated fingerprint."""
    size = record_bytes(64 * words.shape[1])
    data = _as_records(words)
    return [data[place : place + size] for place in range(0, len(data), size)]


def holds(row: bytes, record: bytes) -> bool:
    """Return whether a record is in a row of a page, without unpacking it."""
    place = row.find(record)
    while place % len(record) and place > 0:
        place = row.find(record, place + 1)
    return place >= 0


def _as_records(words: NDArray[np.uint64]) -> bytes:
    # Least significant word first, and of the leading word what the segment leaves.
    as_bytes = np.ascontiguousarray(words[:, ::-1].astype("<u8")).view(np.uint8)
    size = record_bytes(64 * words.shape[1])
    return as_bytes.reshape(len(words), 8 * words.shape[1])[:, :size].tobytes()


def unpack(
    numbers: Sequence[int] | NDArray[np.int64], rows: Sequence[bytes], bits: int
) -> NDArray[np.uint64]:
    """Return the rotated fingerprints of rows, in their order; the inverse of :func:`pack`.

    Rows that two pages share are unpacked as well.

    Args:
        numbers: The number of each row; its lower bits count, as :func:`pack` returns them.
        rows: The rows.
        bits: M, 64 or 128.

    Returns:
        uint64, shape (n, M / 64).

    Raises:
        ValueError: A row is damaged.
    """
    lengths = row_lengths(rows, bits)
    words = _words_of(b"".join((*rows, _PADDING)), int(lengths.sum()), bits)
    held = np.asarray(numbers, np.int64)
    values = held >> ROW_BITS & _VALUE_MASK
    counts = ROW_NUMBERS - (held & _ROW_MASK)
    if len(held) and counts.min() <= MOST_SHARED:
        firsts = np.where(counts <= MOST_SHARED, np.minimum(counts, lengths), lengths)
        values = np.column_stack((values, values + 1)).ravel()
        lengths = np.column_stack((firsts, lengths - firsts)).ravel()
    leading = words[:, 0]
    leading &= _REST
    leading |= np.repeat(values.astype(np.uint64) << _REST_BITS, lengths)
    return words


def row_lengths(rows: Sequence[bytes], bits: int) -> NDArray[np.int64]:
    """Return the number of records of each row of a page.

    Raises:
        ValueError: A row is damaged.
    """
    size = record_bytes(bits)
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    if (sizes % size).any():
        raise ValueError(_DAMAGED)
    return sizes // size


def _words_of(data: bytes, count: int, bits: int) -> NDArray[np.uint64]:
    """Return padded records as words whose 16 leading bits mean nothing, shape (n, M / 64)."""
    words = np.empty((count, bits // 64), np.uint64)
    if count:
        for number in range(bits // 64):
            place = 8 * (bits // 64 - 1 - number)
            words[:, number] = np.ndarray(count, "<u8", data, place, record_bytes(bits))
    return words


def rotations(value: int, bits: int) -> list[int]:
    """Return a fingerprint turned so that each of its segments leads, in their order."""
    mask = (1 << bits) - 1
    twice = value << bits | value
    return [twice >> shift & mask for shift in range(bits, 0, -SEGMENT_BITS)]


def page_number(segment: int, value: int) -> int:
    """Return the number of a page within a generation: 3 bits of segment, 16 of value."""
    return segment << SEGMENT_BITS | value


def row_number(page: int, row: int = 0) -> int:
    """Return the number of a row of a page: the page's number, then 12 bits of the row's own."""
    return page << ROW_BITS | row


def near(
    rows: Sequence[tuple[int, bytes]],
    turned: Sequence[int],
    bits: int,
    radius: int,
    *,
    exact: bool = False,
    most_bytes: int = -1,
) -> tuple[list[int], int]:
    """Return the fingerprints of pages that may be within a radius of one; no other is.

    This is a filter: its survivors are still to be verified.

    Args:
        rows: (number, records) of the rows of pages; of the number the low 31 bits count,
            :func:`row_number`.
        turned: The fingerprint by :func:`rotations`.
        bits: M, 64 or 128.
        radius: Largest distance, in bits, inclusive.
        exact: The rows are of the pages of the fingerprint's own segment values, and may be shared
            with others; if not, they are of single pages.
        most_bytes: Do not look at more than so many bytes of records; -1: at any.

    Returns:
        Non-negative integers, of which one may come several times; and the number of records, -1
        where they are too many to look at.

    Raises:
        ValueError: A row is damaged.
    """
    size = (bits - SEGMENT_BITS) >> 3
    records = [row for _, row in rows]
    records.append(_PADDING)
    data = b"".join(records)
    if 0 <= most_bytes < len(data):
        return [], -1
    lengths = [len(row) // size for _, row in rows]
    leading = [turned[number >> _SEGMENT_SHIFT & _SEGMENT_MASK] for number, _ in rows]
    total = sum(lengths)
    if len(data) != size * total + 2:
        raise ValueError(_DAMAGED)
    if bits == 64:
        held = np.ndarray(total, "<u8", data, 0, size)
        counts = np.bitwise_count(
            (held ^ np.array(leading, np.uint64).repeat(lengths)) << _LEADING_BITS
        )
    else:
        words = np.array([(one >> 64, one & _WORD) for one in leading], np.uint64)
        different = _words_of(data, total, bits) ^ words.reshape(-1, 2).repeat(lengths, axis=0)
        different[:, 0] &= _REST
        counts = np.bitwise_count(different).sum(axis=1, dtype=np.uint8)
    if not exact:
        # What the page's own bits differ in is added to what the records differ in.
        flips = [
            (one >> (bits - SEGMENT_BITS) ^ number >> ROW_BITS & _VALUE_MASK).bit_count()
            for one, (number, _) in zip(leading, rows, strict=True)
        ]
        if any(flips):
            counts += np.array(flips, np.uint8).repeat(lengths)
    places = (counts <= radius).nonzero()[0]
    if not len(places):
        return [], total
    ends = np.cumsum(lengths)
    return [
        _record(rows[number], place - int(ends[number]) + lengths[number], bits)
        for place, number in zip(
            places.tolist(), ends.searchsorted(places, "right").tolist(), strict=True
        )
    ], total


def _record(row: tuple[int, bytes], place: int, bits: int) -> int:
    """Return the fingerprint of one record of a row."""
    number, records = row
    size = record_bytes(bits)
    if is_shared(number) and size * place >= first_bytes(number, bits):
        number += ROW_NUMBERS
    rest = int.from_bytes(records[size * place : size * (place + 1)], "little")
    turned = (number >> ROW_BITS & _VALUE_MASK) << (bits - SEGMENT_BITS) | rest
    shift = SEGMENT_BITS * (number >> _SEGMENT_SHIFT & _SEGMENT_MASK)
    return (turned >> shift | turned << (bits - shift)) & ((1 << bits) - 1)
