"""Keys by combinations of blocks miss nothing within the radius, whatever is chosen."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import to_integers, to_words
from simstore.search.block_keys import BlockKeys, block_keys


@st.composite
def near_fingerprints(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Return M, a radius below M, and two fingerprints that differ in at most so many bits."""
    bits = draw(st.integers(2, 128))
    radius = draw(st.integers(0, min(bits - 1, 9)))
    one = draw(st.integers(0, 2**bits - 1))
    flipped = draw(st.sets(st.integers(0, bits - 1), max_size=radius))
    return bits, radius, one, one ^ sum(1 << bit for bit in flipped)


@given(near_fingerprints(), st.integers(1, 10**12))
def test_fingerprints_within_the_radius_share_a_key_however_many_there_are(
    pair: tuple[int, int, int, int], count: int
) -> None:
    bits, radius, one, other = pair
    keys = block_keys(bits, radius, count)
    assert any(one & mask == other & mask for mask in keys.masks())


@given(near_fingerprints(), st.integers(1, 5))
def test_every_choice_of_blocks_finds_what_is_within_the_radius(
    pair: tuple[int, int, int, int], agreeing: int
) -> None:
    bits, radius, one, other = pair
    keys = BlockKeys(bits, radius + min(agreeing, bits - radius), min(agreeing, bits - radius))
    assert any(one & mask == other & mask for mask in keys.masks())


def test_some_pair_one_bit_beyond_the_radius_shares_no_key() -> None:
    keys = BlockKeys(64, 5, 2)
    blocks = BlockKeys(64, 5, 1).masks()
    # A bit in each of four blocks: a single block is the same, and a key has two.
    difference = sum(mask & -mask for mask in blocks[:4])
    assert not any(difference & mask == 0 for mask in keys.masks())


def test_blocks_cover_all_bits_and_differ_by_one_at_most() -> None:
    for bits in (64, 17, 128):
        blocks = BlockKeys(bits, 6, 1).masks()
        assert sum(blocks) == 2**bits - 1, bits
        widths = [mask.bit_count() for mask in blocks]
        assert max(widths) - min(widths) <= 1, bits
        assert not any(one & other for one, other in combinations(blocks, 2)), bits


def test_more_fingerprints_ask_for_longer_keys() -> None:
    chosen = [block_keys(64, 3, 10**power) for power in (4, 6, 8, 10)]
    lengths = [min(mask.bit_count() for mask in keys.masks()) for keys in chosen]
    assert lengths == sorted(lengths)
    assert lengths[0] == 16
    assert lengths[-1] >= 30


def test_combinations_that_the_design_names() -> None:
    assert BlockKeys(64, 5, 2).count == 10
    assert BlockKeys(64, 6, 3).count == 20
    # The arithmetic: 3e13 random meetings at 1e9 by four keys of 16 bits, 2.3e9 by twenty of 32.
    assert BlockKeys(64, 4, 1).meetings(10**9) == pytest.approx(3.05e13, rel=0.01)
    assert BlockKeys(64, 6, 3).meetings(10**9) == pytest.approx(2.4e9, rel=0.1)


def test_a_radius_of_all_bits_puts_all_under_one_key() -> None:
    assert block_keys(8, 8, 100).masks() == [0]


def test_a_radius_beyond_the_bits_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        block_keys(8, 9, 100)


@given(near_fingerprints(), st.integers(1, 10**6))
def test_masks_in_words_choose_the_same_bits_of_fingerprints_in_words(
    pair: tuple[int, int, int, int], count: int
) -> None:
    bits, radius, one, _ = pair
    keys = block_keys(bits, radius, count)
    chosen = to_words([one], bits) & keys.mask_words()
    assert to_integers(chosen) == [one & mask for mask in keys.masks()]
