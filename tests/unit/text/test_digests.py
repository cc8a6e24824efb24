"""Digests of texts are BLAKE2b, and made without giving up the interpreter's lock in vain."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from simstore.text import decoding
from simstore.text.decoding import text_digest


@pytest.mark.parametrize("size", [0, 1, 2_047, 2_048, 4_094, 4_095, 65_536, 65_537, 200_000])
def test_digest_is_blake2b_of_all_bytes(size: int) -> None:
    data = bytes(place * 31 % 251 for place in range(size))
    assert text_digest(data) == hashlib.blake2b(data, digest_size=16).digest()


class Recorded:
    """Stands for hashlib, and records how long the pieces are that it is given."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def blake2b(self, data: bytes = b"", *, digest_size: int) -> Any:
        self.sizes.append(len(data))
        self._made = hashlib.blake2b(data, digest_size=digest_size)
        return self

    def update(self, data: memoryview) -> None:
        self.sizes.append(len(data))
        self._made.update(data)

    def digest(self) -> bytes:
        return self._made.digest()


def test_usual_texts_are_hashed_in_pieces_for_which_hashlib_keeps_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded = Recorded()
    monkeypatch.setattr(decoding, "hashlib", recorded)
    text_digest(b"a" * 3_500)
    text_digest(b"a" * 60_000)
    assert max(recorded.sizes) < 2_048
    assert sum(recorded.sizes) == 63_500
