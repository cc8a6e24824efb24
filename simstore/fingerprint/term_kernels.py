"""Equal terms told apart from others, compiled. See :mod:`simstore.compiled`.

Types are pinned: a ``uint64`` with a signed number would become a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simstore.compiled import Kernel

_int: Any = np.int64
# FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_U32 = np.uint64(32)


def _number_terms(data: Any, ends: Any, table: Any, hashes: Any, firsts: Any, numbers: Any) -> Any:
    """Number the distinct terms by their first occurrence; return how many there are.

    Entry e is ``data[ends[e]:ends[e + 1]]``. The table is of zeros, a power of two, longer than
    there are entries.
    """
    mask = len(table) - 1
    count = 0
    for entry in range(len(numbers)):
        start, end = ends[entry], ends[entry + 1]
        hashed = _BASIS
        for place in range(start, end):
            hashed = (hashed ^ np.uint64(data[place])) * _PRIME
        slot = _int(hashed ^ hashed >> _U32) & mask
        number = table[slot] - 1
        while number >= 0:
            first = ends[firsts[number]]
            same = hashes[number] == hashed and ends[firsts[number] + 1] - first == end - start
            place = 0
            while same and place < end - start:
                same = data[first + place] == data[start + place]
                place += 1
            if same:
                break
            slot = (slot + 1) & mask
            number = table[slot] - 1
        if number < 0:
            number = count
            table[slot] = number + 1
            hashes[number] = hashed
            firsts[number] = entry
            count += 1
        numbers[entry] = number
    return count


NUMBER_TERMS = Kernel(
    _number_terms,
    ["int64(uint8[::1], int64[::1], int64[::1], uint64[::1], int64[::1], int64[::1])"],
)
