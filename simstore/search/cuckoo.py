"""A set in a few bits a member, with removals: a cuckoo filter.

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
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simstore.errors import FilterFull, InvalidParameter
from simstore.search.cuckoo_fill import (
    MIX,
    SLOTS,
    Slots,
    contained,
    filled,
    places_of,
    without_spare_copies,
)
from simstore.search.cuckoo_slots import slot_type

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
            slots: Its content, of :func:`simstore.search.cuckoo_slots.slot_type`; None: nothing.
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
        """Return the number of tags that are kept."""
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
