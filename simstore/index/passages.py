"""Passages in the posting index: the entries of texts, and bytes for those of one text.

An entry is the first 32 bits of a hash, the number of one version of a document's text, a place in
it, and 16 bits of what is around that place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.passage_recipe import IndexedText
from simstore.fingerprint.winnowing import HASH_BITS
from simstore.index.pages import Entries, Shape, pack, row_lengths, unpack
from simstore.index.postings import Kind

# Winnowing needs more bits of a hash than a look-up: in a store of a million documents of 600 words
# 7 of 100 grams that none has are taken for one of another, which the texts tell apart.
KEY_BITS = 32
# No filters: they would take as much as an eighth of the entries, and most grams are in one run.
PASSAGES = Kind("passages", key_bits=KEY_BITS, value_count=3, is_filtered=False)
_UNSEEN = np.uint64(HASH_BITS - KEY_BITS)
_SPARE = np.uint64(64 - KEY_BITS)
# The entries of a text in no run: place, and what is around it.
_OF_ONE = Shape(KEY_BITS, 0, (4, 2))
# A number of spans in a byte; larger ones follow as four.
_LARGE = 255
_HEAD_BYTES = 4
_WORD_BYTES = 8


def keys_of(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the keys of hashes."""
    return hashes >> _UNSEEN << _SPARE


def postings_of(numbers: Sequence[int], texts: Sequence[IndexedText]) -> Entries:
    """Return the entries of texts, of which each has a number."""
    if not texts:
        return Entries.none(PASSAGES.value_count)
    counts = [len(text.hashes) for text in texts]
    values = np.empty((sum(counts), PASSAGES.value_count), np.uint64)
    values[:, 0] = np.repeat(np.array(numbers, np.uint64), counts)
    values[:, 1] = np.concatenate([text.starts for text in texts])
    values[:, 2] = np.concatenate([text.lengths for text in texts])
    return Entries(keys_of(np.concatenate([text.hashes for text in texts])), values)


def pack_entries(text: IndexedText) -> bytes | None:
    """Return the entries of a text without its number; None: it has none."""
    entries = postings_of([0], [text])
    rows = pack(Entries(entries.keys, entries.values[:, 1:]), _OF_ONE)
    return b"".join(row for _, row in rows) or None


def unpack_entries(numbers: Sequence[int], packed: Sequence[bytes]) -> Entries:
    """Return the entries of texts; the inverse of :func:`pack_entries`.

    Raises:
        DamagedPage: Those of the text with the number that is its place are damaged.
    """
    if not numbers:
        return Entries.none(PASSAGES.value_count)
    held = unpack(numbers, packed, _OF_ONE)
    counts = row_lengths(numbers, packed, _OF_ONE)
    owners = np.repeat(np.array(numbers, np.uint64), counts)
    return Entries(held.keys, np.column_stack((owners, held.values)))


def pack_spans(spans: NDArray[np.int32], words: NDArray[np.uint64]) -> bytes:
    """Return spans packed: what lies between each and the one before it, and its length.

    Args:
        spans: Ascending, not overlapping, shape (n, 2).
        words: Their fingerprints, shape (n,) or (0,).
    """
    numbers = spans.flatten()
    numbers[1:] -= spans.ravel()[:-1]
    small = np.minimum(numbers, _LARGE).astype(np.uint8)
    large = numbers[numbers >= _LARGE].astype("<u4")
    head = len(spans).to_bytes(_HEAD_BYTES, "little")
    return head + small.tobytes() + large.tobytes() + words.astype("<u8").tobytes()


def unpack_spans(packed: bytes) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Return spans, shape (n, 2), and fingerprints, shape (n,) or (0,).

    Raises:
        ValueError: They are damaged.
    """
    count = int.from_bytes(packed[:_HEAD_BYTES], "little")
    end = _HEAD_BYTES + 2 * count
    numbers = np.frombuffer(packed[_HEAD_BYTES:end], np.uint8).astype(np.int64)
    is_large = numbers == _LARGE
    behind = end + 4 * int(is_large.sum())
    if len(packed) < behind or len(packed) - behind not in (0, _WORD_BYTES * count):
        raise ValueError("the passages of a document are damaged")
    numbers[is_large] = np.frombuffer(packed[end:behind], "<u4")
    spans = np.cumsum(numbers).reshape(-1, 2).astype(np.int32)
    return spans, np.frombuffer(packed[behind:], "<u8").astype(np.uint64)
