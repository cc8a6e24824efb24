"""Encode texts, feature counts and vocabulary changes as BLOBs, and decode them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

try:
    from compression import zstd
except ImportError:
    from backports import zstd

_LEVEL = 3
# Changes of a vocabulary become no smaller by more.
_CHANGE_LEVEL = 1
# Bytes from which on several texts are compressed in one call.
_LEAST_TOGETHER = 1 << 18
# A damaged frame may say that it holds more than there is memory.
_MOST_AT_ONCE = 1 << 26
# A change of numbered features is a zstd frame, which begins otherwise.
_NAMED = b"\x01"
# Bytes of a number in a change.
_OF_NUMBER = 8
_local = threading.local()


def compress(data: bytes, level: int = _LEVEL) -> bytes:
    """Return a zstd frame of the data."""
    name = f"level_{level}"
    compressor = getattr(_local, name, None)
    if compressor is None:
        compressor = zstd.ZstdCompressor(level=level)
        setattr(_local, name, compressor)
    return bytes(compressor.compress(data, zstd.ZstdCompressor.FLUSH_FRAME))


def compress_many(data: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return a zstd frame of each.

    The standard library's compressor gives up the interpreter's lock for each of them, and waits
    for it again each time while other threads work. The package zstandard, where it is there (the
    extra ``fast``), compresses them all in one call.
    """
    size = sum(map(len, data))
    if size < _LEAST_TOGETHER or not _compresses_many():
        return tuple(map(compress, data))
    import zstandard

    compressor = getattr(_local, "compressor_of_many", None)
    if compressor is None:
        compressor = _local.compressor_of_many = zstandard.ZstdCompressor(level=_LEVEL)
    frames = compressor.multi_compress_to_buffer(list(data), threads=1)
    return tuple(frames[place].tobytes() for place in range(len(frames)))


@cache
def _compresses_many() -> bool:
    if find_spec("zstandard") is None:
        return False
    import zstandard

    # Another backend is pure Python.
    return hasattr(zstandard.ZstdCompressor, "multi_compress_to_buffer")


def decompress(frame: bytes) -> bytes:
    """Return the data of a zstd frame.

    Raises:
        ValueError: The frame is damaged.
    """
    if _compresses_many():
        found = _decompressed(frame)
        if found is not None:
            return found
    try:
        return bytes(zstd.decompress(frame))
    except zstd.ZstdError as error:
        raise ValueError(f"damaged zstd frame: {error}") from error


def _decompressed(frame: bytes) -> bytes | None:
    """Return the data of a zstd frame by the package zstandard, which keeps its decompressor.

    That takes less than half the time. None: the frame is damaged, or odd, or says that it is
    large; the standard library tells which.
    """
    import zstandard

    decompressor = getattr(_local, "decompressor", None)
    if decompressor is None:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    try:
        if not 0 < zstandard.frame_content_size(frame) <= _MOST_AT_ONCE:
            return None
        return bytes(decompressor.decompress(frame, allow_extra_data=False))
    except zstandard.ZstdError:
        return None


def pack_features(feature_ids: NDArray[np.int64], counts: NDArray[np.int64]) -> bytes:
    """Pack the feature counts of a document.

    Ascending feature numbers as differences, then the counts, as byte planes of 32-bit words
    (most planes are zeros), in a zstd frame.

    Args:
        feature_ids: Ascending, distinct, from 0 below 2**32; shape (n,).
        counts: From 1 below 2**32; shape (n,).
    """
    both = np.concatenate((np.diff(feature_ids, prepend=0), counts)).astype("<u4")
    return compress(both.view(np.uint8).reshape(-1, 4).T.tobytes())


