from __future__ import annotations

import numpy as np
import pytest

from simstore.errors import FilterFull, InvalidParameter
from simstore.search.cuckoo import (
    MOST_COPIES,
    MOST_TAG_BITS,
    CuckooTable,
    hash_words,
    member_hash,
    other_buckets,
    pack_slots,
    places_of,
    slot_type,
    tag_bits_for,
    unpack_slots,
)


def hashes_of(count: int, prefix: str = "k") -> list[bytes]:
    return [member_hash(f"{prefix}{number}".encode()) for number in range(count)]


def words_of(hashes: list[bytes]) -> np.ndarray:
    return hash_words(b"".join(hashes))


@pytest.mark.parametrize("rate", [0.03, 0.001, 1e-6])
def test_strangers_are_taken_for_members_no_more_often_than_asked(rate: float) -> None:
    table = CuckooTable.sized(20_000, rate)
    table.add_many(words_of(hashes_of(20_000)))
    strangers = 200_000
    wrong = int(table.contains_many(words_of(hashes_of(strangers, "s"))).sum())
    # Five standard deviations above what is promised.
    assert wrong <= strangers * rate + 5 * (strangers * rate) ** 0.5 + 1


@pytest.mark.parametrize("count", [1, 3, 4, 5, 37, 1_000, 50_000])
def test_a_table_takes_as_many_as_it_was_made_for(count: int) -> None:
    hashes = hashes_of(count)
    at_once, by_one = CuckooTable.sized(count, 0.001), CuckooTable.sized(count, 0.001)
    at_once.add_many(words_of(hashes))
    for one in hashes:
        by_one.add(one)
    for table in (at_once, by_one):
        assert len(table) == count
        assert table.contains_many(words_of(hashes)).all()
        assert all(one in table for one in hashes)
        assert len(table.slots) <= count / 0.95 + 24


def test_one_look_up_and_many_say_the_same() -> None:
    table = CuckooTable.sized(2_000, 0.03)
    table.add_many(words_of(hashes_of(2_000)))
    others = hashes_of(5_000, "s")
    many = table.contains_many(words_of(others)).tolist()
    assert many == [one in table for one in others]
    assert True in many


def test_both_buckets_lead_to_each_other() -> None:
    words = words_of(hashes_of(3_000))
    for buckets in (1, 2, 7, 64, 1_000_003, 1 << 32):
        tags, first, second = places_of(words, 13, buckets)
        assert (other_buckets(tags, second, buckets) == first).all()
        assert first.max() < buckets
        assert second.min() >= 0
        assert tags.min() >= 1
        assert tags.max() < 1 << 13


def test_places_of_one_and_of_many_are_the_same() -> None:
    hashes = hashes_of(500)
    for buckets, bits in ((1, 8), (17, 13), (99_991, 32)):
        table = CuckooTable(buckets, bits)
        many = zip(
            *(part.tolist() for part in places_of(words_of(hashes), bits, buckets)), strict=True
        )
        assert list(many) == [table._place(one) for one in hashes]


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


def test_many_that_would_fit_by_number_and_do_not_are_refused_as_a_whole() -> None:
    # All of one pair of buckets: eight slots for nine members.
    table = CuckooTable(64, 20)
    words = words_of(hashes_of(60_000))
    _, first, second = places_of(words, 20, 64)
    pair = [
        place
        for place in range(len(words))
        if {int(first[place]), int(second[place])} == {3, 5}
    ][:9]  # fmt: skip
    assert len(pair) == 9
    table.add_many(words[pair[:8]])
    before = table.slots.copy()
    with pytest.raises(FilterFull):
        table.add_many(words[pair[8:]])
    assert (table.slots == before).all()


@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_added_too_often_stays_and_takes_no_more_room(at_once: bool) -> None:
    table = CuckooTable.sized(100, 0.001)
    one = member_hash(b"again")
    if at_once:
        table.add_many(words_of([one] * 1_000))
    else:
        for _ in range(1_000):
            table.add(one)
    table.add_many(words_of([one] * 3))
    assert len(table) == MOST_COPIES
    for _ in range(1_000):
        assert not table.remove(one)
    assert one in table


def test_what_was_added_twice_is_in_until_it_was_removed_twice() -> None:
    table = CuckooTable.sized(100, 0.001)
    one = member_hash(b"twice")
    table.add_many(words_of([one, one]))
    assert table.remove(one)
    assert one in table
    assert table.remove(one)
    assert one not in table
    assert not table.remove(one)
    assert len(table) == 0


def test_the_same_members_make_the_same_table() -> None:
    words = words_of(hashes_of(10_000))
    first, second = (CuckooTable.sized(10_000, 0.01) for _ in range(2))
    first.add_many(words)
    second.add_many(words)
    assert (first.slots == second.slots).all()


@pytest.mark.parametrize("bits", [8, 9, 13, 16, 17, 31, 32])
def test_slots_come_back_from_their_bits(bits: int) -> None:
    chance = np.random.default_rng(bits)
    for count in (0, 4, 12, 300_004):
        slots = chance.integers(1 << bits, size=count).astype(slot_type(bits))
        packed = pack_slots(slots, bits)
        assert len(packed) == (count * bits + 7) // 8
        assert (unpack_slots(packed, bits, count) == slots).all()
        value = int.from_bytes(packed, "little")
        for place in range(0, count, 29_989):
            assert value >> place * bits & (1 << bits) - 1 == slots[place]


def test_tags_are_as_long_as_the_rate_needs() -> None:
    assert [tag_bits_for(rate) for rate in (0.5, 0.03, 0.01, 0.001, 1e-8)] == [8, 9, 10, 13, 30]
    for rate in (0, 1, -1, 2, float("nan"), 1e-12, 1e-308, 5e-324):
        with pytest.raises(InvalidParameter, match="false positive rate"):
            tag_bits_for(rate)
    least = 8 / ((1 << MOST_TAG_BITS) - 1)
    assert tag_bits_for(least) == MOST_TAG_BITS


def test_wrong_capacities_are_refused() -> None:
    for capacity in (-1, 1 << 40):
        with pytest.raises(InvalidParameter, match="capacity"):
            CuckooTable.sized(capacity, 0.001)
    assert member_hash(b"") not in CuckooTable.sized(0, 0.001)
