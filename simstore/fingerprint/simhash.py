"""SimHash: compute fingerprints from weighted features.

Charikar 2002, section 3; Manku, Jain, Das Sarma 2007, section 2.

A fingerprint of M bits is held in ``ceil(M / 64)`` unsigned 64-bit words, the most significant
first, so that the words read as one M-bit number whose top bit is bit 0 of the fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors import InvalidParameter

if TYPE_CHECKING:
    from simstore.text.scanning import Scanned

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


def signs_of_bits(rows: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Return +1 for each 1 and -1 for each 0, the same shape."""
    return (rows.astype(np.int8) * 2 - 1).astype(np.int8)


def signs_of_hashes(hashes: NDArray[np.uint64], bits: int) -> NDArray[np.int8]:
    """Return the signs of the first bits of each hash.

    Args:
        hashes: Shape (features, words), most significant word first.
        bits: Fingerprint length, at most ``64 * words``.

    Returns:
        +1 or -1, int8, shape (features, bits).
    """
    as_bytes = np.ascontiguousarray(hashes.astype(">u8")).view(np.uint8)
    unpacked = np.unpackbits(as_bytes.reshape(len(hashes), 8 * hashes.shape[1]), axis=1, count=bits)
    return signs_of_bits(unpacked)


def fingerprints(
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    weights: NDArray[np.int64],
    signs: NDArray[np.int8],
    tie: int = 0,
) -> NDArray[np.uint64]:
    """Compute the fingerprint of each document.

    Bit b is 1 where the sum of ``weight * signs[row, b]`` over the document's features is
    positive, ``tie`` where it is zero, else 0. Sums are exact integers, so the result depends on
    no order, machine or library.

    Args:
        offsets: Document d has the entries ``offsets[d]:offsets[d + 1]``; shape (documents + 1,).
        rows: Row of ``signs`` of each entry, shape (entries,).
        weights: Positive integer weight of each entry; a document's sum is below 2**53.
        signs: +1 or -1, shape (features, M).
        tie: Bit that a zero sum gives, 0 or 1.

    Returns:
        uint64, shape (documents, ceil(M / 64)).
    """
    document_count = len(offsets) - 1
    bits = signs.shape[1]
    positive = np.empty((document_count, bits), bool)
    if compiled.pays(_SECONDS_AN_ENTRY * len(rows)):
        from simstore.fingerprint import kernels

        kernels.SIGNED_SUMS(
            np.ascontiguousarray(offsets, np.int64),
            np.ascontiguousarray(rows, np.int64),
            np.ascontiguousarray(weights, np.int64),
            np.ascontiguousarray(signs, np.int8),
            0 if tie else 1,
            positive,
        )
    else:
        for document in range(document_count):
            part = slice(offsets[document], offsets[document + 1])
            part_weights = weights[part]
            exact = np.float32 if part_weights.sum() < _EXACT_FLOAT32 else np.float64
            sums = part_weights.astype(exact) @ signs[rows[part]].astype(exact)
            positive[document] = sums >= 0 if tie else sums > 0
    return pack(positive)


def fingerprints_of_hashes(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int64],
    weights: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bits: int,
    tie: int = 0,
) -> NDArray[np.uint64]:
    """Compute the fingerprint of each document: :func:`fingerprints` with signs of hashes.

    Args:
        offsets: As there.
        columns: Row of ``hashes`` of each entry, shape (entries,).
        weights: As there.
        hashes: Shape (features, ceil(bits / 64)), most significant word first.
        bits: Fingerprint length M.
        tie: Bit that a zero sum gives, 0 or 1.

    Returns:
        uint64, shape (documents, ceil(M / 64)).
    """
    if not compiled.pays(_SECONDS_AN_ENTRY * len(columns)):
        return fingerprints(offsets, columns, weights, signs_of_hashes(hashes, bits), tie)
    from simstore.fingerprint import kernels

    result = np.empty((len(offsets) - 1, hashes.shape[1]), np.uint64)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedWeights:
    """Weights of the terms and keys of scanned texts.

    Attributes:
        linear: Whether a term weighs ``unit`` for each time it occurs, as a key does.
        of_counts: The weight of the others by their count; counts beyond weigh the last.
        damped: The weight of a key, and of a term that is linear, by its count, where it is not
            ``unit`` for each time; empty: it is.
        unit: A weight.
    """

    linear: NDArray[np.bool_]
    of_counts: NDArray[np.int64]
    damped: NDArray[np.int64]
    unit: int


def fingerprints_of_scanned(
    scanned: Scanned,
    hashes: NDArray[np.uint64],
    weights: ScannedWeights,
    bits: int,
    tie: int = 0,
) -> NDArray[np.uint64]:
    """Compute the fingerprint of each text from what the scanner has found; compiled.

    Args:
        scanned: Terms and keys. A key is hashed by XXH3.
        hashes: Of each term, shape (terms, 1).
        weights: What they weigh.
        bits: Fingerprint length M, at most 64.
        tie: Bit that a zero sum gives.

    Returns:
        uint64, shape (texts, 1).
    """
    from simstore.fingerprint import kernels

    result = np.empty((len(scanned.offsets) - 1, 1), np.uint64)
    kernels.SUMS_OF_PLACES(
        numbers=scanned.numbers, places=scanned.offsets, hashes=hashes, linear=weights.linear,
        weight_of=weights.of_counts, damped=weights.damped, key_offsets=scanned.key_offsets,
        keys=scanned.keys, unit=weights.unit, bits=bits, tie=bool(tie), result=result,
    )  # fmt: skip
    return result


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
