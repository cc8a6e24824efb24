from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from simstore.search import bands as search_bands
from simstore.search.bands import (
    BandTable,
    checks,
    colliding_pairs,
    key_bits,
    matching_postings,
    page_numbers,
    pages,
    unpack_page,
)


def drawn(count: int, bands: int, values: int, seed: int = 1) -> np.ndarray:
    """Return band hashes of which many agree."""
    source = np.random.default_rng(seed)
    pool = source.integers(0, 1 << 64, values, dtype=np.uint64, endpoint=False)
    return pool[source.integers(0, values, (count, bands))]


@pytest.mark.parametrize(
    ("count", "bits"), [(0, 0), (31, 0), (63, 0), (64, 1), (127, 1), (128, 2), (1_000_000, 14)]
)
def test_a_page_holds_32_postings_or_some_more(count: int, bits: int) -> None:
    assert key_bits(count) == bits
    assert count < 64 or 32 <= count / 2**bits < 64


@pytest.mark.parametrize("largest", [0, 255, 256, 65_536, (1 << 24) - 1, 1 << 32, 1 << 62])
def test_page_comes_back(largest: int) -> None:
    numbers = np.array([0, largest // 2, largest], np.int64)
    held = np.array([0, 255, 7], np.uint8)
    ((_, page),) = pages(held.astype(np.uint64), numbers, 3, 0)
    found_checks, found = unpack_page(page)
    assert found_checks.tolist() == held.tolist()
    assert found.tolist() == numbers.tolist()
    assert len(page) == 1 + 3 * (1 + max((largest.bit_length() + 7) // 8, 1))


def test_empty_page_comes_back() -> None:
    found_checks, found = unpack_page(b"\x01")
    assert (len(found_checks), len(found)) == (0, 0)


@pytest.mark.parametrize("page", [b"", b"\x00", b"\x09", b"\x01\x02\x02", b"abc\x04"])
def test_damaged_page_is_told(page: bytes) -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack_page(page)


@pytest.mark.parametrize("bits", [0, 1, 5, 20])
def test_every_posting_is_in_the_page_of_its_band(bits: int) -> None:
    bands = drawn(200, 5, 60)
    numbers = np.arange(10, 210, dtype=np.int64)
    packed: dict[int, bytes] = {}
    for place in range(5):
        made = list(pages(bands[:, place], numbers, place, bits))
        assert [page for page, _ in made] == sorted({page for page, _ in made})
        packed |= made
    wanted, expected = page_numbers(bands, bits), checks(bands)
    total = 0
    for row, number in enumerate(numbers.tolist()):
        for page, check in zip(wanted[row].tolist(), expected[row].tolist(), strict=True):
            held, held_numbers = unpack_page(packed[page])
            assert held[held_numbers == number].tolist() == [check]
    for postings in packed.values():
        total += len(unpack_page(postings)[0])
    assert total == 200 * 5


def test_no_sketches_make_no_pages() -> None:
    assert list(pages(np.empty(0, np.uint64), np.empty(0, np.int64), 3, 0)) == []


@pytest.mark.parametrize("query_count", [0, 1, 7, 8, 40])
def test_table_finds_what_agrees_in_a_band(query_count: int) -> None:
    bands = drawn(150, 6, 40)
    queries = np.concatenate((drawn(query_count, 6, 400, seed=2), bands[:2]))[:query_count]
    numbers = np.arange(150, dtype=np.int64) * 3
    found = BandTable(bands, numbers).candidates(queries)
    expected = [
        [number for number, row in zip(numbers.tolist(), bands, strict=True) if (row == q).any()]
        for q in queries
    ]
    assert [one.tolist() for one in found] == expected


def test_empty_table_finds_nothing() -> None:
    table = BandTable(np.empty((0, 6), np.uint64), np.empty(0, np.int64))
    assert [len(one) for one in table.candidates(drawn(9, 6, 3))] == [0] * 9


@pytest.mark.parametrize("kept", [0, 40, 1 << 22])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_all_pairs_that_agree_in_a_band(
    count: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_bands, "_KEPT_PAIRS", kept)
    bands = drawn(count, 4, 30)
    expected = [[i, j] for i, j in combinations(range(count), 2) if (bands[i] == bands[j]).any()]
    assert colliding_pairs(bands).tolist() == expected


@pytest.mark.parametrize("at_once", [500, 3])
@pytest.mark.parametrize("bits", [0, 1, 5])
@pytest.mark.parametrize("largest", [200, 70_000, 1 << 40])
def test_look_ups_at_once_find_what_each_finds_by_itself(
    bits: int, largest: int, at_once: int
) -> None:
    bands = drawn(300, 4, 40)
    numbers = np.linspace(0, largest, 300).astype(np.int64)
    packed: dict[int, bytes] = {}
    for place in range(4):
        packed |= pages(bands[:, place], numbers, place, bits)
    packed[1 << 60] = b"\x01"  # no postings, their numbers of one byte
    names = sorted(packed)
    source = np.random.default_rng(2)
    asked = source.integers(0, len(names), 500)
    wanted = source.choice(checks(bands).ravel(), 500)
    found: set[tuple[int, int]] = set()
    held_pages = [packed[name] for name in names]
    for start in range(0, len(asked), at_once):
        some_asked, some_wanted = asked[start : start + at_once], wanted[start : start + at_once]
        for turns, some in matching_postings(held_pages, some_asked, some_wanted):
            found.update(zip((start + turns).tolist(), some.tolist(), strict=True))
    expected: set[tuple[int, int]] = set()
    for turn, (page, check) in enumerate(zip(asked.tolist(), wanted.tolist(), strict=True)):
        held, held_numbers = unpack_page(packed[names[page]])
        expected |= {(turn, number) for number in held_numbers[held == check].tolist()}
    assert found == expected
    assert expected


@pytest.mark.parametrize("page", [b"", b"\x00", b"\x09", b"\x01\x02\x02", b"abc\x04"])
def test_damaged_page_among_many_is_told(page: bytes) -> None:
    good = b"\x01\x07\x01"
    with pytest.raises(ValueError, match="damaged"):
        list(matching_postings([good, page], np.array([0]), np.array([1], np.uint8)))


def test_no_look_ups_find_nothing() -> None:
    assert list(matching_postings([], np.empty(0, np.int64), np.empty(0, np.uint8))) == []
