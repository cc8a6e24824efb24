"""Features to hashes that are the same in every process, on every platform, in every year."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray


def xxh3(terms: Sequence[bytes], bits: int) -> NDArray[np.uint64]:
    """Hash features with XXH3 (its 64-bit form up to 64 bits, else its 128-bit form).

    Returns:
        uint64, shape (terms, ceil(bits / 64)), most significant word first.
    """
    if bits <= 64:
        digest = xxhash.xxh3_64_intdigest
        return np.array([digest(term) for term in terms], np.uint64).reshape(-1, 1)
    packed = b"".join([xxhash.xxh3_128_digest(term) for term in terms])
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, 2)


def generated_rows(count: int) -> NDArray[np.uint8]:
    """Return the built-in hash table: row i holds the 128 bits of BLAKE2b-128 of ``simtool i``.

    Returns:
        0 or 1, uint8, shape (count, 128).
    """
    digests = b"".join(
        hashlib.blake2b(b"simtool %d" % rank, digest_size=16).digest() for rank in range(count)
    )
    return np.unpackbits(np.frombuffer(digests, np.uint8).reshape(count, 16), axis=1)
