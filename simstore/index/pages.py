"""Pack entries (a 64-bit key and integers of fixed width) into the pages of a run, and unpack them.

The leading bits of a key name its page, so a page keeps the other bytes of the key only, then each
integer in as few bytes as the largest of the run needs. Entries ascend by key, then by integers. A
page is one row, or several where one key is crowded: rows of a page ascend, and all but the last
are full, so a look-up knows by the first row whether there are others.

References:
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3.2
    (sorted tables without the leading bits in each entry).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import distinct
from simstore.index import tuning

# Four such rows fill a leaf of an SQLite file with pages of 8,192 bytes, and a page of a PostgreSQL
# table, which would keep longer ones elsewhere.
ROW_BYTES = 1_974
# Bits of a place within a run: the page, then the row; the highest bit is for the run's filter.
PLACE_BITS = 40
_PAGE_PLACE_BITS = PLACE_BITS - 1
# More bits of a key than this name no page: rows need numbers, too.
MOST_PAGE_BITS = 24
# Fewest key bits: an entry keeps a byte of its key at least.
LEAST_KEY_BITS = MOST_PAGE_BITS + 8
# Fewest entries of a page, if short pages save each entry a byte.
_FEWEST_ENTRIES = 12


class DamagedPage(ValueError):
    """Raised if a row of a page cannot be one.

    Args:
        place: Its place within the run.
    """

    def __init__(self, place: int) -> None:
        super().__init__(f"the row at place {place} is damaged")
        self.place = place


class Entries(NamedTuple):
    """Entries of an index.

    Attributes:
        keys: The keys, aligned to their first bit; uint64, shape (n,).
        values: The integers of each; uint64, shape (n, values of the kind).
    """

    keys: NDArray[np.uint64]
    values: NDArray[np.uint64]

    @classmethod
    def none(cls, value_count: int) -> Entries:
        """Return no entries."""
        return cls(np.empty(0, np.uint64), np.empty((0, value_count), np.uint64))

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """Return the entries of all parts, which are not none, one part after the other."""
        some = [part for part in parts if len(part.keys)] or parts[:1]
        if len(some) == 1:
            return some[0]
        return cls(*(np.concatenate(each) for each in zip(*some, strict=True)))

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Entries:
        """Return the entries that a mask, places or a slice select."""
        return Entries(self.keys[which], self.values[which])

    def in_order(self, key_bits: int = 64) -> Entries:
        """Return the entries by ascending key, then by their integers, each once.

        Args:
            key_bits: Leading bits of a key that may be set.
        """
        spare = 64 - key_bits
        if not self.values.shape[1]:
            keys = distinct(self.keys)
            return Entries(keys, np.empty((len(keys), 0), np.uint64))
        if self.values.shape[1] == 1 and int(self.values.max(initial=0)) >> spare == 0:
            # One number is sorted much faster than two.
            both = distinct(self.keys | self.values[:, 0])
            low = np.uint64((1 << spare) - 1)
            return Entries(both & ~low, (both & low).reshape(-1, 1))
        order = self._order(spare)
        keys, values = self.keys[order], self.values[order]
        fresh = np.ones(len(keys), np.bool_)
        fresh[1:] = keys[1:] != keys[:-1]
        for column in values.T:
            fresh[1:] |= column[1:] != column[:-1]
        return Entries(keys, values) if fresh.all() else Entries(keys[fresh], values[fresh])

    def _order(self, spare: int) -> NDArray[np.int64]:
        """Return the places of the entries in order; so many low bits of a key are 0."""
        if len(self.keys) >> spare:
            return np.lexsort((*self.values.T[::-1], self.keys))
        # Numbers are sorted much faster than places by several columns, which few entries need.
        places = np.arange(len(self.keys), dtype=np.uint64)
        both = np.sort(self.keys | places)
        order = (both & np.uint64((1 << spare) - 1)).astype(np.int64)
        both >>= np.uint64(spare)
        same = both[1:] == both[:-1]
        tied = np.zeros(len(order), np.bool_)
        tied[1:] = same
        tied[:-1] |= same
        some = order[tied]
        order[tied] = some[np.lexsort((*self.values[some].T[::-1], self.keys[some]))]
        return order


@dataclass(frozen=True)
class Shape:
    """The layout of the entries of a run; what follows from its attributes is computed once.

    Attributes:
        key_bits: Leading bits of a key that count, 32 to 64.
        page_bits: Those of them that name a page, at most 24.
        widths: Bytes of each integer beside a key.
        row_bytes: Most bytes of a row: a look-up knows by it whether other rows follow.
    """

    key_bits: int
    page_bits: int
    widths: tuple[int, ...] = ()
    row_bytes: int = ROW_BYTES

    @classmethod
    def fitting(
        cls, key_bits: int, count: int, most: Sequence[int] = (), page_bits: int = MOST_PAGE_BITS
    ) -> Shape:
        """Return the shape for so many entries.

        Args:
            key_bits: Leading bits of a key that count.
            count: Entries.
            most: The largest of each integer beside a key.
            page_bits: Leading bits of a key that may name a page.
        """
        bits = min(max((count // tuning.PAGE_ENTRIES).bit_length() - 1, 0), page_bits)
        widths = tuple(max((one.bit_length() + 7) // 8, 1) for one in most)
        whole = key_bits - (key_bits - bits) // 8 * 8
        if whole <= page_bits and count >> whole >= _FEWEST_ENTRIES:
            bits = whole
        return cls(key_bits, bits, widths, ROW_BYTES)

    @property
    def is_possible(self) -> bool:
        """Return whether there can be such pages."""
        return (
            0 <= self.page_bits <= MOST_PAGE_BITS
            and LEAST_KEY_BITS <= self.key_bits <= 64
            and all(1 <= width <= 8 for width in self.widths)
            and self.entry_bytes <= self.row_bytes <= 1 << 16
        )

    @cached_property
    def key_bytes(self) -> int:
        """Bytes of a key that an entry keeps."""
        return -(-(self.key_bits - self.page_bits) // 8)

    @cached_property
    def entry_bytes(self) -> int:
        """Bytes of an entry."""
        return self.key_bytes + sum(self.widths)

    @cached_property
    def row_entries(self) -> int:
        """Entries of a full row."""
        return self.row_bytes // self.entry_bytes

    @cached_property
    def full_bytes(self) -> int:
        """Bytes of a full row: others of its page may follow."""
        return self.row_entries * self.entry_bytes

    @cached_property
    def page_shift(self) -> int:
        """Bits of a 64-bit key behind those that name its page."""
        return 64 - self.page_bits

    @cached_property
    def row_bits(self) -> int:
        """Bits of a place that number the rows of a page."""
        return _PAGE_PLACE_BITS - self.page_bits

    def first_places(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the place of the first row of each key's page."""
        if not self.page_bits:
            return np.zeros(len(keys), np.int64)
        pages = (keys >> np.uint64(self.page_shift)).astype(np.int64)
        return pages << self.row_bits


