"""Slots of a cuckoo filter as bytes: each takes as many bits as a tag has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.search.cuckoo_fill import Slots

# Slots at a time; a multiple of eight, so that blocks end where bytes end.
_BLOCK = 1 << 18


def slot_type(tag_bits: int) -> type[np.unsignedinteger]:
    """Return the type of slots for tags of this length, in bits."""
    return np.uint8 if tag_bits <= 8 else np.uint16 if tag_bits <= 16 else np.uint32


def hash_words(hashes: bytes) -> NDArray[np.uint64]:
    """Return hashes of 16 bytes, one behind the other, as two numbers each, shape (hashes, 2)."""
    return np.frombuffer(hashes, "<u8").reshape(-1, 2).astype(np.uint64, copy=False)


def pack_slots(slots: Slots, tag_bits: int) -> bytes:
    """Return slots as bytes, the lowest bit first; the last byte is filled up with zeros.

    Args:
        slots: Numbers below 2**tag_bits, of :func:`slot_type`.
        tag_bits: Bits a slot.
    """
    blocks = []
    for start in range(0, len(slots), _BLOCK):
        part = slots[start : start + _BLOCK]
        plain = part.astype(part.dtype.newbyteorder("<"), copy=False).view(np.uint8)
        bits = np.unpackbits(plain.reshape(len(part), -1), axis=1, bitorder="little")
        blocks.append(np.packbits(bits[:, :tag_bits], bitorder="little").tobytes())
    return b"".join(blocks)


def unpack_slots(data: bytes, tag_bits: int, count: int) -> Slots:
    """Return slots from bytes; the inverse of :func:`pack_slots`.

    Args:
        data: The bytes.
        tag_bits: Bits a slot.
        count: Number of slots.
    """
    kind = np.dtype(slot_type(tag_bits))
    slots = np.empty(count, kind)
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        begin = start * tag_bits // 8
        packed = np.frombuffer(data[begin : begin + (size * tag_bits + 7) // 8], np.uint8)
        bits = np.zeros((size, 8 * kind.itemsize), np.uint8)
        bits[:, :tag_bits] = np.unpackbits(
            packed, count=size * tag_bits, bitorder="little"
        ).reshape(size, tag_bits)
        plain = np.packbits(bits, axis=1, bitorder="little").reshape(-1)
        slots[start : start + size] = plain.view(kind.newbyteorder("<"))
    return slots
