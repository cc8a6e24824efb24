"""Bands: which sketches agree with a query in at least one band.

Packed, the bands of many sketches are pages: a page holds the postings of one band whose hashes
begin with the same bits, as 8 more bits of the hash and the number of the sketch. So a look-up
reads one page a band. What a page returns are candidates: the bands are compared again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

# Postings that a page holds on average.
PAGE_POSTINGS = 32
_CHECK_BITS = 8
_BAND_SHIFT = 40
# Queries from which sorting the bands repays.
_WORTH_SORTING = 8
# Pairs of sketches, with repetitions, that are held before they are thinned out.
_KEPT_PAIRS = 1 << 22


def key_bits(count: int) -> int:
    """Return how many leading bits of a band's hash name its page: floor(log2(count / 32))."""
    return max((count // PAGE_POSTINGS).bit_length() - 1, 0)


def band_start(place: int) -> int:
    """Return the number below which no page of a band, and of none after it, is."""
    return place << _BAND_SHIFT


def page_numbers(bands: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """Return the number of the page of each band: the band's place, then ``bits`` bits of hash.

    Args:
        bands: Band hashes, shape (n, bands).
        bits: Leading bits that name a page, 0 to 40.

    Returns:
        int64, shape (n, bands).
    """
    places = np.arange(bands.shape[1], dtype=np.int64) << _BAND_SHIFT
    if not bits:
        return np.broadcast_to(places, bands.shape).copy()
    return (bands >> np.uint64(64 - bits)).astype(np.int64) | places


def checks(bands: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the 8 low bits of each hash, which postings carry; the shape stays."""
    return (bands & np.uint64((1 << _CHECK_BITS) - 1)).astype(np.uint8)


def unpack_page(page: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return check bits and numbers of the postings of a page, of :func:`pages`.

    Raises:
        ValueError: The page is damaged.
    """
    width = page[-1] if page else 0
    count, rest = divmod(len(page) - 1, 1 + width)
    if not 1 <= width <= 8 or rest:
        raise ValueError("damaged page of bands")
    as_bytes = np.zeros((count, 8), np.uint8)
    as_bytes[:, :width] = np.frombuffer(page, np.uint8, count * width, count).reshape(-1, width)
    return np.frombuffer(page, np.uint8, count), as_bytes.view("<i8").ravel().astype(np.int64)


def pages(
    hashes: NDArray[np.uint64], numbers: NDArray[np.int64], place: int, bits: int
) -> Iterator[tuple[int, bytes]]:
    """Yield the pages of one band, by ascending number.

    A page is the check bits of its postings, then the numbers of their sketches, then a byte that
    says how many bytes a number takes: the fewest that hold the band's largest.

    Args:
        hashes: The band's hash of each sketch, shape (n,).
        numbers: Number of each sketch, ascending, shape (n,).
        place: Which band, from 0.
        bits: Leading bits of a hash that name its page.
    """
    if not len(hashes):
        return
    keys = page_numbers(hashes[:, None], bits)[:, 0] | place << _BAND_SHIFT
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    check_bits = checks(hashes)[order].tobytes()
    width = max((int(numbers.max()).bit_length() + 7) // 8, 1)
    as_bytes = numbers.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()
    last = bytes((width,))
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    ends = [*starts[1:].tolist(), len(keys)]
    for number, start, end in zip(keys[starts].tolist(), starts.tolist(), ends, strict=True):
        yield number, check_bits[start:end] + as_bytes[start * width : end * width] + last


class BandTable:
    """The bands of some sketches in memory, to be asked for those that agree with a query.

    Args:
        bands: Band hashes, shape (sketches, bands).
        numbers: Number of each sketch, ascending, shape (sketches,).
    """

    def __init__(self, bands: NDArray[np.uint64], numbers: NDArray[np.int64]) -> None:
        self.bands = bands
        self.numbers = numbers

    def candidates(self, queries: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
        """Return the numbers of the sketches that agree with each query in a band, ascending.

        Args:
            queries: Hashes of the first bands, or of all; shape (queries, at most bands).
        """
        if not len(self.numbers):
            return [self.numbers] * len(queries)
        if len(queries) < _WORTH_SORTING:
            bands = self.bands[:, : queries.shape[1]]
            return [self.numbers[(bands == query).any(axis=1)] for query in queries]
        found: list[list[NDArray[np.int64]]] = [[] for _ in queries]
        for place in range(queries.shape[1]):
            column = self.bands[:, place]
            order = np.argsort(column, kind="stable")
            ordered = column[order]
            firsts = np.searchsorted(ordered, queries[:, place], "left")
            ends = np.searchsorted(ordered, queries[:, place], "right")
            for query in np.flatnonzero(ends > firsts).tolist():
                found[query].append(order[firsts[query] : ends[query]])
        return [
            self.numbers[distinct(np.concatenate(parts))] if parts else self.numbers[:0]
            for parts in found
        ]


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers ascending, each once."""
    # np.unique imports the masked arrays, which takes longer than a few queries.
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def shared(bands: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return which sketches agree in a band, without their pairs.

    Args:
        bands: Band hashes, shape (n, bands).

    Returns:
        A number for each band and hash that several sketches have, -1 where it is of one alone;
        int64, shape (n, bands).
    """
    groups = np.full(bands.shape, -1, np.int64)
    total = 0
    for place in range(bands.shape[1]):
        order = np.argsort(bands[:, place], kind="stable")
        ordered = bands[order, place]
        is_first = np.ones(len(order), bool)
        is_first[1:] = ordered[1:] != ordered[:-1]
        number = is_first.cumsum() - 1
        several = np.bincount(number)[number] > 1
        groups[order[several], place] = number[several] + total
        total += len(order)
    return groups


def colliding_pairs(bands: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return all pairs of sketches that agree in at least one band.

    Args:
        bands: Band hashes, shape (n, bands).

    Returns:
        Places (i, j) with i < j, ascending, distinct; int64, shape (pairs, 2).
    """
    return pairs_of_columns(bands.T, len(bands))


def pairs_of_columns(columns: Iterable[NDArray[np.uint64]], count: int) -> NDArray[np.int64]:
    """Return what :func:`colliding_pairs` does, of bands that come one after the other.

    Args:
        columns: The hashes of each band, shape (count,).
        count: Number of sketches.
    """
    rows = np.arange(count)
    parts = [np.empty(0, np.int64)]
    held = 0
    for column in columns:
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        bounds = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, count)
        # Each row pairs with those of the same hash that stand behind it.
        lengths = np.repeat(bounds, np.diff(bounds, prepend=0)) - rows - 1
        firsts = np.repeat(rows, lengths)
        seconds = (
            firsts + 1 + np.arange(len(firsts)) - np.repeat(lengths.cumsum() - lengths, lengths)
        )
        parts.append(order[firsts] * count + order[seconds])
        held += len(firsts)
        # Texts that are nearly all the same agree in most bands: each pair is kept once.
        if held > max(_KEPT_PAIRS, 2 * len(parts[0])):
            parts = [_distinct(parts)]
            held = len(parts[0])
    codes = _distinct(parts)
    return np.stack((codes // count, codes % count), axis=1) if count else codes.reshape(0, 2)


def _distinct(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the numbers, ascending, each once; none is negative."""
    # Sorted, not np.unique, which hashes first: several times as long for as many as there are.
    codes = np.sort(np.concatenate(parts))
    return codes[np.diff(codes, prepend=-1) > 0]
