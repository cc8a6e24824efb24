from __future__ import annotations

import numpy as np
import pytest

from simstore.errors import FilterFull
from simstore.search.cuckoo import (
    MOST_COPIES,
    CuckooTable,
    hash_words,
    member_hash,
    pack_slots,
    slot_type,
    unpack_slots,
)


def hashes_of(count: int, prefix: str = "k") -> list[bytes]:
    return [member_hash(f"{prefix}{number}".encode()) for number in range(count)]


def words_of(hashes: list[bytes]) -> np.ndarray:
    return hash_words(b"".join(hashes))


def test_strangers_are_taken_for_members_no_more_often_than_asked() -> None:
    for rate in (0.03, 0.001, 1e-6):
        table = CuckooTable.sized(20_000, rate)
        table.add_many(words_of(hashes_of(20_000)))
        strangers = 200_000
        wrong = int(table.contains_many(words_of(hashes_of(strangers, "s"))).sum())
        # Five standard deviations above what is promised.
        assert wrong <= strangers * rate + 5 * (strangers * rate) ** 0.5 + 1, rate


def test_a_table_takes_as_many_as_it_was_made_for() -> None:
    for count in (1, 3, 4, 5, 37, 1_000, 50_000):
        hashes = hashes_of(count)
        at_once, by_one = CuckooTable.sized(count, 0.001), CuckooTable.sized(count, 0.001)
        at_once.add_many(words_of(hashes))
        for one in hashes:
            by_one.add(one)
        for table in (at_once, by_one):
            assert len(table) == count, count
            assert table.contains_many(words_of(hashes)).all(), count
            assert all(one in table for one in hashes), count
            assert len(table.slots) <= count / 0.95 + 24, count


def test_a_full_table_says_so_and_stays_as_it_is() -> None:
    table = CuckooTable(2, 16)
    hashes = hashes_of(100)
    taken = []
    for one in hashes:
        before = table.slots.copy()
        try:
            table.add(one)
            taken.append(one)
        except FilterFull:
            assert (table.slots == before).all()
    assert 6 <= len(taken) <= 8
    assert all(one in table for one in taken)
    before = table.slots.copy()
    with pytest.raises(FilterFull, match="capacity="):
        table.add_many(words_of(hashes[:40]))
    assert (table.slots == before).all()


def test_what_was_added_too_often_stays_and_takes_no_more_room() -> None:
    for at_once in (True, False):
        table = CuckooTable.sized(100, 0.001)
        one = member_hash(b"again")
        if at_once:
            table.add_many(words_of([one] * 1_000))
        else:
            for _ in range(1_000):
                table.add(one)
        table.add_many(words_of([one] * 3))
        assert len(table) == MOST_COPIES, at_once
        for _ in range(1_000):
            assert not table.remove(one), at_once
        assert one in table, at_once


def test_slots_come_back_from_their_bits() -> None:
    for bits in (8, 9, 13, 16, 17, 31, 32):
        chance = np.random.default_rng(bits)
        for count in (0, 4, 12, 300_004):
            slots = chance.integers(1 << bits, size=count).astype(slot_type(bits))
            packed = pack_slots(slots, bits)
            assert len(packed) == (count * bits + 7) // 8, bits
            assert (unpack_slots(packed, bits, count) == slots).all(), bits
            value = int.from_bytes(packed, "little")
            for place in range(0, count, 29_989):
                assert value >> place * bits & (1 << bits) - 1 == slots[place], bits
