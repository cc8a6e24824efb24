"""XXH3 of short terms, compiled: https://github.com/Cyan4973/xxHash, its 64-bit form, seed 0.

Types are pinned: a ``uint64`` with a signed number would become a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simstore.compiled import Kernel

_U0, _U8, _U32 = (np.uint64(n) for n in (0, 8, 32))
_LOW_32 = np.uint64(0xFFFFFFFF)

# XXH3 of at most 16 bytes, seed 0: what remains of the secret, and the multipliers of its ends.
_LONGEST_HASHED = 16
_FLIP_3 = np.uint64(0x396CFEB8 ^ 0xBE4BA423)
_FLIP_8 = np.uint64(0x1CAD21F72C81017C ^ 0xDB979083E96DD4DE)
_FLIP_LOW = np.uint64(0x1F67B3B7A4A44072 ^ 0x78E5C0CC4EE679CB)
_FLIP_HIGH = np.uint64(0x2172FFCC7DD05A82 ^ 0x8E2443F7744608B8)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_8 = np.uint64(0x9FB21C651E98DF25)
_PRIME_16 = np.uint64(0x165667919E3779F9)


def _high_product(a: Any, b: Any) -> Any:
    """Return the high 64 bits of the product of two 64-bit numbers."""
    a_low, a_high, b_low, b_high = a & _LOW_32, a >> _U32, b & _LOW_32, b >> _U32
    cross = (a_low * b_low >> _U32) + (a_high * b_low & _LOW_32) + a_low * b_high
    return (a_high * b_low >> _U32) + (cross >> _U32) + a_high * b_high


def _swapped(value: Any) -> Any:
    """Return a number with its bytes in the other order."""
    made = _U0
    for _ in range(8):
        made = made << _U8 | value & np.uint64(0xFF)
        value >>= _U8
    return made


def xxh3_short(value: Any, length: Any) -> Any:
    """Return the hash of at most 8 bytes, the first lowest."""
    size = np.uint64(length)
    if length <= 3:
        middle = value >> np.uint64(8 * (length >> 1)) & np.uint64(0xFF)
        last = value >> np.uint64(8 * (length - 1))
        mixed = (value & np.uint64(0xFF)) << np.uint64(16) | middle << np.uint64(24)
        mixed = (mixed | last | size << _U8) ^ _FLIP_3
        mixed = (mixed ^ mixed >> np.uint64(33)) * _PRIME_2
        mixed = (mixed ^ mixed >> np.uint64(29)) * _PRIME_3
        return mixed ^ mixed >> _U32
    last = value >> np.uint64(8 * (length - 4)) & _LOW_32
    mixed = (last + (value << _U32)) ^ _FLIP_8
    mixed ^= (mixed << np.uint64(49) | mixed >> np.uint64(15)) ^ (
        mixed << np.uint64(24) | mixed >> np.uint64(40)
    )
    mixed *= _PRIME_8
    mixed ^= (mixed >> np.uint64(35)) + size
    mixed *= _PRIME_8
    return mixed ^ mixed >> np.uint64(28)


def _xxh3(chunks: Any, starts: Any, lengths: Any, hashes: Any) -> None:
    """Hash the terms of 16 bytes at most; the others stay."""
    for term in range(len(starts)):
        length = lengths[term]
        size = np.uint64(length)
        value = chunks[starts[term]]
        if length <= 8:
            hashes[term] = xxh3_short(value, length)
        elif length <= _LONGEST_HASHED:
            last = chunks[starts[term] + 1]
            if length < 16:
                last = value >> np.uint64(8 * (length - 8)) | last << np.uint64(8 * (16 - length))
            low = value ^ _FLIP_LOW
            high = last ^ _FLIP_HIGH
            mixed = size + _swapped(low) + high + (low * high ^ _high_product(low, high))
            mixed = (mixed ^ mixed >> np.uint64(37)) * _PRIME_16
            hashes[term] = mixed ^ mixed >> _U32


XXH3 = Kernel(
    _xxh3,
    ["void(uint64[::1], int64[::1], int64[::1], uint64[::1])"],
    parts=[_high_product, _swapped, xxh3_short],
)
