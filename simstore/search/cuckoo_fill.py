"""Many members of a cuckoo filter at a time, in arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

SLOTS = 4
MIX = 0x9E3779B97F4A7C15
# Members that are placed or looked up at a time.
_BLOCK = 1 << 18
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
