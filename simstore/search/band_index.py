"""An index of bands in memory that grows by a sketch at a time.

Sketches come into a buffer, which is compared as a whole. A full buffer becomes a level: its band
hashes, sorted, each with its sketch. Two levels of about the same size become one, so that there
are few, and each hash is sorted again only as often as its level doubles.

References:
    Bentley, Saxe: Decomposable searching problems I: static-to-dynamic transformation,
    Journal of Algorithms 1, 1980, section 2 (the logarithmic method).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import pays
from simstore.search.band_index_kernels import JOINED
from simstore.search.bands import distinct

# Sketches of a buffer.
_BUFFERED = 128
# Seconds that NumPy takes to join one with others.
_SECONDS_A_HASH = 8e-8
# Rows are marked, not sorted, where they are more than one in so many of all.
_WORTH_MARKING = 32


class _Level(NamedTuple):
    """Band hashes of some sketches.

    Attributes:
        hashes: Ascending, uint64, shape (sketches * bands,).
        rows: Which sketch has each, uint32, same shape.
        numbers: Number of each sketch, ascending, int64, shape (sketches,).
    """

    hashes: NDArray[np.uint64]
    rows: NDArray[np.uint32]
    numbers: NDArray[np.int64]


class BandIndex:
    """The bands of some sketches; it never changes: growing makes another.

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
        """Return an index with more sketches; this one stays as it is.

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
            grown._levels = _with(grown._levels, _level(grown._buffer, grown._buffered))
            grown._buffer, grown._buffered = bands[:0], numbers[:0]
        return grown

    def candidates(self, queries: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
        """Return the numbers of sketches that may agree with each query in a band, ascending.

        All that agree are among them; of the others, one has the hash of another band.

        Args:
            queries: Hashes of the first bands, or of all; shape (queries, at most bands).
        """
        found: list[list[NDArray[np.int64]]] = [[] for _ in queries]
        # Neighbours are looked up one after the other: they are in the cache.
        flat = queries.ravel()
        order = np.argsort(flat)
        asked = flat[order]
        for level in self._levels:
            starts = np.searchsorted(level.hashes, asked)
            # Most are not there: only of the others is looked where they end.
            there = np.flatnonzero(level.hashes[np.minimum(starts, len(level.hashes) - 1)] == asked)
            ends = np.searchsorted(level.hashes, asked[there], "right").tolist()
            rows: dict[int, list[NDArray[np.uint32]]] = {}
            places, starts = order[there].tolist(), starts[there]
            for place, start, end in zip(places, starts.tolist(), ends, strict=True):
                rows.setdefault(place // queries.shape[1], []).append(level.rows[start:end])
            for query, parts in rows.items():
                found[query].append(level.numbers[_distinct_rows(parts, len(level.numbers))])
        if len(self._buffered):
            for query, numbers in zip(queries, found, strict=True):
                agree = (self._buffer[:, : len(query)] == query).any(axis=1)
                if agree.any():
                    numbers.append(self._buffered[agree])
        # Numbers of a level are above those of the levels before it.
        return [np.concatenate(numbers) if numbers else self._buffered[:0] for numbers in found]


def _distinct_rows(parts: list[NDArray[np.uint32]], count: int) -> NDArray[np.int64]:
    """Return rows of a level of ``count`` sketches, ascending, each once."""
    rows = np.concatenate(parts)
    if len(rows) * _WORTH_MARKING < count:
        return distinct(rows.astype(np.int64))
    # Most of what nearly is the same agrees in most bands: to mark is quicker than to sort.
    is_found = np.zeros(count, np.bool_)
    is_found[rows] = True
    return np.flatnonzero(is_found)


def _level(bands: NDArray[np.uint64], numbers: NDArray[np.int64]) -> _Level:
    hashes = bands.ravel()
    order = np.argsort(hashes, kind="stable")
    return _Level(hashes[order], (order // bands.shape[1]).astype(np.uint32), numbers)


def _with(levels: tuple[_Level, ...], last: _Level) -> tuple[_Level, ...]:
    """Return the levels with one more, joined with those before it that are not larger."""
    while levels and len(levels[-1].numbers) <= len(last.numbers):
        last = _joined(levels[-1], last)
        levels = levels[:-1]
    return (*levels, last)


def _joined(one: _Level, other: _Level) -> _Level:
    """Return two levels as one, the second one's numbers above the first one's."""
    numbers = np.concatenate((one.numbers, other.numbers))
    shifted = other.rows + np.uint32(len(one.numbers))
    size = len(one.hashes) + len(other.hashes)
    if pays(_SECONDS_A_HASH * size):
        hashes, rows = np.empty(size, np.uint64), np.empty(size, np.uint32)
        JOINED(one.hashes, one.rows, other.hashes, shifted, hashes, rows)
        return _Level(hashes, rows, numbers)
    hashes = np.concatenate((one.hashes, other.hashes))
    order = np.argsort(hashes, kind="stable")
    return _Level(hashes[order], np.concatenate((one.rows, shifted))[order], numbers)
