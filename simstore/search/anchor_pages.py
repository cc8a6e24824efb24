"""Pack the postings of anchors (hashed token n-grams) into compact byte strings, and unpack them.

A posting says that an anchor is at an offset of an entry; an entry is one version of a document's
text. Numbers take as few bytes as the largest of a blob or a segment needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HASH_BITS = 40
# A page's number: the first hash that belongs to it, and whether it is the page of that hash alone.
PAGE_BITS = HASH_BITS + 1
# Postings a page has on average, from this to twice as many.
_PAGE_POSTINGS = 32
# Postings of one hash in one segment from which on they have a page of their own.
CROWDED = 256
# Low bits of a hash that a posting holds; the page holds the others.
_MOST_LOW_BITS = 32
_TAIL_LOW_BYTES = _MOST_LOW_BITS // 8
# Bytes that a number of a page may take, and one of what is of one document.
_WIDTHS = (1, 2, 3, 4, 8)
_OWN_WIDTHS = (1, 2, 4, 8)
_LOW_WIDTHS = (3, 4)
_HAS_WORDS = 0x80
_NO_WORDS = np.empty(0, np.uint64)

Posting = np.dtype([("hash", "<u8"), ("entry", "<i8"), ("start", "<i4"), ("length", "<i4")])
Postings = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class PageLayout:
    """The layout of a segment's pages: bits of hash that name a page, and bytes of each number.

    Attributes:
        key_bits: Leading bits of a hash that name its page, 8 to 40.
        entry_bytes: Bytes of an entry's number.
        start_bytes: Bytes of a place.
        length_bytes: Bytes of a length.
        low_bytes: Bytes of the low bits of a hash: 4, or 3 where pages tell at least 16 others.
    """

    key_bits: int
    entry_bytes: int
    start_bytes: int
    length_bytes: int
    low_bytes: int

    @property
    def is_possible(self) -> bool:
        """Return whether pages can be cut so."""
        widths = (self.entry_bytes, self.start_bytes, self.length_bytes)
        if self.low_bytes not in _LOW_WIDTHS or any(one not in _WIDTHS for one in widths):
            return False
        return HASH_BITS - 8 * self.low_bytes <= self.key_bits <= HASH_BITS

    @property
    def record(self) -> np.dtype[np.void]:
        """Return the type of a packed posting."""
        return _record(
            low=self.low_bytes,
            entry=self.entry_bytes,
            start=self.start_bytes,
            length=self.length_bytes,
        )

    def pages_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of the page that each hash belongs to."""
        shift = np.uint64(HASH_BITS - self.key_bits)
        return ((hashes >> shift << shift) << np.uint64(1)).astype(np.int64)


