"""Number the runs of ASCII letters in a range of bytes by array operations, for ``simtool``.

A block at a time, that its arrays stay in the processor's cache. The array operations let other
threads run. Words of up to 8 letters are coded by their bytes; of up to 12 by five bits a letter;
longer ones by their number in a dictionary. So each word has one code, and each code is one word.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_BYTES, _LETTERS = 8, 12
_u = np.uint64
_CASE = _u(0x2020202020202020)
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(_BYTES + 1)], np.uint64)
_BY_LETTER, _BY_NUMBER = _u(1 << 63), _u(3 << 62)
_SHIFTS = np.arange(0, 5 * _LETTERS, 5, dtype=np.uint64)
_MULTIPLIER = _u(0x9E3779B97F4A7C15)
_LEAST_SLOT_BITS = 16
# A slot is free in at least three cases of four, so that few words look at a second one.
_SLOTS_A_WORD = 4


class LetterTable:
    """Numbers words from 0, in no particular order, and keeps them."""

    def __init__(self) -> None:
        self._codes = np.empty(1 << 10, np.uint64)
        self._count = 0
        self._long: dict[bytes, int] = {}
        self._index(_LEAST_SLOT_BITS)

    def __len__(self) -> int:
        return self._count

    def numbers_at(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the number of each word, lower-cased; new words are added.

        Args:
            data: Bytes, a multiple of eight, and 16 of them after the beginning of each word.
            starts: First byte of each word.
            lengths: Letters of each word, at least 1.
        """
        windows = data.view("<u8")
        codes = _window(windows, starts)
        codes |= _CASE
        codes &= _FIRST_BYTES.take(lengths, mode="clip")
        longer = np.flatnonzero(lengths > _BYTES)
        if len(longer):
            rest = lengths[longer] - _BYTES
            ends = _window(windows, starts[longer] + _BYTES)
            ends &= _FIRST_BYTES[np.minimum(rest, _LETTERS - _BYTES)]
            coded = _BY_LETTER | _five_bits(codes[longer]) | _five_bits(ends) << _u(5 * _BYTES)
            for place in np.flatnonzero(rest > _LETTERS - _BYTES).tolist():
                start = starts[longer[place]]
                word = data[start : start + _BYTES + rest[place]].tobytes().lower()
                coded[place] = self._code_of_long(word)
            codes[longer] = coded
        return self._numbers_of(codes)

    def numbers_in(self, other: LetterTable) -> NDArray[np.int32]:
        """Return another table's numbers for the words of this one; words new to it are added."""
        codes = self._codes[: self._count].copy()
        long = np.flatnonzero(codes >= _BY_NUMBER)
        words = list(self._long)
        numbers = (codes[long] ^ _BY_NUMBER).tolist()
        codes[long] = [other._code_of_long(words[number]) for number in numbers]
        return other._numbers_of(codes)

    def words(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Return the words that have these numbers."""
        codes = self._codes[numbers]
        words: list[bytes] = codes.astype("<u8").view("S8").tolist()
        by_letter = np.flatnonzero(codes >= _BY_LETTER)
        letters = (codes[by_letter, np.newaxis] >> _SHIFTS & _u(31)).astype(np.uint8)
        letters[letters > 0] += ord("a") - 1
        spelt = letters.view(f"S{_LETTERS}").ravel().tolist()
        long = list(self._long)
        for place, word, code in zip(
            by_letter.tolist(), spelt, codes[by_letter].tolist(), strict=True
        ):
            words[place] = long[code ^ int(_BY_NUMBER)] if code >= _BY_NUMBER else word
        return words

    def _code_of_long(self, word: bytes) -> int:
        return int(_BY_NUMBER) | self._long.setdefault(word, len(self._long))

    def _numbers_of(self, codes: NDArray[np.uint64]) -> NDArray[np.int32]:
        slots = self._slots_of(codes)
        missing = np.flatnonzero(self._slots.take(slots) != codes)
        if len(missing):
            most = _SLOTS_A_WORD * (self._count + len(missing))
            if most > len(self._slots):
                self._index(most.bit_length())
                return self._numbers_of(codes)
            slots[missing] = self._placed(codes[missing], slots[missing])
        return self._numbers.take(slots)

    def _placed(self, codes: NDArray[np.uint64], slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slot of each code, from the one it may have on; new ones are added."""
        result = slots.copy()
        pending = np.arange(len(codes))
        while len(pending):
            free = self._slots[slots] == 0
            self._slots[slots[free]] = codes[free]
            # Of several that wanted a slot one has it.
            same = self._slots[slots] == codes
            result[pending[same]] = slots[same]
            self._add(slots[free & same])
            pending, codes, slots = pending[~same], codes[~same], slots[~same]
            slots = (slots + 1) & (len(self._slots) - 1)
        return result

    def _add(self, slots: NDArray[np.int64]) -> None:
        """Number the codes of slots, of which each may be there several times."""
        order = np.arange(len(slots), dtype=np.int32)
        self._numbers[slots] = order
        slots = slots[self._numbers[slots] == order]
        count = self._count + len(slots)
        self._numbers[slots] = np.arange(self._count, count)
        if count > len(self._codes):
            self._codes = np.concatenate((self._codes, np.empty(count, np.uint64)))
        self._codes[self._count : count] = self._slots[slots]
        self._count = count

    def _index(self, slot_bits: int) -> None:
        """Begin the slots anew, with the words that are known."""
        self._shift = _u(64 - slot_bits)
        self._slots = np.zeros(1 << slot_bits, np.uint64)
        self._numbers = np.zeros(1 << slot_bits, np.int32)
        known, self._count = self._codes[: self._count].copy(), 0
        places = self._placed(known, self._slots_of(known))
        self._numbers[places] = np.arange(len(known))
        self._codes[: len(known)] = known

    def _slots_of(self, codes: NDArray[np.uint64]) -> NDArray[np.int64]:
        slots: NDArray[np.int64] = (codes * _MULTIPLIER >> self._shift).view(np.int64)
        return slots


def _window(windows: NDArray[np.uint64], places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the eight bytes from each place on, the first lowest."""
    whole = places >> 3
    shift = (places.view(np.uint64) & _u(7)) << _u(3)
    found: NDArray[np.uint64] = windows.take(whole) >> shift
    whole += 1
    # In two steps: a shift by 64 is not defined.
    found |= windows.take(whole) << _u(1) << (shift ^ _u(63))
    return found


def _five_bits(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return eight letters of eight bits as eight of five: a is 1, z is 26, none is 0."""
    codes = codes & _u(0x001F001F001F001F) | codes >> _u(3) & _u(0x03E003E003E003E0)
    codes = codes & _u(0x000003FF000003FF) | codes >> _u(6) & _u(0x000FFC00000FFC00)
    packed: NDArray[np.uint64] = codes & _u(0x00000000000FFFFF) | codes >> _u(12) & _u(
        0x000000FFFFF00000
    )
    return packed


# Bytes after the last that matter, that may be looked at; the data's size is a multiple of eight.
PADDING = 24
_BLOCK_BYTES = 1 << 18
_SEPARATOR = re.compile(rb"[^A-Za-z]")


def scan_letters_of(
    data: NDArray[np.uint8],
    first: int,
    end: int,
    pages: NDArray[np.int64],
    table: LetterTable,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the words of ASCII letters, lower-cased, in a range of bytes.

    Args:
        data: Bytes, a multiple of eight, at least PADDING more than ``end``.
        first: The range begins here, with a byte that is no letter.
        end: The byte after the range, no letter either.
        pages: Where texts begin in it, ascending; each byte before one is no letter.
        table: Numbers the words, and is told the new ones.

    Returns:
        The number of each word, int32; and the places among them where each text begins, and
        where the last ends, shape (pages + 1,).
    """
    # Untouched memory costs nothing; no range has more words.
    numbers = np.empty((end - first) // 2 + 1, np.int32)
    offsets = np.zeros(len(pages) + 1, np.int64)
    count = 0
    while first < end:
        cut = _SEPARATOR.search(data.data, min(first + _BLOCK_BYTES, end), end)
        block_end = cut.start() if cut else end
        starts, lengths = _words(data, first, block_end)
        begun = slice(*np.searchsorted(pages, [first, block_end]).tolist())
        offsets[begun] = count + np.searchsorted(starts, pages[begun])
        numbers[count : count + len(starts)] = table.numbers_at(data, starts, lengths)
        count += len(starts)
        first = block_end
    offsets[np.searchsorted(pages, end) :] = count
    return numbers[:count], offsets


def _words(
    data: NDArray[np.uint8], first: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first byte and length of each word between two bytes that are no letters."""
    folded = data[first : end + 1] | np.uint8(0x20)
    folded -= np.uint8(ord("a"))
    letters = folded < 26
    edges = np.flatnonzero(letters[1:] != letters[:-1])
    edges += first + 1
    starts = edges[::2]
    return starts, edges[1::2] - starts
