"""Character classes of all code points, frozen at Unicode 14.0."""

from __future__ import annotations

from functools import cache
from pkgutil import get_data

import numpy as np
from numpy.typing import NDArray

SEPARATOR = 0
WORD = 1  # letters, marks and digits of scripts that put blanks between words
CHARACTER = 2  # scripts without blanks between words, Hangul, and code points unknown to 14.0
CHANGES = 3  # in the tables of forms: what it is depends on its form

# Blocks whose letters stand alone: words are not separated by blanks (Han, kana, Thai, Lao,
# Tibetan, Myanmar, Khmer, ...) or change their form too much (Hangul).
_CHARACTER_BLOCKS = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3005, 0x3007),  # iteration mark, ideographic zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3040, 0x318F),  # kana, bopomofo, Hangul compatibility jamo
    (0x31A0, 0x31FF),  # bopomofo and kana extensions
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0xA4CF),  # Han, Yi
    (0xA960, 0xA97F),  # Hangul Jamo extended A
    (0xA9E0, 0xA9FF),  # Myanmar extended B
    (0xAA60, 0xAADF),  # Myanmar extended A, Tai Viet
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # Han, compatibility
    (0xFF66, 0xFFDC),  # half-width kana and Hangul
    (0x16FE0, 0x18D8F),  # Tangut, Khitan, Nushu marks
    (0x1AFF0, 0x1B2FF),  # kana supplements, Nushu
    (0x20000, 0x3FFFF),  # Han, extensions B and later
)


def table_rows(name: str) -> list[list[str]]:
    """Return the rows of a data file of this folder, each as its fields."""
    lines = (get_data("simstore.text", f"data/{name}") or b"").decode().split("\n")
    return [line.split(" ") for line in lines if line and not line.startswith("#")]


@cache
def class_table() -> NDArray[np.uint8]:
    """Return the class of each code point, shape (0x110000,), values of the constants above."""
    table = _table_of({"s": SEPARATOR, "w": WORD, "m": WORD, "u": CHARACTER})
    for first, last in _CHARACTER_BLOCKS:
        block = table[first : last + 1]
        block[block == WORD] = CHARACTER
    # Surrogates are bytes that could not be decoded.
    table[0xD800:0xE000] = SEPARATOR
    table.flags.writeable = False
    return table


@cache
def unknown_table() -> NDArray[np.bool_]:
    """Return whether each code point is unassigned (or private) in 14.0, shape (0x110000,)."""
    return _table_of({"u": 1}).view(bool)


@cache
def mark_table() -> NDArray[np.bool_]:
    """Return whether each code point is a mark that may be reordered, shape (0x110000,)."""
    return _table_of({"m": 1}).view(bool)


def _table_of(values: dict[str, int]) -> NDArray[np.uint8]:
    """Return the value of each code point by its class in Unicode 14.0; 0 for other classes."""
    starts, kinds = zip(*table_rows("classes.txt"), strict=True)
    ends = [*(int(start, 16) for start in starts), 0x110000]
    return np.repeat(np.array([values.get(kind, 0) for kind in kinds], np.uint8), np.diff(ends))


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text, shape (len(text),)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