def pack(entries: Entries, shape: Shape) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of pages, ascending: (place, row).

    Args:
        entries: In order; all those of each of their pages.
        shape: The run's.
    """
    if not len(entries.keys):
        return
    size, most = shape.entry_bytes, shape.row_entries
    data = _packed(entries, shape).tobytes()
    pages = shape.first_places(entries.keys)
    starts = np.flatnonzero(np.diff(pages, prepend=-1))
    lengths = np.diff(starts, append=len(pages))
    rows = -(-lengths // most)
    numbers = np.arange(int(rows.sum())) - np.repeat(np.cumsum(rows) - rows, rows)
    places = np.repeat(pages[starts], rows) + numbers
    begins = np.repeat(starts, rows) + numbers * most
    bounds = (size * np.append(begins, len(pages))).tolist()
    for place, (begin, end) in zip(places.tolist(), pairwise(bounds), strict=True):
        yield place, data[begin:end]


def unpack(places: Sequence[int], rows: Sequence[bytes], shape: Shape) -> Entries:
    """Return the entries of rows, in their order; the inverse of :func:`pack`.

    Raises:
        DamagedPage: A row is none.
    """
    counts = row_lengths(places, rows, shape)
    data = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, shape.entry_bytes)
    keys = _numbers(data[:, : shape.key_bytes])
    if shape.page_bits:
        pages = np.asarray(places, np.int64) >> shape.row_bits
        keys &= np.uint64((1 << (shape.key_bits - shape.page_bits)) - 1)
        keys <<= np.uint64(64 - shape.key_bits)
        keys |= np.repeat(pages.astype(np.uint64) << np.uint64(64 - shape.page_bits), counts)
    else:
        keys <<= np.uint64(64 - shape.key_bits)
    values = np.empty((len(data), len(shape.widths)), np.uint64)
    begin = shape.key_bytes
    for column, width in enumerate(shape.widths):
        values[:, column] = _numbers(data[:, begin : begin + width])
        begin += width
    return Entries(keys, values)


def row_lengths(places: Sequence[int], rows: Sequence[bytes], shape: Shape) -> NDArray[np.int64]:
    """Return how many entries each row has.

    Raises:
        DamagedPage: A row is none.
    """
    size = shape.entry_bytes
    try:
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    except TypeError:
        damaged = next(place for place, row in zip(places, rows, strict=True) if not _is_bytes(row))
        raise DamagedPage(damaged) from None
    wrong = np.flatnonzero((sizes % size != 0) | (sizes == 0))
    if len(wrong) or not all(map(_is_bytes, rows)):
        raise DamagedPage(places[int(wrong[0])] if len(wrong) else places[0])
    return sizes // size


def found_in(row: bytes, key: int, shape: Shape) -> list[tuple[int, ...]]:
    """Return the integers of the entries of a row that have a key, without NumPy.

    Args:
        row: A row of the key's page.
        key: The key, its bits above ``key_bits`` among it.
        shape: The run's.

    Raises:
        ValueError: The row is damaged.
    """
    size, width = shape.entry_bytes, shape.key_bytes
    if not isinstance(row, bytes) or not row or len(row) % size:
        raise ValueError("a damaged row")
    rest = key >> (64 - shape.key_bits) & ((1 << (shape.key_bits - shape.page_bits)) - 1)
    wanted = rest.to_bytes(width, "little")
    found = []
    at = row.find(wanted)
    while at >= 0:
        if at % size == 0:
            numbers, begin = [], at + width
            for one in shape.widths:
                numbers.append(int.from_bytes(row[begin : begin + one], "little"))
                begin += one
            found.append(tuple(numbers))
            at = row.find(wanted, at + size)
        else:
            at = row.find(wanted, at + 1)
    return found


def _packed(entries: Entries, shape: Shape) -> NDArray[np.uint8]:
    data = np.empty((len(entries.keys), shape.entry_bytes), np.uint8)
    data[:, : shape.key_bytes] = _bytes_of(entries.keys >> np.uint64(64 - shape.key_bits))[
        :, : shape.key_bytes
    ]
    left = (shape.key_bits - shape.page_bits) % 8
    if left:
        # The highest byte that is kept has bits that name the page, too.
        data[:, shape.key_bytes - 1] &= np.uint8((1 << left) - 1)
    begin = shape.key_bytes
    for column, width in zip(entries.values.T, shape.widths, strict=True):
        data[:, begin : begin + width] = _bytes_of(column)[:, :width]
        begin += width
    return data


def _bytes_of(numbers: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(numbers, "<u8").view(np.uint8).reshape(-1, 8)


def _numbers(columns: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the numbers of which a row has the bytes, the lowest first."""
    whole = np.zeros((len(columns), 8), np.uint8)
    whole[:, : columns.shape[1]] = columns
    return whole.view("<u8").ravel().astype(np.uint64, copy=False)


def _is_bytes(row: object) -> bool:
    return isinstance(row, bytes)
