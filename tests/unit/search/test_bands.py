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


def test_a_page_holds_32_postings_or_some_more() -> None:
    for count, bits in ((0, 0), (31, 0), (63, 0), (64, 1), (127, 1), (128, 2), (1_000_000, 14)):
        assert key_bits(count) == bits, count
        assert count < 64 or 32 <= count / 2**bits < 64, count


def test_page_comes_back() -> None:
    for largest in (0, 255, 256, 65_536, (1 << 24) - 1, 1 << 32, 1 << 62):
        numbers = np.array([0, largest // 2, largest], np.int64)
        held = np.array([0, 255, 7], np.uint8)
        ((_, page),) = pages(held.astype(np.uint64), numbers, 3, 0)
        found_checks, found = unpack_page(page)
        assert found_checks.tolist() == held.tolist(), largest
        assert found.tolist() == numbers.tolist(), largest
        assert len(page) == 1 + 3 * (1 + max((largest.bit_length() + 7) // 8, 1)), largest


def test_damaged_page_is_told() -> None:
    for page in (b"", b"\x00", b"\x09", b"\x01\x02\x02", b"abc\x04"):
        with pytest.raises(ValueError, match="damaged"):
            unpack_page(page)


def test_every_posting_is_in_the_page_of_its_band() -> None:
    for bits in (0, 1, 5, 20):
        bands = drawn(200, 5, 60)
        numbers = np.arange(10, 210, dtype=np.int64)
        packed: dict[int, bytes] = {}
        for place in range(5):
            made = list(pages(bands[:, place], numbers, place, bits))
            assert [page for page, _ in made] == sorted({page for page, _ in made}), bits
            packed |= made
        wanted, expected = page_numbers(bands, bits), checks(bands)
        total = 0
        for row, number in enumerate(numbers.tolist()):
            for page, check in zip(wanted[row].tolist(), expected[row].tolist(), strict=True):
                held, held_numbers = unpack_page(packed[page])
                assert held[held_numbers == number].tolist() == [check], bits
        for postings in packed.values():
            total += len(unpack_page(postings)[0])
        assert total == 200 * 5, bits


def test_table_finds_what_agrees_in_a_band() -> None:
    for query_count in (0, 1, 7, 8, 40):
        bands = drawn(150, 6, 40)
        queries = np.concatenate((drawn(query_count, 6, 400, seed=2), bands[:2]))[:query_count]
        numbers = np.arange(150, dtype=np.int64) * 3
        found = BandTable(bands, numbers).candidates(queries)
        expected = [
            [
                number
                for number, row in zip(numbers.tolist(), bands, strict=True)
                if (row == q).any()
            ]
            for q in queries
        ]
        assert [one.tolist() for one in found] == expected, query_count


def test_all_pairs_that_agree_in_a_band(monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (0, 1, 2, 50):
        for kept in (0, 40, 1 << 22):
            monkeypatch.setattr(search_bands, "_KEPT_PAIRS", kept)
            bands = drawn(count, 4, 30)
            expected = [
                [i, j] for i, j in combinations(range(count), 2) if (bands[i] == bands[j]).any()
            ]
            assert colliding_pairs(bands).tolist() == expected, (count, kept)


def test_look_ups_at_once_find_what_each_finds_by_itself() -> None:
    for largest in (200, 70_000, 1 << 40):
        for bits in (0, 1, 5):
            for at_once in (500, 3):
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
                    some_asked, some_wanted = (
                        asked[start : start + at_once],
                        wanted[start : start + at_once],
                    )
                    for turns, some in matching_postings(held_pages, some_asked, some_wanted):
                        found.update(zip((start + turns).tolist(), some.tolist(), strict=True))
                expected: set[tuple[int, int]] = set()
                for turn, (page, check) in enumerate(
                    zip(asked.tolist(), wanted.tolist(), strict=True)
                ):
                    held, held_numbers = unpack_page(packed[names[page]])
                    expected |= {(turn, number) for number in held_numbers[held == check].tolist()}
                assert found == expected, (largest, bits, at_once)
                assert expected, (largest, bits, at_once)
