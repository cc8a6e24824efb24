"""Digests of texts are BLAKE2b, and made without giving up the interpreter's lock in vain."""

from __future__ import annotations

import hashlib

from simstore.text.decoding import text_digest


def test_digest_is_blake2b_of_all_bytes() -> None:
    for size in (0, 1, 2_047, 2_048, 4_094, 4_095, 65_536, 65_537, 200_000):
        data = bytes(place * 31 % 251 for place in range(size))
        assert text_digest(data) == hashlib.blake2b(data, digest_size=16).digest(), size
