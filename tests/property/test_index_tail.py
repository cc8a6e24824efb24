"""Entries in memory are found as a plain list of them says, however they came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.index import tail
from simstore.index.pages import Entries
from simstore.index.tail import Tail

# Few keys, so that many agree.
KEYS = st.integers(0, 12).map(lambda key: key << 60 | key)
BATCHES = st.lists(st.lists(st.lists(KEYS, max_size=4), max_size=4), max_size=10)


def entries(batch: list[tuple[int, list[int]]]) -> Entries:
    pairs = [(key, number) for number, keys in batch for key in keys]
    keys = np.array([key for key, _ in pairs], np.uint64)
    return Entries(keys, np.array([number for _, number in pairs], np.uint64).reshape(-1, 1))


def found(one: Tail, asked: list[int]) -> list[tuple[int, int]]:
    turns, held = one.look_up(np.array(asked, np.uint64))
    keys = held.keys.tolist()
    assert keys == [asked[turn] for turn in turns.tolist()]
    return sorted(zip(turns.tolist(), held.values[:, 0].tolist(), strict=True))


@given(BATCHES, st.lists(KEYS, max_size=5), st.sampled_from([0, 3, 8_192]), st.data())
def test_tail_finds_what_a_plain_list_holds(
    batches: list[list[list[int]]], asked: list[int], small: int, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "_SMALL_ENTRIES", small)
        grown, held, states = Tail(), [], [(Tail(), 0)]
        for batch in batches:
            numbered = list(enumerate(batch, len(held) + 1))
            held += numbered
            grown = grown.extended(entries(numbered), len(held))
            states.append((grown, len(held)))
        # Those of before stay as they were.
        for one, count in states:
            assert one.last == count
            assert len(one) == sum(len(keys) for _, keys in held[:count])
            assert found(one, asked) == sorted(
                (turn, number)
                for turn, key in enumerate(asked)
                for number, keys in held[:count]
                for own in keys
                if own == key
            )
        number = data.draw(st.integers(0, len(held) + 1))
        above = grown.above(number)
        assert (above.after, above.last) == (number, max(number, len(held)))
        assert found(above, asked) == [one for one in found(grown, asked) if one[1] > number]


def test_parts_are_few_however_many_come_one_by_one() -> None:
    one = Tail()
    keys = np.random.default_rng(5).integers(0, 2**63, (3_000, 40)).astype(np.uint64)
    for number, row in enumerate(keys, 1):
        one = one.extended(Entries(row, np.full((40, 1), number, np.uint64)), number)
    assert len(one._parts) <= 5
    assert found(one, keys[::97, 0].tolist()) == list(enumerate(range(1, 3_001, 97)))
