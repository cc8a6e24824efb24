"""The digest by which equal texts are told."""

from __future__ import annotations

import hashlib

DIGEST_BYTES = 16
# hashlib gives up the interpreter's lock for pieces of 2,048 bytes and more, and waits for it
# again: that pays for long texts only.
_PIECE = 2_047
_MOST_IN_PIECES = 1 << 16


def text_digest(data: bytes) -> bytes:
    """Return BLAKE2b-128 of the bytes of a text."""
    if len(data) <= _PIECE or len(data) > _MOST_IN_PIECES:
        return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
    made = hashlib.blake2b(digest_size=DIGEST_BYTES)
    view = memoryview(data)
    for start in range(0, len(data), _PIECE):
        made.update(view[start : start + _PIECE])
    return made.digest()
