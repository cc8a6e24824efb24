"""SimHash: compute fingerprints from weighted features.

Charikar 2002, section 3; Manku, Jain, Das Sarma 2007, section 2.

A fingerprint of M bits is held in ``ceil(M / 64)`` unsigned 64-bit words, the most significant
first, so that the words read as one M-bit number whose top bit is bit 0 of the fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors import InvalidParameter

MAX_BITS = 128
# Up to this sum of weights every partial sum is an exact float32 integer, in any order.
_EXACT_FLOAT32 = 1 << 24
# What the NumPy form takes, for a guess whether the compiled one pays.
_SECONDS_AN_ENTRY = 1e-7


def check_bits(bits: int) -> None:
    """Raise InvalidParameter unless ``1 <= bits <= 128``."""
    if not 1 <= bits <= MAX_BITS:
        raise InvalidParameter(f"M = {bits} bits: M must be from 1 to {MAX_BITS}")


def word_count(bits: int) -> int:
    """Return how many 64-bit words hold a fingerprint."""
    return (bits + 63) // 64


def fingerprints(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int64],
    weights: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bits: int,
    tie: int = 0,
) -> NDArray[np.uint64]:
    """Compute the fingerprint of each document.

    Bit b is 1 where the features whose hash has bit b weigh more than the others, ``tie`` where
    they weigh as much, else 0. Sums are exact integers, so the result depends on no order, machine
    or library.

    Args:
        offsets: Document d has the entries ``offsets[d]:offsets[d + 1]``; shape (documents + 1,).
        columns: Row of ``hashes`` of each entry, shape (entries,).
        weights: Positive integer weight of each entry; a document's sum is below 2**53.
        hashes: Shape (features, ceil(bits / 64)), most significant word first; the first ``bits``
            bits count.
        bits: Fingerprint length M.
        tie: Bit that a zero sum gives, 0 or 1.

    Returns:
        uint64, shape (documents, ceil(M / 64)).
    """
    document_count, words = len(offsets) - 1, hashes.shape[1]
    if compiled.pays(_SECONDS_AN_ENTRY * len(columns)):
        from simstore.fingerprint import kernels

        result = np.empty((document_count, words), np.uint64)
        kernels.SUMS_OF_HASHES(
            np.ascontiguousarray(offsets, np.int64),
            np.ascontiguousarray(columns, np.int64),
            np.ascontiguousarray(weights, np.int64),
            np.ascontiguousarray(hashes, np.uint64),
            bits,
            bool(tie),
            result,
        )
        return result
    positive = np.empty((document_count, bits), bool)
    for document in range(document_count):
        part = slice(offsets[document], offsets[document + 1])
        own = hashes[columns[part]].astype(">u8").view(np.uint8).reshape(-1, 8 * words)
        ones = np.unpackbits(own, axis=1, count=bits)
        total = weights[part].sum()
        exact = np.float32 if total < _EXACT_FLOAT32 else np.float64
        # A sum is positive where the ones weigh more than half of all.
        doubled = 2 * (weights[part].astype(exact) @ ones.astype(exact))
        positive[document] = doubled >= total if tie else doubled > total
    return pack(positive)


def pack(bit_rows: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack rows of M bits, first bit first, into words; shape (documents, ceil(M / 64))."""
    document_count, bits = bit_rows.shape
    padded = np.zeros((document_count, word_count(bits) * 64), bool)
    padded[:, padded.shape[1] - bits :] = bit_rows
    packed = np.packbits(padded, axis=1)
    return packed.view(">u8").astype(np.uint64).reshape(document_count, word_count(bits))


def to_integers(words: NDArray[np.uint64]) -> list[int]:
    """Return fingerprints as non-negative integers below 2**M; shape (n, words) to n."""
    if words.shape[1] == 1:
        return [int(value) for value in words[:, 0].tolist()]
    return [high << 64 | low for high, low in words.tolist()]


def to_words(values: Iterable[int], bits: int) -> NDArray[np.uint64]:
    """Return integers below 2**M as words; the inverse of :func:`to_integers`."""
    if word_count(bits) == 1:
        return np.array(list(values), np.uint64).reshape(-1, 1)
    mask = (1 << 64) - 1
    return np.array([(v >> 64, v & mask) for v in values], np.uint64).reshape(-1, 2)


def to_hex(value: int, bits: int) -> str:
    """Return a fingerprint as zero-padded hexadecimal, ``ceil(M / 4)`` digits."""
    return f"{value:0{(bits + 3) // 4}x}"
