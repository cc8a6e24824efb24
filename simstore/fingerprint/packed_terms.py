"""A sequence of terms (byte strings) packed into arrays, with compiled hashing.

Short terms are hashed by a compiled XXH3 (https://github.com/Cyan4973/xxHash, its 64-bit form,
seed 0), whose types are pinned: a ``uint64`` with a signed number would become a float.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore.compiled import Kernel
from simstore.text.scanning import Scanned

_U0, _U8, _U32 = (np.uint64(n) for n in (0, 8, 32))
_LOW_32 = np.uint64(0xFFFFFFFF)

# XXH3 of at most 16 bytes, seed 0: what remains of the secret, and the multipliers of its ends.
LONGEST_HASHED = 16
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
        elif length <= LONGEST_HASHED:
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


class PackedTerms(Sequence[bytes]):
    """Terms, each begun at a chunk of eight bytes and filled up with zeros.

    Args:
        chunks: The bytes, the first of each chunk lowest; uint64.
        starts: First chunk of each term; int64, shape (terms,).
        lengths: Bytes of each term, at least 1; int64, shape (terms,).
    """

    def __init__(
        self, chunks: NDArray[np.uint64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> None:
        self._chunks = chunks
        self._starts = starts
        self._lengths = lengths

    @classmethod
    def of_scanned(cls, scanned: Scanned) -> PackedTerms:
        """Return the terms that the scanner numbered."""
        return cls(scanned.chunks, scanned.starts, scanned.lengths)

    def chosen(self, wanted: NDArray[np.bool_]) -> PackedTerms:
        """Return the terms where ``wanted`` is true."""
        return PackedTerms(self._chunks, self._starts[wanted], self._lengths[wanted])

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[bytes, ...]: ...
    def __getitem__(self, place: int | slice) -> bytes | tuple[bytes, ...]:
        return self._unpacked[place]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._unpacked)

    def __contains__(self, term: object) -> bool:
        return term in self._unpacked

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return self._unpacked == tuple(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _unpacked(self) -> tuple[bytes, ...]:
        data = self._chunks.tobytes()
        firsts = 8 * self._starts
        ends = firsts + self._lengths
        return tuple(
            data[first:end] for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
        )

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """XXH3 of each term, its 64-bit form; shape (terms,)."""
        made = np.zeros(len(self), np.uint64)
        XXH3(self._chunks, self._starts, self._lengths, made)
        for term in np.flatnonzero(self._lengths > LONGEST_HASHED).tolist():
            made[term] = xxhash.xxh3_64_intdigest(self._one(term))
        return made

    def code_points(self) -> NDArray[np.int64]:
        """Return the first code point of each term, shape (terms,)."""
        first = self._chunks[self._starts].astype(np.int64)
        if not (first & 0x80).any():
            return first & 0x7F
        parts = [first >> 8 * place & 0x3F for place in range(1, 4)]
        lead = first & 0xFF
        return np.select(
            [lead < 0x80, lead < 0xE0, lead < 0xF0],
            [
                lead,
                (lead & 0x1F) << 6 | parts[0],
                (lead & 0x0F) << 12 | parts[0] << 6 | parts[1],
            ],
            (lead & 0x07) << 18 | parts[0] << 12 | parts[1] << 6 | parts[2],
        )

    def places_of(self, terms: Iterable[bytes]) -> NDArray[np.bool_]:
        """Return whether each term is one of some given ones, shape (terms,)."""
        wanted = frozenset(terms)
        found = np.isin(self.hashes, term_hashes(tuple(wanted)))
        for term in np.flatnonzero(found).tolist():
            found[term] = self._one(term) in wanted
        return found

    def packed(self) -> tuple[bytes, NDArray[np.int64]]:
        """Return what :func:`packed` returns."""
        ends = np.concatenate(([0], np.cumsum(self._lengths)))
        places = np.arange(ends[-1]) + np.repeat(8 * self._starts - ends[:-1], self._lengths)
        return self._chunks.view(np.uint8)[places].tobytes(), ends

    def _one(self, term: int) -> bytes:
        first = int(self._starts[term])
        length = int(self._lengths[term])
        return self._chunks[first : first + (length + 7) // 8].tobytes()[:length]


def term_hashes(terms: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return XXH3 of each term, its 64-bit form; shape (terms,)."""
    if isinstance(terms, PackedTerms):
        return terms.hashes
    digest = xxhash.xxh3_64_intdigest
    return np.array([digest(term) for term in terms], np.uint64)


def first_code_points(terms: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the first code point of each term, shape (terms,)."""
    if isinstance(terms, PackedTerms):
        return terms.code_points()
    return np.fromiter(map(_first_code_point, terms), np.int64, len(terms))


def _first_code_point(term: bytes) -> int:
    lead = term[0]
    if lead < 0x80:
        return lead
    length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    return ord(term[:length].decode("utf-8", "surrogatepass"))


def packed(terms: Sequence[bytes]) -> tuple[bytes, NDArray[np.int64]]:
    """Return all terms in one, and where each begins and the last ends, shape (terms + 1,)."""
    if isinstance(terms, PackedTerms):
        return terms.packed()
    lengths = np.fromiter(map(len, terms), np.int64, len(terms))
    return b"".join(terms), np.concatenate(([0], np.cumsum(lengths)))