def own_pages(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of the page that each hash has to itself where it is crowded."""
    return (hashes << np.uint64(1) | np.uint64(1)).astype(np.int64)


def layout_for(count: int, most_entry: int, most_start: int, most_length: int) -> PageLayout:
    """Return the layout of a segment.

    Args:
        count: Its postings.
        most_entry: The largest number of an entry.
        most_start: The largest place.
        most_length: The largest length.
    """
    bits = max(count // _PAGE_POSTINGS, 1).bit_length() - 1
    key_bits = min(max(bits, HASH_BITS - _MOST_LOW_BITS), HASH_BITS)
    low_bytes = next(width for width in _LOW_WIDTHS if HASH_BITS - key_bits <= 8 * width)
    return PageLayout(
        key_bits, _width(most_entry), _width(most_start), _width(most_length), low_bytes
    )


def _width(most: int, widths: Sequence[int] = _WIDTHS) -> int:
    return next(width for width in widths if most < 1 << 8 * width)


def _record(**widths: int) -> np.dtype[np.void]:
    """Return the type of a packed posting whose numbers take so many bytes."""
    # There is no number of three bytes: they stand for themselves, the lowest first.
    return np.dtype(
        [
            (name, f"<u{width}") if width != 3 else (name, "u1", (3,))
            for name, width in widths.items()
        ]
    )


def _put(packed: Postings, name: str, values: NDArray[Any]) -> None:
    """Write the numbers of packed postings; all their bytes above the width are 0."""
    if packed.dtype[name].shape:
        bytes_of = np.ascontiguousarray(values, "<u4").view(np.uint8).reshape(-1, 4)
        packed[name] = bytes_of[:, :3]
    else:
        packed[name] = values


def _numbers(packed: Postings, name: str) -> NDArray[Any]:
    """Return the numbers of packed postings."""
    if not packed.dtype[name].shape:
        return packed[name]
    wide = np.zeros((len(packed), 4), np.uint8)
    wide[:, :3] = packed[name]
    return wide.view("<u4").ravel()


def in_order(postings: Postings) -> Postings:
    """Return postings sorted by hash, entry and offset."""
    return postings[np.lexsort((postings["start"], postings["entry"], postings["hash"]))]


def pack(postings: Postings, layout: PageLayout) -> Iterator[tuple[int, bytes]]:
    """Yield the pages of postings: (number, postings), ascending.

    A crowded hash has a page to itself, and a posting of length 0 in the page it belongs to.

    Args:
        postings: By hash, entry and place; all those of each page.
        layout: The segment's.
    """
    if not len(postings):
        return
    hashes = postings["hash"]
    firsts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    counts = np.diff(np.append(firsts, len(hashes)))
    crowded = counts > CROWDED
    of_crowded = np.repeat(crowded, counts)
    packed = np.empty(len(postings), layout.record)
    _put(packed, "low", _low(hashes, layout.low_bytes))
    for name in ("entry", "start", "length"):
        _put(packed, name, postings[name])
    marks = np.zeros(int(crowded.sum()), layout.record)
    marked = hashes[firsts[crowded]]
    _put(marks, "low", _low(marked, layout.low_bytes))
    own = {
        int(number): packed[first : first + count].tobytes()
        for number, first, count in zip(
            own_pages(marked), firsts[crowded], counts[crowded], strict=True
        )
    }
    shared = np.concatenate((packed[~of_crowded], marks))
    numbers = layout.pages_of(np.concatenate((hashes[~of_crowded], marked)))
    order = np.argsort(numbers, kind="stable")
    numbers, data = numbers[order], shared[order].tobytes()
    cuts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1], [True])))
    size = layout.record.itemsize
    pages = {
        int(numbers[start]): data[size * start : size * end]
        for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
    }
    yield from sorted((pages | own).items())


def unpack(
    numbers: Sequence[int], blobs: Sequence[bytes], layout: PageLayout
) -> tuple[Postings, NDArray[np.uint64]]:
    """Return the postings of pages, and the hashes that have a page of their own elsewhere.

    Args:
        numbers: Number of each page.
        blobs: Its postings.
        layout: The segment's.

    Raises:
        ValueError: A page is damaged.
    """
    record = layout.record
    sizes = np.fromiter(map(len, blobs), np.int64, len(blobs))
    if (sizes % record.itemsize).any():
        raise ValueError("a page of anchors is damaged")
    packed = np.frombuffer(b"".join(blobs), record)
    shift = np.uint64(HASH_BITS - layout.key_bits)
    bases = np.array(numbers, np.int64).astype(np.uint64) >> np.uint64(1) >> shift << shift
    low = _numbers(packed, "low").astype(np.uint64) & ((np.uint64(1) << shift) - np.uint64(1))
    found = np.empty(len(packed), Posting)
    found["hash"] = np.repeat(bases, sizes // record.itemsize) | low
    for name in ("entry", "start", "length"):
        found[name] = _numbers(packed, name)
    is_mark = found["length"] == 0
    if not is_mark.any():
        return found, np.empty(0, np.uint64)
    return found[~is_mark], found["hash"][is_mark]


def pack_document(postings: Postings) -> bytes:
    """Return the postings of one document, without the number of its entry."""
    most_start = int(postings["start"].max(initial=0))
    most_length = int(postings["length"].max(initial=0))
    widths = _width(most_start, _OWN_WIDTHS), _width(most_length, _OWN_WIDTHS)
    packed = np.empty(len(postings), _tail_record(*widths))
    packed["low"] = _low(postings["hash"], _TAIL_LOW_BYTES)
    packed["high"] = postings["hash"] >> np.uint64(_MOST_LOW_BITS)
    packed["start"], packed["length"] = postings["start"], postings["length"]
    return bytes(widths) + packed.tobytes()


def unpack_document(entry: int, blob: bytes) -> Postings:
    """Return the postings of one document; the inverse of :func:`pack_document`.

    Raises:
        ValueError: The blob is damaged.
    """
    if len(blob) < 2 or blob[0] not in _OWN_WIDTHS or blob[1] not in _OWN_WIDTHS:
        raise ValueError("the anchors of a document are damaged")
    packed = np.frombuffer(blob, _tail_record(blob[0], blob[1]), offset=2)
    found = np.empty(len(packed), Posting)
    high = packed["high"].astype(np.uint64) << np.uint64(_MOST_LOW_BITS)
    found["hash"] = packed["low"] | high
    found["entry"] = entry
    found["start"], found["length"] = packed["start"], packed["length"]
    return found


def _tail_record(start_bytes: int, length_bytes: int) -> np.dtype[np.void]:
    return _record(low=_TAIL_LOW_BYTES, high=1, start=start_bytes, length=length_bytes)


def _low(hashes: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """Return the low bytes of hashes."""
    return hashes & np.uint64((1 << 8 * width) - 1)


def pack_spans(spans: NDArray[np.int32], words: NDArray[np.uint64] = _NO_WORDS) -> bytes:
    """Return spans packed: what lies between each and the one before it, and its length.

    Args:
        spans: Ascending, not overlapping, shape (n, 2).
        words: Their fingerprints, shape (n,) or (0,).
    """
    ends = np.concatenate(([0], spans[:-1, 1]))
    both = np.stack((spans[:, 0] - ends, spans[:, 1] - spans[:, 0]))
    width = _width(int(both.max(initial=0)), _OWN_WIDTHS)
    head = width | (_HAS_WORDS if len(words) else 0)
    return bytes([head]) + both.astype(f"<u{width}").tobytes() + words.astype("<u8").tobytes()


def unpack_spans(blob: bytes) -> NDArray[np.int32]:
    """Return spans, shape (n, 2); the inverse of :func:`pack_spans`.

    Raises:
        ValueError: The blob is damaged.
    """
    width, count = _head(blob)
    both = np.frombuffer(blob, f"<u{width}", offset=1, count=2 * count)
    gaps, lengths = both.reshape(2, -1).astype(np.int64)
    ends = np.cumsum(gaps + lengths)
    return np.stack((ends - lengths, ends), axis=1).astype(np.int32)


def unpack_words(blob: bytes) -> NDArray[np.uint64]:
    """Return the fingerprints of passages, shape (n,), or (0,) where there are none.

    Raises:
        ValueError: The blob is damaged.
    """
    width, count = _head(blob)
    if not blob[0] & _HAS_WORDS:
        return _NO_WORDS
    return np.frombuffer(blob, "<u8", offset=1 + 2 * width * count).astype(np.uint64)


def _head(blob: bytes) -> tuple[int, int]:
    """Return the bytes of a number of packed spans, and how many spans there are."""
    width = blob[0] & ~_HAS_WORDS if blob else 0
    if width in _OWN_WIDTHS:
        size = 2 * width + (8 if blob[0] & _HAS_WORDS else 0)
        if (len(blob) - 1) % size == 0:
            return width, (len(blob) - 1) // size
    raise ValueError("the passages of a document are damaged")
