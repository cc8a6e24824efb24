"""Stable hash functions for features: the same values in every process and on every platform."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.packed_terms import term_hashes

_GB2312_FIRST = 176
_BASE = 6885
_CODE_BITS = 13


def feature_hashes(terms: Sequence[bytes], bits: int, name: str = "xxh3") -> NDArray[np.uint64]:
    """Hash features.

    Args:
        terms: Features, UTF-8 or raw bytes.
        bits: Bits that are needed, 1 to 128.
        name: One of :data:`FEATURE_HASHES`.

    Returns:
        uint64, shape (terms, ceil(bits / 64)), most significant word first; the first ``bits``
        bits of a row are the hash.

    Raises:
        InvalidParameter: There is no such hash.
    """
    if name == "xxh3":
        return xxh3(terms, bits)
    number_of = FEATURE_HASHES.get(name)
    if number_of is None:
        raise InvalidParameter(f"feature hash {name!r}: choose one of {', '.join(FEATURE_HASHES)}")
    return left_aligned((number_of(term, bits) for term in terms), bits)


def xxh3(terms: Sequence[bytes], bits: int) -> NDArray[np.uint64]:
    """Hash features with XXH3 (its 64-bit form up to 64 bits, else its 128-bit form).

    Returns:
        uint64, shape (terms, ceil(bits / 64)), most significant word first.
    """
    if bits <= 64:
        return term_hashes(terms).reshape(-1, 1)
    packed = b"".join([xxhash.xxh3_128_digest(term) for term in terms])
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, 2)


def left_aligned(numbers: Iterable[int], bits: int) -> NDArray[np.uint64]:
    """Return numbers modulo 2**bits, their highest bit first.

    Returns:
        uint64, shape (numbers, ceil(bits / 64)), most significant word first.
    """
    size = 8 if bits <= 64 else 16
    mask, shift = (1 << bits) - 1, 8 * size - bits
    packed = b"".join([((n & mask) << shift).to_bytes(size, "big") for n in numbers])
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, size // 8)


def poly1000003(term: bytes, bits: int) -> int:
    """Return the string hash of Python before 3.4 modulo 2**bits.

    ``x = ord(v[0]) << 7``; for each character c ``x = x * 1000003 ^ ord(c)``; at the end ``x ^ n``,
    n the number of characters. The SimHash implementations of that time used it at M bits.
    """
    text = term.decode("utf-8", "surrogatepass")
    mask = (1 << bits) - 1
    value = ord(text[0]) << 7 if text else 0
    for character in text:
        value = value * 1_000_003 & mask ^ ord(character)
    return (value ^ len(text)) & mask


def hanzi(term: bytes, bits: int) -> int:
    """Return the characters of a feature as digits, without mixing them.

    A character of two bytes in GB2312 is ``(b0 - 176) * 94 + (b1 - 161)``, so the characters for
    daily use are 0 to 6,767; one of one byte is ``b - 9 + 6768``; any other (a traditional form,
    most letters with accents, kana of half width) its code point. The digits make a number in
    base 6,885, modulo 2**W, where W is 64 (128 for fingerprints above 64 bits); it is repeated
    ``W // w`` times, each time shifted by ``w = 13 * length``. Fingerprints below W bits take the
    low bits.

    What is not Han is coded by the same rule: ASCII words are digits from 6,768 on, symbols before
    the first Han row are negative, code points may be larger than the base, so that two such
    features may have one hash.
    """
    text = term.decode("utf-8", "surrogatepass")
    width = 64 if bits <= 64 else 128
    modulus = 1 << width
    number = 0
    for character in text:
        number = (number * _BASE + _gb2312_code(character)) % modulus
    shift = _CODE_BITS * len(text)
    value = number
    for _ in range(width // shift if text else 0):
        value = ((value << shift) + number) % modulus
    return value


def hanzi_slides(term: bytes, bits: int) -> int:
    """Return the hash of a string of Han characters as the Java code of the lecture makes it.

    The digits are those of :func:`hanzi`; three things differ, each a slip of that code. What
    GB2312 has not counts as ``?``, once for each UTF-16 unit, so that all such characters are one.
    A shift by W bits or more is one by the rest of the division by W. And one more copy is added:
    up to four characters it falls off the end, from five on it is added to the number itself.
    At 64 bits the hash equals that code's; at 128 it is the same rule with W = 128.
    """
    text = term.decode("utf-8", "surrogatepass")
    width = 64 if bits <= 64 else 128
    modulus = 1 << width
    number, digits = 0, 0
    for character in text:
        for _ in range(1 if ord(character) < 1 << 16 else 2):
            number = (number * _BASE + _gb2312_code(character, unknown=ord("?"))) % modulus
            digits += 1
    if not digits:
        return 0
    shift = _CODE_BITS * digits
    value = number
    for _ in range(width // shift + 1):
        value = ((value << shift % width) + number) % modulus
    return value


def _gb2312_code(character: str, *, unknown: int | None = None) -> int:
    """Return the place of a character in GB2312, or what an unknown byte or code point gives."""
    try:
        coded = character.encode("gb2312")
    except UnicodeEncodeError:
        if unknown is None:
            return ord(character)
        coded = bytes([unknown])
    if len(coded) == 1:
        return coded[0] - 9 + 6768
    return (coded[0] - _GB2312_FIRST) * 94 + coded[1] - 161


def _xxh3(term: bytes, bits: int) -> int:
    if bits <= 64:
        return xxhash.xxh3_64_intdigest(term) >> (64 - bits)
    return xxhash.xxh3_128_intdigest(term) >> (128 - bits)


def _blake2b(term: bytes, bits: int) -> int:
    size = 8 if bits <= 64 else 16
    return int.from_bytes(hashlib.blake2b(term, digest_size=size).digest(), "big") >> (
        8 * size - bits
    )


def _md5(term: bytes, bits: int) -> int:  # noqa: ARG001 - the caller takes the low bits
    return int.from_bytes(hashlib.md5(term, usedforsecurity=False).digest(), "big")


# The hash of one feature as a number; where it is longer than asked for, its low bits count.
FEATURE_HASHES: dict[str, Callable[[bytes, int], int]] = {
    "xxh3": _xxh3,
    "blake2b": _blake2b,
    "md5": _md5,
    "poly1000003": poly1000003,
    "hanzi": hanzi,
    "hanzi-slides": hanzi_slides,
}


def generated_rows(count: int) -> NDArray[np.uint8]:
    """Return the built-in hash table: row i holds the 128 bits of BLAKE2b-128 of ``simtool i``.

    Returns:
        0 or 1, uint8, shape (count, 128).
    """
    digests = b"".join(
        hashlib.blake2b(b"simtool %d" % rank, digest_size=16).digest() for rank in range(count)
    )
    return np.unpackbits(np.frombuffer(digests, np.uint8).reshape(count, 16), axis=1)
