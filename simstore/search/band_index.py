"""LSH bands in memory: an incremental index of sketches, and a Bloom filter of band hashes.

Sketches come into a buffer, which is compared as a whole. A full buffer becomes a level, which is
compared as a whole for its first few queries; then its band hashes are sorted, each with its
sketch. Two levels of about the same size become one, so that there are few, and each hash is
sorted again only as often as its level doubles. The filter of whole
hashes passes one look-up in fifty or fewer by chance; that of packed pages, which has 23 bits of
a hash (:class:`simstore.search.bands.BandFilter`), one in four to eight.

References:
    Bentley, Saxe: Decomposable searching problems I: static-to-dynamic transformation,
    Journal of Algorithms 1, 1980, section 2 (the logarithmic method).
    Bloom: Space/time trade-offs in hash coding with allowable errors, Communications of the ACM
    13(7), 1970. Kirsch, Mitzenmacher: Less hashing, same performance: building a better Bloom
    filter, ESA 2006 (all bits of an entry from two hashes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import distinct

# Sketches of a buffer.
_BUFFERED = 128
# Rows are marked, not sorted, where they are more than one in so many of all.
_WORTH_MARKING = 32


# Queries that a level is compared with before it is sorted, which takes as long as many of them.
_COMPARED_QUERIES = 8


class _Sorted(NamedTuple):
    """Band hashes of some sketches, sorted.

    Attributes:
        hashes: Ascending, uint64, shape (sketches * bands,).
        rows: Which sketch has each, uint32, same shape.
    """

    hashes: NDArray[np.uint64]
    rows: NDArray[np.uint32]


class _Probes(NamedTuple):
    """Band hashes of queries, sorted: neighbours are looked up one after the other, in the cache.

    Attributes:
        hashes: Ascending, uint64, shape (queries * bands,).
        queries: Which query has each, int64, same shape.
    """

    hashes: NDArray[np.uint64]
    queries: NDArray[np.int64]

    @classmethod
    def of(cls, queries: NDArray[np.uint64]) -> _Probes:
        """Sort the hashes of queries, shape (queries, bands)."""
        flat = queries.ravel()
        order = np.argsort(flat)
        return cls(flat[order], order // queries.shape[1])


class _Level:
    """Band hashes of some sketches, sorted when enough was looked up among them.

    Args:
        numbers: Number of each sketch, ascending, int64, shape (sketches,).
        made: Their band hashes as they came, uint64, shape (sketches, bands), or sorted.

    Attributes:
        numbers: As given.
    """

    def __init__(self, numbers: NDArray[np.int64], made: NDArray[np.uint64] | _Sorted) -> None:
        self.numbers = numbers
        self._made = made
        self._compared = 0

    def rows_agreeing(
        self, queries: NDArray[np.uint64], probes: _Probes
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the queries that something may agree with in a band, with its rows, ascending.

        Args:
            queries: Hashes of their first bands, or of all; shape (queries, at most bands).
            probes: The same, sorted.
        """
        made = self._made
        if isinstance(made, _Sorted) or self._compared + len(queries) > _COMPARED_QUERIES:
            yield from _looked_up(self.in_order(), probes, len(self.numbers))
            return
        self._compared += len(queries)
        for place, query in enumerate(queries):
            rows = np.flatnonzero((made[:, : len(query)] == query).any(axis=1))
            if len(rows):
                yield place, rows

    def may_agree(self, query: NDArray[np.uint64], probes: NDArray[np.uint64]) -> bool:
        """Return whether something may agree with a query in a band.

        Args:
            query: Hashes of the first bands.
            probes: The same, ascending.
        """
        made = self._made
        if not isinstance(made, _Sorted):
            return any(True for _ in self.rows_agreeing(query[None], _Probes.of(query[None])))
        near = made.hashes.take(made.hashes.searchsorted(probes), mode="clip")
        return bool((near == probes).any())

    def in_order(self) -> _Sorted:
        """Return the hashes sorted; threads that come at once may each sort them."""
        made = self._made
        if not isinstance(made, _Sorted):
            hashes = made.ravel()
            order = np.argsort(hashes, kind="stable")
            made = _Sorted(hashes[order], (order // made.shape[1]).astype(np.uint32))
            self._made = made
        return made

    def joined(self, other: _Level) -> _Level:
        """Return this level and another, whose numbers are above, as one."""
        numbers = np.concatenate((self.numbers, other.numbers))
        one, two = self._made, other._made
        if not isinstance(one, _Sorted) and not isinstance(two, _Sorted):
            return _Level(numbers, np.concatenate((one, two)))
        merged = _merged(self.in_order(), other.in_order(), len(self.numbers))
        return _Level(numbers, merged)


class BandIndex:
    """An immutable index of the bands of some sketches; growing it makes a new one.

    Args:
        bands: How many bands a sketch has.
    """

    def __init__(self, bands: int) -> None:
        self._levels: tuple[_Level, ...] = ()
        self._buffer = np.empty((0, bands), np.uint64)
        self._buffered = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._buffered) + sum(len(level.numbers) for level in self._levels)

    @property
    def last_number(self) -> int:
        """The largest number of a sketch, or 0."""
        if len(self._buffered):
            return int(self._buffered[-1])
        return int(self._levels[-1].numbers[-1]) if self._levels else 0

    def extended(self, bands: NDArray[np.uint64], numbers: NDArray[np.int64]) -> BandIndex:
        """Return an index with more sketches; this one does not change.

        Args:
            bands: Band hashes, shape (n, bands).
            numbers: Number of each sketch, ascending, above all that are there; shape (n,).
        """
        if not len(numbers):
            return self
        grown = BandIndex(self._buffer.shape[1])
        grown._levels = self._levels
        grown._buffer = np.concatenate((self._buffer, bands))
        grown._buffered = np.concatenate((self._buffered, numbers))
        if len(grown._buffered) >= _BUFFERED:
            grown._levels = _with(grown._levels, _Level(grown._buffered, grown._buffer))
            grown._buffer, grown._buffered = bands[:0], numbers[:0]
        return grown

    def may_agree(self, query: NDArray[np.uint64]) -> bool:
        """Return whether some sketch may agree with a query in a band; False: none does.

        Args:
            query: Hashes of the first bands, or of all; shape (at most bands,).
        """
        if len(self._buffered) and (self._buffer[:, : len(query)] == query).any():
            return True
        probes = np.sort(query)
        return any(level.may_agree(query, probes) for level in self._levels)

    def candidates(self, queries: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
        """Return the numbers of sketches that may agree with each query in a band, ascending.

        All that agree are among them; of the others, one has the hash of another band.

        Args:
            queries: Hashes of the first bands, or of all; shape (queries, at most bands).
        """
        found: list[list[NDArray[np.int64]]] = [[] for _ in queries]
        probes = _Probes.of(queries)
        for level in self._levels:
            for query, rows in level.rows_agreeing(queries, probes):
                found[query].append(level.numbers[rows])
        if len(self._buffered):
            for query, numbers in zip(queries, found, strict=True):
                agree = (self._buffer[:, : len(query)] == query).any(axis=1)
                if agree.any():
                    numbers.append(self._buffered[agree])
        # Numbers of a level are above those of the levels before it.
        return [np.concatenate(numbers) if numbers else self._buffered[:0] for numbers in found]


def _looked_up(
    level: _Sorted, probes: _Probes, count: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield queries with the rows of a level of ``count`` sketches that may agree with them."""
    starts = np.searchsorted(level.hashes, probes.hashes)
    # Most are not there: only of the others is looked where they end.
    near = level.hashes[np.minimum(starts, len(level.hashes) - 1)]
    there = np.flatnonzero(near == probes.hashes)
    ends = np.searchsorted(level.hashes, probes.hashes[there], "right").tolist()
    rows: dict[int, list[NDArray[np.uint32]]] = {}
    queries, starts = probes.queries[there].tolist(), starts[there]
    for query, start, end in zip(queries, starts.tolist(), ends, strict=True):
        rows.setdefault(query, []).append(level.rows[start:end])
    for query, parts in rows.items():
        yield query, _distinct_rows(parts, count)


def _distinct_rows(parts: list[NDArray[np.uint32]], count: int) -> NDArray[np.int64]:
    """Return rows of a level of ``count`` sketches, ascending, each once."""
    rows = np.concatenate(parts)
    if len(rows) * _WORTH_MARKING < count:
        return distinct(rows.astype(np.int64))
    # Most of what nearly is the same agrees in most bands: to mark is quicker than to sort.
    is_found = np.zeros(count, np.bool_)
    is_found[rows] = True
    return np.flatnonzero(is_found)


def _with(levels: tuple[_Level, ...], last: _Level) -> tuple[_Level, ...]:
    """Return the levels with one more, joined with those before it that are not larger."""
    while levels and len(levels[-1].numbers) <= len(last.numbers):
        last = levels[-1].joined(last)
        levels = levels[:-1]
    return (*levels, last)


def _merged(one: _Sorted, other: _Sorted, count: int) -> _Sorted:
    """Return the hashes of two levels, the first of ``count`` sketches, as those of one."""
    shifted = other.rows + np.uint32(count)
    hashes = np.concatenate((one.hashes, other.hashes))
    # The stable sort finds the two sequences in order, and merges them.
    order = np.argsort(hashes, kind="stable")
    return _Sorted(hashes[order], np.concatenate((one.rows, shifted))[order])


# Bits that an entry sets, and how many there are for each at least; at most twice as many.
_SET_BITS = 4
_BITS_EACH = 8
_LEAST_BITS = 10
# Filters that would take more memory are not made.
_MOST_BYTES = 1 << 30


def filter_bytes(bands: int, count: int) -> int:
    """Return the memory of filters of so many bands and sketches, bytes."""
    return bands << (_size_bits(count) - 3)


def is_affordable(bands: int, count: int) -> bool:
    """Return whether filters take at most 1 GB: of 42 bands, those of up to 16 million sketches."""
    return filter_bytes(bands, count) <= _MOST_BYTES


class BandHashes:
    """Bloom filters of the bands of some sketches: no false negatives, few false positives.

    Args:
        bands: How many bands a sketch has.
        count: Sketches that will be added, about.
    """

    def __init__(self, bands: int, count: int) -> None:
        size = _size_bits(count)
        self._mask = np.uint64((1 << size) - 1)
        self._bits = np.zeros((bands, 1 << (size - 3)), np.uint8)

    def has_room(self, count: int) -> bool:
        """Return whether so many sketches can be held, and as few others be passed."""
        return len(self._bits[0]) >= 1 << (_size_bits(count) - 3)

    def add(self, hashes: NDArray[np.uint64]) -> None:
        """Add sketches.

        Args:
            hashes: The hash of each of their bands, well mixed; shape (n, bands).
        """
        # A row a band: what is set at a time lies close together.
        columns = np.ascontiguousarray(hashes.T)
        bands = np.arange(len(columns))[:, None]
        for places in self._places(columns):
            marks = np.uint8(1) << (places & np.uint64(7)).astype(np.uint8)
            at = bands * self._bits.shape[1] + (places >> np.uint64(3)).astype(np.int64)
            np.bitwise_or.at(self._bits.reshape(-1), at.ravel(), marks.ravel())

    def may_hold(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which bands one of the sketches may have.

        Args:
            hashes: Hashes of the first bands, or of all; shape (n, at most bands).
        """
        found = np.ones(hashes.shape, np.bool_)
        bands = np.arange(hashes.shape[1])
        for places in self._places(hashes):
            held = self._bits[bands, places >> np.uint64(3)]
            found &= held >> (places & np.uint64(7)).astype(np.uint8) & 1 > 0
        return found

    def _places(self, hashes: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
        """Return the bits of each hash, some at a time; same shape."""
        first = hashes & np.uint64(0xFFFFFFFF)
        # Odd, so that the steps of one hash meet different bits.
        step = hashes >> np.uint64(32) | np.uint64(1)
        return [(first + np.uint64(turn) * step) & self._mask for turn in range(_SET_BITS)]


def _size_bits(count: int) -> int:
    return max((_BITS_EACH * count - 1).bit_length(), _LEAST_BITS)
