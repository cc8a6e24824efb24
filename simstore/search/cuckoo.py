"""Cuckoo filter: an approximate set with removals, in a few bits per member.

Of each member a short tag is kept, in one of two buckets of four slots. Both buckets follow from
either and the tag, so that a tag can make room by moving to its other bucket. Here they add up to
a number that depends on the tag, modulo the number of buckets, which need be no power of two; the
paper takes their exclusive or.

References:
    Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo filter: practically better than Bloom,
    CoNEXT 2014, sections 3 and 4 (partial-key cuckoo hashing) and 5.1 (false positives).
"""

from __future__ import annotations

import hashlib
from math import ceil, log2
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simstore.errors import FilterFull, InvalidParameter

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


SLOTS = 4
MIX = 0x9E3779B97F4A7C15
_MOST_ROUNDS = 5_000
_LOW = np.uint64(0xFFFFFFFF)

Slots: TypeAlias = NDArray[np.unsignedinteger]
Numbers: TypeAlias = NDArray[np.int64]


def places_of(
    hashes: NDArray[np.uint64], tag_bits: int, buckets: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Return tag, first and second bucket of members.

    The first bucket is the first number of the hash modulo the buckets; the tag is the low half of
    the second modulo 2**tag_bits - 1, plus 1; the second bucket is the high half of the tag times
    0x9E3779B97F4A7C15 (modulo 2**64), less the first bucket, modulo the buckets.

    Args:
        hashes: Each as two numbers, shape (hashes, 2).
        tag_bits: Length of a tag.
        buckets: Number of buckets.

    Returns:
        int64, shape (hashes,) each.
    """
    first = (hashes[:, 0] % np.uint64(buckets)).astype(np.int64)
    tags = ((hashes[:, 1] & _LOW) % np.uint64((1 << tag_bits) - 1)).astype(np.int64) + 1
    return tags, first, other_buckets(tags, first, buckets)


def other_buckets(tags: Numbers, bucket: Numbers, buckets: int) -> Numbers:
    """Return the other bucket of each tag; that of the other bucket is the one again."""
    mixed = tags.astype(np.uint64) * np.uint64(MIX) >> np.uint64(32)
    return (mixed.astype(np.int64) - bucket) % buckets


def contained(slots: Slots, tag_bits: int, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return whether one of the buckets of each member holds its tag."""
    rows = slots.reshape(-1, SLOTS)
    found = np.empty(len(hashes), np.bool_)
    for start in range(0, len(hashes), _BLOCK):
        part = slice(start, start + _BLOCK)
        tags, first, second = places_of(hashes[part], tag_bits, len(rows))
        found[part] = (_holding(rows, tags, first) | _holding(rows, tags, second)).any(axis=1)
    return found


def _holding(rows: Slots, tags: Numbers, bucket: Numbers) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = rows[bucket] == tags[:, None]
    return same


def without_spare_copies(
    slots: Slots, tag_bits: int, tags: Numbers, first: Numbers, second: Numbers, most: int
) -> Numbers:
    """Return which of the members to add, so that no tag is in its two buckets too often.

    Args:
        slots: The table.
        tag_bits: Length of a tag.
        tags: Tag of each member.
        first: One of its buckets.
        second: The other one.
        most: Copies of a tag in its two buckets, those that are there counted.

    Returns:
        Places of members, int64.
    """
    if not len(tags):
        return np.empty(0, np.int64)
    rows = slots.reshape(-1, SLOTS)
    lower = np.minimum(first, second)
    same = lower.astype(np.uint64) << np.uint64(tag_bits) | tags.astype(np.uint64)
    order = np.argsort(same, kind="stable")
    rank = _ranks(same[order])
    if slots.any():
        for start in range(0, len(tags), _BLOCK):
            part = order[start : start + _BLOCK]
            held = _holding(rows, tags[part], first[part]).sum(axis=1)
            apart = first[part] != second[part]
            held += _holding(rows, tags[part], second[part]).sum(axis=1) * apart
            rank[start : start + _BLOCK] += held
    kept: Numbers = np.sort(order[rank < most])
    return kept


def filled(slots: Slots, tags: Numbers, first: Numbers, second: Numbers) -> Slots | None:
    """Return a table with members added; None where they do not fit.

    Args:
        slots: The table as it is; it is not changed.
        tags: Tag of each member.
        first: One of its buckets.
        second: The other one.
    """
    slots = slots.copy()
    rows = slots.reshape(-1, SLOTS)
    homeless = []
    for start in range(0, len(tags), _BLOCK):
        part = slice(start, start + _BLOCK)
        left = start + _put(rows, tags[part], first[part])
        homeless.append(left[_put(rows, tags[left], second[left])])
    left = np.concatenate([np.empty(0, np.int64), *homeless])
    return slots if _move(rows, tags[left], second[left]) else None


def _put(rows: Slots, tags: Numbers, bucket: Numbers) -> Numbers:
    """Put tags into free slots of their buckets; return the places of those that found none."""
    order = np.argsort(bucket, kind="stable")
    wanted = bucket[order]
    free = rows[wanted] == 0
    # Of the members with one bucket the first takes its first free slot, and so on.
    chosen = free & (np.cumsum(free, axis=1) == _ranks(wanted)[:, None] + 1)
    placed = chosen.any(axis=1)
    slot = chosen.argmax(axis=1)
    rows[wanted[placed], slot[placed]] = tags[order[placed]]
    left: Numbers = np.sort(order[~placed])
    return left


def _move(rows: Slots, tags: Numbers, bucket: Numbers) -> bool:
    """Put tags into full buckets by moving others to their other buckets; return whether it went.

    In each round the tags of a bucket change places with as many of those in it, up to all four;
    what was in goes to its other bucket.
    """
    # The same table for the same members.
    chance = np.random.Generator(np.random.PCG64(0))
    for _ in range(_MOST_ROUNDS):
        if not len(tags):
            return True
        order = np.argsort(bucket, kind="stable")
        tags, bucket = tags[order], bucket[order]
        rank = _ranks(bucket)
        moving = np.flatnonzero(rank < SLOTS)
        slot = (rank[moving] + bucket[moving] + chance.integers(SLOTS)) % SLOTS
        out = rows[bucket[moving], slot].astype(np.int64)
        rows[bucket[moving], slot] = tags[moving]
        tags[moving] = out
        bucket[moving] = other_buckets(out, bucket[moving], len(rows))
        left = _put(rows, tags, bucket)
        tags, bucket = tags[left], bucket[left]
    return False


def _ranks(ordered: NDArray[np.int64] | NDArray[np.uint64]) -> Numbers:
    """Return, for each of a sorted array, how many equal ones stand before it."""
    place = np.arange(len(ordered))
    starts = np.empty(len(ordered), np.bool_)
    starts[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    ranks: Numbers = place - np.maximum.accumulate(np.where(starts, place, 0))
    return ranks


HASH_BYTES = 16
LEAST_TAG_BITS, MOST_TAG_BITS = 8, 32
MOST_BUCKETS = 1 << 32
# What was added so often stays for good: how often it is in cannot be told any more.
MOST_COPIES = SLOTS
_WORD = (1 << 64) - 1
# Fuller tables take long to fill, or cannot be filled.
_FULLEST = 0.95
_MOST_MOVES = 2_000


def member_hash(data: bytes) -> bytes:
    """Return the hash by which a table knows a member: its BLAKE2b-128."""
    return hashlib.blake2b(data, digest_size=HASH_BYTES).digest()


def tag_bits_for(false_positive_rate: float) -> int:
    """Return how long tags have to be.

    A stranger is compared with the tags of two buckets, so it is taken for a member with a
    probability of at most eight by the number of tags.

    Args:
        false_positive_rate: Above 0, below 1.

    Raises:
        InvalidParameter: It is out of its range, or would need tags of more than 32 bits.
    """
    if not 0 < false_positive_rate < 1:
        raise InvalidParameter(
            f"false positive rate {false_positive_rate:g}: it must be above 0 and below 1"
        )
    least = 2 * SLOTS / ((1 << MOST_TAG_BITS) - 1)
    if false_positive_rate < least:
        raise InvalidParameter(
            f"false positive rate {false_positive_rate:g}: the least there is, is {least:.2g}"
        )
    return max(LEAST_TAG_BITS, ceil(log2(2 * SLOTS / false_positive_rate + 1)))


class CuckooTable:
    """Tags in buckets: a bag of members, by their hashes.

    Each addition wants a removal of its own; what was added four times is in for good. To remove
    what was never added may remove a member that has the same tag.

    Attributes:
        buckets: Number of buckets, of four slots each.
        tag_bits: Length of a tag.
        slots: The tags, bucket after bucket, shape (4 * buckets,); 0 is a free slot.
    """

    def __init__(self, buckets: int, tag_bits: int, slots: Slots | None = None) -> None:
        """Make a table.

        Args:
            buckets: 1 to 2**32.
            tag_bits: 8 to 32.
            slots: Its content, of :func:`simstore.search.cuckoo.slot_type`; None: nothing.
        """
        self.buckets = buckets
        self.tag_bits = tag_bits
        self._take(np.zeros(SLOTS * buckets, slot_type(tag_bits)) if slots is None else slots)

    def _take(self, slots: Slots) -> None:
        self.slots = slots
        # One slot is read far faster through it.
        self._view: memoryview[int] = memoryview(slots)  # type: ignore[arg-type]
        self._count = int(np.count_nonzero(slots))

    @classmethod
    def sized(cls, capacity: int, false_positive_rate: float) -> Self:
        """Return an empty table.

        Args:
            capacity: Members that it has room for, from 0.
            false_positive_rate: Largest share of strangers that are taken for members, above 0,
                below 1.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        bits = tag_bits_for(false_positive_rate)
        # Buckets of a small table are not filled as evenly.
        buckets = max(ceil(capacity / (SLOTS * _FULLEST)), ceil(capacity / SLOTS) + SLOTS)
        if capacity < 0 or buckets > MOST_BUCKETS:
            raise InvalidParameter(
                f"capacity {capacity:,}: a filter takes 0 to 16 thousand million"
            )
        return cls(buckets, bits)

    def __len__(self) -> int:
        """Return the number of stored tags."""
        return self._count

    def __contains__(self, hashed: bytes) -> bool:
        """Return whether a member may have this hash of 16 bytes."""
        tag, first, second = self._place(hashed)
        view, a, b = self._view, SLOTS * first, SLOTS * second
        return (
            view[a] == tag or view[a + 1] == tag or view[a + 2] == tag or view[a + 3] == tag
            or view[b] == tag or view[b + 1] == tag or view[b + 2] == tag or view[b + 3] == tag
        )  # fmt: skip

    def contains_many(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return whether members may have these hashes.

        Args:
            hashes: Each as two numbers, little-endian, shape (hashes, 2).

        Returns:
            bool, shape (hashes,).
        """
        return contained(self.slots, self.tag_bits, hashes)

    def add(self, hashed: bytes) -> None:
        """Add a member by its hash of 16 bytes.

        Raises:
            FilterFull: There is no room; the table is as before.
        """
        tag, bucket, other = self._place(hashed)
        if len(self._copies(tag, bucket, other)) >= MOST_COPIES:
            return
        if self._put(tag, other) or self._put(tag, bucket):
            return
        view = self._view
        moved: list[tuple[int, int]] = []
        for turn in range(_MOST_MOVES):
            # A walk that looks random and is the same each time.
            place = SLOTS * bucket + ((turn + tag) * 0x9E3779B1 >> 29) % SLOTS
            moved.append((place, view[place]))
            tag, view[place] = view[place], tag
            bucket = self._other(tag, bucket)
            if self._put(tag, bucket):
                return
        for place, before in reversed(moved):
            view[place] = before
        raise FilterFull(self._count, len(self.slots))

    def add_many(self, hashes: NDArray[np.uint64]) -> None:
        """Add members by their hashes, all or none.

        Args:
            hashes: As for :meth:`contains_many`; those that occur several times count as often.

        Raises:
            FilterFull: There is no room; the table is as before.
        """
        tags, first, second = places_of(hashes, self.tag_bits, self.buckets)
        fresh = without_spare_copies(self.slots, self.tag_bits, tags, first, second, MOST_COPIES)
        if self._count + len(fresh) > len(self.slots):
            raise FilterFull(self._count, len(self.slots))
        slots = filled(self.slots, tags[fresh], first[fresh], second[fresh])
        if slots is None:
            raise FilterFull(self._count, len(self.slots))
        self._take(slots)

    def remove(self, hashed: bytes) -> bool:
        """Take back one addition of a member; return whether that was done.

        It is not where nothing like it is in, or it was added so often that it stays for good.
        """
        tag, first, second = self._place(hashed)
        copies = self._copies(tag, first, second)
        if not 0 < len(copies) < MOST_COPIES:
            return False
        self._view[copies[-1]] = 0
        self._count -= 1
        return True

    def _place(self, hashed: bytes) -> tuple[int, int, int]:
        """Return the tag of a member and its two buckets, as :func:`places_of` does."""
        first = int.from_bytes(hashed[:8], "little") % self.buckets
        tag = int.from_bytes(hashed[8:12], "little") % ((1 << self.tag_bits) - 1) + 1
        return tag, first, self._other(tag, first)

    def _other(self, tag: int, bucket: int) -> int:
        return (((tag * MIX & _WORD) >> 32) - bucket) % self.buckets

    def _copies(self, tag: int, first: int, second: int) -> list[int]:
        """Return the slots of a member that hold its tag."""
        view = self._view
        places = [SLOTS * bucket + slot for bucket in {first, second} for slot in range(SLOTS)]
        return [place for place in places if view[place] == tag]

    def _put(self, tag: int, bucket: int) -> bool:
        """Put a tag into a free slot of a bucket; return whether there was one."""
        view = self._view
        for place in range(SLOTS * bucket, SLOTS * bucket + SLOTS):
            if not view[place]:
                view[place] = tag
                self._count += 1
                return True
        return False
