"""Bloom filters of the keys of a run, kept in pages that are read when they are first needed.

A key sets three bits of one 64-bit word, which the key's leading bits choose: so the words of a
range of keys stand together, and a filter is written, and read, a page at a time.

References:
    Putze, Sanders, Singler: Cache-, hash- and space-efficient Bloom filters, WEA 2007, section 3
    (blocked filters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import Kernel, pays
from simstore.fingerprint.shingle_sets import distinct
from simstore.index import tuning
from simstore.index.pages import PLACE_BITS, DamagedPage, Entries

_WORD_BITS = 64
# Words of a page.
PAGE_WORDS = 240
# The place of a filter's first page within its run; those of entries are below.
FIRST_PLACE = 1 << (PLACE_BITS - 1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SECONDS_A_KEY = 3e-7
# Pages that are read at a time.
_READ_PAGES = 4_096

# Reads the rows at places of runs: (which of the runs, place).
Read = Callable[[list[tuple[int, int]]], list[bytes | None]]


def word_count(count: int) -> int:
    """Return how many words the filter of so many keys has."""
    return max(-(-count * tuning.FILTER_KEY_BITS // _WORD_BITS), 1)


def page_count(words: int) -> int:
    """Return how many pages so many words take."""
    return -(-words // PAGE_WORDS)


class FilterWriter:
    """Makes the pages of a filter from keys that come in ascending order.

    Args:
        words: Its words.
    """

    def __init__(self, words: int) -> None:
        self._words = words
        self._next = 0
        # Words from the first of the page that is next.
        self._held = np.zeros(0, np.uint64)

    def add(self, entries: Entries) -> Iterator[tuple[int, bytes]]:
        """Add the keys of entries, which are above all before; yield pages that are complete."""
        places = _words_of(entries.keys, self._words)
        last = int(places[-1]) + 1 if len(places) else 0
        if last > self._next + len(self._held):
            more = np.zeros(last - self._next - len(self._held), np.uint64)
            self._held = np.concatenate((self._held, more))
        np.bitwise_or.at(self._held, places - self._next, _bits_of(entries.keys))
        # The last word may get bits of the keys that follow.
        yield from self._pages((len(self._held) - 1) // PAGE_WORDS)

    def finish(self) -> Iterator[tuple[int, bytes]]:
        """Yield the last pages."""
        missing = self._words - self._next - len(self._held)
        self._held = np.concatenate((self._held, np.zeros(missing, np.uint64)))
        yield from self._pages(page_count(len(self._held)))

    def _pages(self, count: int) -> Iterator[tuple[int, bytes]]:
        for number in range(count):
            page = self._held[number * PAGE_WORDS : (number + 1) * PAGE_WORDS]
            place = FIRST_PLACE + self._next // PAGE_WORDS + number
            yield place, page.astype("<u8").tobytes()
        done = min(count * PAGE_WORDS, len(self._held))
        self._next += done
        self._held = self._held[done:]


class Filters:
    """The filters of several runs, of which pages are read as they are needed.

    Threads may share it: a page that several need may be read by each.

    Args:
        words: How many words the filter of each run has.
    """

    def __init__(self, words: list[int]) -> None:
        self._sizes = np.array(words, np.int64)
        pages = np.array([page_count(one) for one in words], np.int64)
        self._first_pages = np.cumsum(pages) - pages
        # Memory that nothing is written to is none.
        self._words = np.zeros(int(pages.sum()) * PAGE_WORDS, np.uint64)
        self._is_read = np.zeros(int(pages.sum()), np.bool_)
        self._lazy_look_ups = 0

    def take_over(self, other: Filters, places: list[int]) -> None:
        """Take the pages that were read of the filters of other runs.

        Args:
            other: The others.
            places: Where each run of these is among the others, -1: nowhere.
        """
        self._lazy_look_ups = other._lazy_look_ups
        mine, theirs = (one._words.reshape(-1, PAGE_WORDS) for one in (self, other))
        for run, place in enumerate(places):
            if place >= 0:
                first, begin = int(self._first_pages[run]), int(other._first_pages[place])
                count = page_count(int(self._sizes[run]))
                read = np.flatnonzero(other._is_read[begin : begin + count])
                mine[first + read] = theirs[begin + read]
                self._is_read[first + read] = True

    def may_hold(self, keys: NDArray[np.uint64], read: Read) -> NDArray[np.bool_]:
        """Return which runs may hold each key: no false negatives, three in a hundred false.

        Args:
            keys: The keys, shape (n,).
            read: Reads the pages that are missing, hundreds by one statement.

        Returns:
            Shape (runs, n).

        Raises:
            DamagedPage: A page is none, or missing.
        """
        found = np.empty((len(self._sizes), len(keys)), np.bool_)
        missing = self._ask(keys, found)
        if len(missing):
            self._read_pages(missing, read)
            self._ask(keys, found)
        return found

    def _ask(self, keys: NDArray[np.uint64], found: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Write what the filters say; return pages that are to be read first."""
        arguments = (keys, self._sizes, self._first_pages, self._words, self._is_read, found)
        if pays(_SECONDS_A_KEY * found.size):
            missing = np.empty(found.size, np.int64)
            count = MAY_HOLD(*arguments, missing)
            return distinct(missing[:count])
        bits = _bits_of(keys)
        parts = [np.empty(0, np.int64)]
        for run, (size, first) in enumerate(
            zip(self._sizes.tolist(), self._first_pages.tolist(), strict=True)
        ):
            places = _words_of(keys, size)
            pages = first + places // PAGE_WORDS
            parts.append(pages[~self._is_read[pages]])
            held = self._words[first * PAGE_WORDS + places]
            found[run] = held & bits == bits
        return distinct(np.concatenate(parts))

    def _read_pages(self, missing: NDArray[np.int64], read: Read) -> None:
        self._lazy_look_ups += 1
        if self._lazy_look_ups > tuning.LAZY_LOOK_UPS:
            missing = np.flatnonzero(~self._is_read)
        for start in range(0, len(missing), _READ_PAGES):
            pages = missing[start : start + _READ_PAGES]
            runs = np.searchsorted(self._first_pages, pages, side="right") - 1
            numbers = pages - self._first_pages[runs]
            sizes = np.minimum(PAGE_WORDS, self._sizes[runs] - numbers * PAGE_WORDS).tolist()
            wanted = list(zip(runs.tolist(), (FIRST_PLACE + numbers).tolist(), strict=True))
            rows = read(wanted)
            for page, size, (_, place), row in zip(
                pages.tolist(), sizes, wanted, rows, strict=True
            ):
                if not isinstance(row, bytes) or len(row) != 8 * size:
                    raise DamagedPage(place)
                words = self._words[page * PAGE_WORDS : page * PAGE_WORDS + size]
                words[:] = np.frombuffer(row, "<u8")
                self._is_read[page] = True


