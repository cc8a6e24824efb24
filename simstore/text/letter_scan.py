"""The course tool's words in a whole file, found and numbered by array operations.

A block at a time, that its arrays stay in the processor's cache. The array operations let other
threads run.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from simstore.text.letter_codes import LetterTable

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
