"""The distinct terms of a batch, packed: bytes objects are made of them only when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore.fingerprint.hash_kernels import XXH3
from simstore.text.scanning import Scanned

_LONGEST_HASHED = 16


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
        for term in np.flatnonzero(self._lengths > _LONGEST_HASHED).tolist():
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