def _words_of(keys: NDArray[np.uint64], words: int) -> NDArray[np.int64]:
    """Return the word of each key: the higher a key, the higher its word."""
    high = keys >> np.uint64(32)
    return (high * np.uint64(words) >> np.uint64(32)).astype(np.int64)


def _bits_of(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the three bits of each key."""
    mixed = keys * _MIX
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MIX
    one, low = np.uint64(1), np.uint64(_WORD_BITS - 1)
    bits: NDArray[np.uint64] = (
        one << (mixed >> np.uint64(58))
        | one << (mixed >> np.uint64(52) & low)
        | one << (mixed >> np.uint64(46) & low)
    )
    return bits


def _may_hold(
    keys: Any,
    sizes: Any,
    first_pages: Any,
    words: Any,
    is_read: Any,
    found: Any,
    missing: Any,
) -> Any:
    """Do what :meth:`Filters._ask` does; return how many pages are missing."""
    count = 0
    one, low = np.uint64(1), np.uint64(63)
    factor = np.uint64(0x9E3779B97F4A7C15)
    for number in range(keys.size):
        key = keys[number]
        mixed = key * factor
        mixed ^= mixed >> np.uint64(29)
        mixed *= factor
        bits = one << (mixed >> np.uint64(58))
        bits |= one << ((mixed >> np.uint64(52)) & low)
        bits |= one << ((mixed >> np.uint64(46)) & low)
        for run in range(sizes.size):
            place = np.int64(((key >> np.uint64(32)) * np.uint64(sizes[run])) >> np.uint64(32))
            page = first_pages[run] + place // PAGE_WORDS
            if not is_read[page]:
                missing[count] = page
                count += 1
            held = words[first_pages[run] * PAGE_WORDS + place]
            found[run, number] = (held & bits) == bits
    return count


MAY_HOLD = Kernel(
    _may_hold,
    [
        "int64(uint64[::1], int64[::1], int64[::1], uint64[::1], boolean[::1], boolean[:, ::1], "
        "int64[::1])"
    ],
    lets_go=False,
)
