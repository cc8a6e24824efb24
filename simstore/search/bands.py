"""LSH bands: find sketches that share a band with the query.

Packed, the bands of many sketches are pages: a page holds the postings of one band whose hashes
begin with the same bits, as 8 more bits of the hash and the number of the sketch. So a look-up
reads one page a band, or none where a filter of the check bits in all pages knows of no posting.
What a page returns are candidates: the bands are compared again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import begins_run, distinct
from simstore.search.table_lookup import expanded

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
    """The bands of some sketches in memory, to find the sketches that agree with a query.

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
        number = begins_run(ordered).cumsum() - 1
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
            parts = [distinct(np.concatenate(parts))]
            held = len(parts[0])
    codes = distinct(np.concatenate(parts))
    return np.stack((codes // count, codes % count), axis=1) if count else codes.reshape(0, 2)


Found = tuple[NDArray[np.int64], NDArray[np.int64]]

# Look-ups, and bytes of pages, that are gone through one by one quicker than all at once: those of
# one sketch.
_FEW_LOOKUPS = 64
_FEW_BYTES = 1 << 14


def matching_postings(
    pages: Sequence[bytes], looked_up: NDArray[np.int64], wanted: NDArray[np.uint8]
) -> Iterator[Found]:
    """Yield the postings of pages that carry the check bits that are looked for.

    The pages are those of :func:`simstore.search.bands.pages`. A page that is asked for
    several times is gone through as often, some postings at a time.

    Args:
        pages: Some pages.
        looked_up: The page that each look-up goes to, by its place, int64, shape (look-ups,).
        wanted: Check bits of each look-up, shape (look-ups,).

    Yields:
        Which look-ups, and the numbers that they find; int64, shape (found,) each.

    Raises:
        ValueError: A page is damaged.
    """
    if len(looked_up) <= _FEW_LOOKUPS and sum(map(len, pages)) <= _FEW_BYTES:
        found = _postings_of_few(pages, looked_up.tolist(), wanted.tolist())
        if len(found[0]):
            yield found
        return
    data, starts, widths, counts = _laid_out(pages)
    for turns, places in expanded(starts[looked_up], counts[looked_up]):
        matching = np.flatnonzero(data[places] == wanted[turns])
        turns, places = turns[matching], places[matching]
        page = looked_up[turns]
        # Behind the check bits of all postings of a page stand their numbers.
        firsts = starts[page] + counts[page] + (places - starts[page]) * widths[page]
        numbers = np.zeros(len(turns), np.int64)
        for byte in range(int(widths[page].max(initial=0))):
            has_byte = byte < widths[page]
            values = data[np.where(has_byte, firsts + byte, 0)].astype(np.int64)
            numbers |= np.where(has_byte, values, 0) << (8 * byte)
        yield turns, numbers


def pages_of_one(hashes: Sequence[int], bits: int) -> dict[int, int]:
    """Return the pages of one sketch's bands, each with the check bits that are looked for in it.

    Args:
        hashes: The hash of each of its bands, or of the first.
        bits: As of :func:`page_numbers`.
    """
    shift, mask = 64 - bits, (1 << _CHECK_BITS) - 1
    return {
        value >> shift | place << _BAND_SHIFT: value & mask for place, value in enumerate(hashes)
    }


def postings_of_one(pages: Mapping[int, bytes], wanted: Mapping[int, int]) -> list[int]:
    """Return the numbers in some pages that carry the check bits that are looked for.

    Args:
        pages: Pages by their numbers.
        wanted: As of :func:`pages_of_one`, of these pages and perhaps others.

    Raises:
        ValueError: A page is damaged.
    """
    found = []
    for number, page in pages.items():
        width, count = _shape_of(page)
        check = wanted[number]
        at = page.find(check, 0, count)
        while at >= 0:
            first = count + at * width
            found.append(int.from_bytes(page[first : first + width], "little"))
            at = page.find(check, at + 1, count)
    return found


def _laid_out(
    pages: Sequence[bytes],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pages one after the other: bytes; of each its start, bytes of a number, postings.

    Raises:
        ValueError: One is damaged.
    """
    lengths = np.fromiter(map(len, pages), np.int64, len(pages))
    if not lengths.all():
        raise ValueError("damaged page of bands")
    data = np.frombuffer(b"".join(pages), np.uint8)
    starts = lengths.cumsum() - lengths
    widths = data[starts + lengths - 1].astype(np.int64)
    counts = (lengths - 1) // (1 + widths)
    if ((widths < 1) | (widths > 8) | (counts * (1 + widths) != lengths - 1)).any():
        raise ValueError("damaged page of bands")
    return data, starts, widths, counts


def _postings_of_few(pages: Sequence[bytes], looked_up: list[int], wanted: list[int]) -> Found:
    """Return what :func:`matching_postings` yields: quicker where little is looked up."""
    turns: list[int] = []
    numbers: list[int] = []
    shapes = [_shape_of(page) for page in pages]
    for turn, (page, check) in enumerate(zip(looked_up, wanted, strict=True)):
        held, (width, count) = pages[page], shapes[page]
        at = held.find(check, 0, count)
        while at >= 0:
            first = count + at * width
            turns.append(turn)
            numbers.append(int.from_bytes(held[first : first + width], "little"))
            at = held.find(check, at + 1, count)
    return np.array(turns, np.int64), np.array(numbers, np.int64)


def _shape_of(page: bytes) -> tuple[int, int]:
    """Return the bytes of a number and the count of postings of a page.

    Raises:
        ValueError: It is damaged.
    """
    width = page[-1] if page else 0
    count, rest = divmod(len(page) - 1, 1 + width)
    if not 1 <= width <= 8 or rest:
        raise ValueError("damaged page of bands")
    return width, count


_MASK = np.int64((1 << _BAND_SHIFT) - 1)
# Pages that are read at a time.
_READ_PAGES = 10_000
# Filters that would take more memory are not made: of the 20 bands that duplicates are looked for
# by, those of up to 16 million sketches.
_MOST_BYTES = 256 << 20


def filter_bytes(bands: int, key_bits: int) -> int:
    """Return the memory of a filter, bytes."""
    return bands << (key_bits + _CHECK_BITS - 3)


def is_affordable(bands: int, key_bits: int) -> bool:
    """Return whether a filter takes at most 256 MB."""
    return filter_bytes(bands, key_bits) <= _MOST_BYTES


class BandFilter:
    """One bit for each page and value of check bits, for some of the first bands.

    Args:
        bands: How many bands a sketch has.
        key_bits: Leading bits of a band's hash that name its page.

    Attributes:
        bands: Of how many bands, from the first, the pages were added.
    """

    def __init__(self, bands: int, key_bits: int) -> None:
        self.bands = 0
        self._key_bits = key_bits
        self._bits = np.zeros((bands, 1 << (key_bits + _CHECK_BITS - 3)), np.uint8)

    def add(self, band: int, pages: Iterable[tuple[int, bytes]]) -> None:
        """Note the check bits of all pages of a band.

        Args:
            band: Its place; all before it were added. Several threads may add the same.
            pages: Their numbers, :func:`simstore.search.bands.page_numbers`, and the pages, of
                :func:`simstore.search.bands.pages`.

        Raises:
            ValueError: A page is damaged.
        """
        marks = np.zeros(1 << (self._key_bits + _CHECK_BITS), np.bool_)
        every = iter(pages)
        while some := list(islice(every, _READ_PAGES)):
            numbers, postings = zip(*some, strict=True)
            data, starts, _, counts = _laid_out(postings)
            owners = (np.array(numbers, np.int64) & _MASK) << _CHECK_BITS
            for turns, places in expanded(starts, counts):
                marks[owners[turns] | data[places]] = True
        self._bits[band] = np.packbits(marks, bitorder="little")
        self.bands = max(self.bands, band + 1)

    def may_hold(self, numbers: NDArray[np.int64], checks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether pages carry check bits; of pages that are not there: no.

        Args:
            numbers: Numbers of pages, any shape; of bands that were not added: yes.
            checks: Check bits that are looked for in them, same shape.
        """
        bands = numbers >> _BAND_SHIFT
        places = (numbers & _MASK) << _CHECK_BITS | checks.astype(np.int64)
        found: NDArray[np.bool_] = (
            self._bits[bands, places >> 3] >> (places & 7).astype(np.uint8)
        ) & 1 > 0
        return found | (bands >= self.bands)

    def passing(self, wanted: Mapping[int, int]) -> dict[int, int]:
        """Return those of one sketch's pages that carry what is looked for, by :meth:`may_hold`.

        Args:
            wanted: As of :func:`pages_of_one`.
        """
        bits, held, mask = self._bits.data, self.bands, int(_MASK)
        found = {}
        for number, check in wanted.items():
            band, place = number >> _BAND_SHIFT, (number & mask) << _CHECK_BITS | check
            if band >= held or bits[band, place >> 3] >> (place & 7) & 1:
                found[number] = check
        return found
