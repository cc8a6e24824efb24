"""The filter of check bits lets through all that a page carries, and little else."""

from __future__ import annotations

import numpy as np
import pytest

from simstore.search.bands import (
    BandFilter,
    checks,
    key_bits,
    matching_postings,
    page_numbers,
    pages,
    pages_of_one,
    postings_of_one,
    unpack_page,
)

BANDS = 3


def filled(count: int) -> tuple[BandFilter, dict[int, bytes], np.ndarray, int]:
    hashes = np.random.default_rng(count).integers(0, 2**64, (count, BANDS), np.uint64)
    bits = key_bits(count)
    made = BandFilter(BANDS, bits)
    held: dict[int, bytes] = {}
    for place in range(BANDS):
        of_band = dict(pages(hashes[:, place], np.arange(count), place, bits))
        made.add(place, of_band.items())
        held |= of_band
    return made, held, hashes, bits


def test_exactly_the_check_bits_of_pages_pass() -> None:
    for count in (1, 40, 5_000):
        made, held, hashes, bits = filled(count)
        assert made.may_hold(page_numbers(hashes, bits), checks(hashes)).all(), count
        for number, page in held.items():
            carried = set(unpack_page(page)[0].tolist())
            asked = np.arange(256, dtype=np.uint8)
            passing = made.may_hold(np.full(256, number), asked)
            assert set(asked[passing].tolist()) == carried, count


def test_nothing_passes_a_filter_without_pages() -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, (50, BANDS), np.uint64)
    made = BandFilter(BANDS, 4)
    made.add(0, [])
    made.add(1, [])
    passing = made.may_hold(page_numbers(hashes, 4), checks(hashes))
    assert not passing[:, :2].any()
    assert passing[:, 2].all(), "of a band that was not added nothing is known"


def test_a_damaged_page_is_refused() -> None:
    for page in (b"", b"\0", b"\1\2\3\4\5\x09", b"\1\2\3\4\2"):
        with pytest.raises(ValueError, match="damaged"):
            BandFilter(BANDS, 0).add(0, [(0, page)])


def test_pages_of_one_sketch_pass_as_those_of_many() -> None:
    for count in (1, 40, 5_000):
        made, held, hashes, bits = filled(count)
        others = np.random.default_rng(count + 1).integers(0, 2**64, (60, BANDS), np.uint64)
        for one in np.concatenate((hashes[:20], others)):
            numbers, wanted = page_numbers(one[None], bits)[0], checks(one)
            asked = pages_of_one(one.tolist(), bits)
            assert asked == dict(zip(numbers.tolist(), wanted.tolist(), strict=True)), count
            passing = made.may_hold(numbers, wanted)
            assert list(made.passing(asked)) == numbers[passing].tolist(), count
            there = {number: held[number] for number in asked if number in held}
            looked_up = [list(there).index(number) for number in there]
            carried = [wanted[numbers == number][0] for number in there]
            found = matching_postings(
                list(there.values()), np.array(looked_up, np.int64), np.array(carried, np.uint8)
            )
            expected = [number for _, some in found for number in some.tolist()]
            assert postings_of_one(there, asked) == expected, count
        part = BandFilter(BANDS, bits)
        part.add(0, [])
        assert list(part.passing({0: 3, 1 << 40: 3})) == [1 << 40], (
            "of other bands nothing is known"
        )
        with pytest.raises(ValueError, match="damaged"):
            postings_of_one({0: b"\1\2\3\4\5\x09"}, {0: 1})