def unpack_features(packed: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return feature numbers and counts; the inverse of :func:`pack_features`.

    Raises:
        ValueError: The BLOB is damaged.
    """
    planes = np.frombuffer(decompress(packed), np.uint8).reshape(4, -1)
    both = np.ascontiguousarray(planes.T).view("<u4").ravel().astype(np.int64)
    differences, counts = both.reshape(2, -1)
    return np.cumsum(differences), counts


def pack_delta(
    feature_ids: NDArray[np.int64],
    document_counts: NDArray[np.int64],
    total_counts: NDArray[np.int64],
) -> bytes:
    """Pack the change of a vocabulary: three int64 arrays of one length; counts may be negative."""
    return compress(np.stack((feature_ids, document_counts, total_counts)).astype("<i8").tobytes())


def unpack_delta(packed: bytes) -> NDArray[np.int64]:
    """Return feature numbers, document counts and total counts, shape (3, n).

    Raises:
        ValueError: The BLOB is damaged.
    """
    return np.frombuffer(decompress(packed), "<i8").astype(np.int64).reshape(3, -1)


def pack_named_delta(
    terms: bytes,
    ends: NDArray[np.int64],
    document_counts: NDArray[np.int64],
    total_counts: NDArray[np.int64],
) -> bytes:
    """Pack the change of a vocabulary whose features have no numbers.

    Args:
        terms: Distinct terms, one after the other.
        ends: Where each begins and the last ends, shape (terms + 1,).
        document_counts: May be negative; shape (terms,).
        total_counts: May be negative; shape (terms,).
    """
    facts = np.concatenate((np.diff(ends), document_counts, total_counts)).astype("<i8")
    planes = facts.view(np.uint8).reshape(-1, 8).T.tobytes()
    size = (len(ends) - 1).to_bytes(8, "little")
    return packed_named_delta(b"".join((size, planes, terms)))


def packed_named_delta(laid_out: bytes) -> bytes:
    """Pack the change of a vocabulary that is laid out.

    Args:
        laid_out: The number of terms, 8 bytes; then their lengths, their document counts and their
            total counts, of 8 bytes each, the lowest byte of all, the next of all, and so on; then
            the terms.
    """
    return _NAMED + compress(laid_out, _CHANGE_LEVEL)


def names_terms(packed: bytes) -> bool:
    """Return whether a packed change names terms, not numbers."""
    return packed[:1] == _NAMED


def unpack_named_deltas(
    packed: Sequence[bytes],
) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the arguments of :func:`pack_named_delta` of several changes, one after the other.

    A term stands there once for each change that names it. Each step of NumPy is taken once for
    all: for one change it takes longer to begin than to do.

    Raises:
        ValueError: A BLOB is damaged.
    """
    planes, terms, sizes = [np.empty((_OF_NUMBER, 0), np.uint8)], [], []
    for one in packed:
        data = decompress(one[1:])
        size = int.from_bytes(data[:8], "little")
        end = 8 + 24 * size
        if len(data) < end:
            raise ValueError("damaged change of a vocabulary")
        planes.append(np.frombuffer(data, np.uint8, 24 * size, 8).reshape(_OF_NUMBER, -1))
        terms.append(data[end:])
        sizes.append(size)
    facts = _of_planes(np.concatenate(planes, axis=1))
    # Of each change first all lengths, then all counts of documents, then all of occurrences.
    held = np.array(sizes, np.int64)
    starts = held.cumsum() - held
    at = np.arange(int(held.sum())) + np.repeat(2 * starts, held)
    each = np.repeat(held, held)
    lengths, joined = facts[at], b"".join(terms)
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    # Each by itself: sums of numbers that are too large may come out right.
    is_good = ((lengths >= 0) & (lengths <= len(joined))).all()
    if not is_good or (ends[starts + held] - ends[starts]).tolist() != [*map(len, terms)]:
        raise ValueError("damaged change of a vocabulary")
    return joined, ends, facts[at + each], facts[at + 2 * each]


def _of_planes(planes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the numbers whose lowest bytes are the first plane, the next the second, and so on."""
    found = planes[0].astype(np.uint64)
    for place in range(1, _OF_NUMBER):
        # Most counts have one byte.
        if planes[place].any():
            found |= planes[place].astype(np.uint64) << np.uint64(8 * place)
    numbers: NDArray[np.int64] = found.view(np.int64)
    return numbers
