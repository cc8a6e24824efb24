"""Pages give back what was packed, and their filter keeps what is within the radius."""

from __future__ import annotations

import random

import numpy as np
import oracle
import pytest

from simstore.fingerprint.simhash import to_integers, to_words
from simstore.search import pages
from simstore.search.segments import segment_columns, segment_values

BOTH = pytest.mark.parametrize("bits", [64, 128])


def drawn(bits: int, count: int, seed: int = 1) -> list[int]:
    source = random.Random(seed)
    few = [1 << source.randrange(bits) for _ in range(5)]
    return sorted({0, (1 << bits) - 1, *few, *(source.getrandbits(bits) for _ in range(count))})


@BOTH
def test_rotation_brings_a_segment_to_the_front_and_back(bits: int) -> None:
    values = drawn(bits, 50)
    words = to_words(values, bits)
    for segment in range(bits // 16):
        turned = pages.rotated(words, segment)
        leads = [segment_values(value, bits)[segment] for value in values]
        assert pages.leading_values(turned).tolist() == leads
        assert to_integers(turned) == [pages.rotations(v, bits)[segment] for v in values]
        assert to_integers(pages.restored(turned, segment)) == values


@pytest.mark.slow
@BOTH
def test_pages_give_back_what_was_packed_in_its_order(bits: int) -> None:
    for segment in range(bits // 16):
        turned = pages.distinct(pages.rotated(to_words(drawn(bits, 3_000), bits), segment))
        numbers, packed = pages.pack(turned)
        assert (np.diff(numbers) > 0).all()
        assert all(len(row) % pages.record_bytes(bits) == 0 and row for row in packed)
        assert to_integers(pages.unpack(numbers, packed, bits)) == to_integers(turned)
        lengths = pages.row_lengths(packed, bits).tolist()
        leads = pages.leading_values(turned).tolist()
        assert lengths == [leads.count(number >> 12) for number in numbers.tolist()]


@BOTH
def test_long_pages_are_cut_into_rows_that_fill_a_leaf(bits: int) -> None:
    size = pages.record_bytes(bits)
    most, unit = pages.ROW_BYTES // size, pages.ROW_UNIT_BYTES // size
    assert most * size == pages.ROW_BYTES
    assert unit * size == pages.ROW_UNIT_BYTES
    # A row's cell: header of 4 bytes, 2 of length, up to 9 of number, 2 of pointer; leaf: 8,184.
    assert 4 * (pages.ROW_BYTES + 17) <= 8_184
    # PostgreSQL's: header of 24, number of 8, 4 of length; what is above 2,032 it keeps elsewhere.
    assert pages.ROW_BYTES + 36 <= 2_032
    low = bits - 16
    values = [
        lead << low | rest
        for lead, count in ((3, most), (7, most + 1), (9, 3 * most), (0xFFFF, 1))
        for rest in range(count)
    ]
    words = to_words(values, bits)
    numbers, packed = pages.pack(words)
    assert [divmod(number, pages.ROW_NUMBERS) for number in numbers.tolist()] == [
        (3, 0), (7, 0), (7, 1), (9, 0), (9, 1), (9, 2), (0xFFFF, 0),
    ]  # fmt: skip
    half = -(-(most + 1) // (2 * unit)) * unit
    lengths = [most, half, most + 1 - half, most, most, most, 1]
    assert [len(row) // size for row in packed] == lengths
    assert to_integers(pages.unpack(numbers, packed, bits)) == values
    query = 7 << low | most
    held = [(pages.row_number(0) | number, row) for number, row in
            zip(numbers.tolist(), packed, strict=True)]  # fmt: skip
    found, compared = pages.near(held, pages.rotations(query, bits), bits, 0)
    assert (found, compared) == ([query], len(values))


def test_page_of_more_rows_than_have_numbers_has_longer_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "ROWS_PER_PAGE", 3)
    monkeypatch.setattr(pages, "ROW_BYTES", 12)
    monkeypatch.setattr(pages, "ROW_UNIT_BYTES", 12)
    values = [*range(20), *((5 << 48) + n for n in range(5))]
    numbers, packed = pages.pack(to_words(values, 64))
    assert [number % 4096 for number in numbers.tolist()] == [0, 1, 2, 0, 1, 2]
    assert [len(row) // 6 for row in packed] == [8, 8, 4, 2, 2, 1]
    assert to_integers(pages.unpack(numbers, packed, 64)) == values


@BOTH
def test_page_holds_its_records_and_no_others(bits: int) -> None:
    # Few distinct bytes, so that records occur across the bounds of others.
    source = random.Random(bits)
    lead = 7 << (bits - 16)
    values = {
        lead | int.from_bytes(source.choices([0, 1], k=bits // 8 - 2), "big") for _ in range(400)
    }
    stored, others = sorted(values)[::2], sorted(values)[1::2]
    _, rows = pages.pack(to_words(stored, bits))
    for record in pages.records_of(to_words(stored, bits)):
        assert sum(pages.holds(row, record) for row in rows) == 1
    apart = pages.records_of(to_words(others, bits))
    assert any(record in row for row in rows for record in apart)
    assert not any(pages.holds(row, record) for row in rows for record in apart)


@BOTH
def test_damaged_page_is_told(bits: int) -> None:
    values, packed = pages.pack(to_words([5], bits))
    with pytest.raises(ValueError, match="damaged"):
        pages.unpack(values, [packed[0] + b"x"], bits)
    with pytest.raises(ValueError, match="damaged"):
        pages.near([(0, packed[0][:-1])], pages.rotations(5, bits), bits, 3)


@BOTH
def test_filter_keeps_exactly_what_is_within_the_radius(bits: int) -> None:
    for radius in (0, 1, 3, 7):
        source = random.Random(radius)
        query = source.getrandbits(bits)
        stored = [source.getrandbits(bits) for _ in range(500)]
        stored += [
            query ^ sum(1 << n for n in source.sample(range(bits), distance))
            for distance in (radius, radius + 1) * 20
        ]
        words = to_words(sorted(set(stored)), bits)
        near = {value for value in stored if oracle.distance(value, query) <= radius}
        for segment in range(bits // 16):
            turned = pages.distinct(pages.rotated(words, segment))
            values, packed = pages.pack(turned)
            numbers = [pages.row_number(segment << 16) | value for value in values.tolist()]
            held = list(zip(numbers, packed, strict=True))
            found, compared = pages.near(held, pages.rotations(query, bits), bits, radius)
            assert sorted(found) == sorted(near), radius
            assert compared == len(words), radius


def test_segment_columns_are_the_segments_of_each() -> None:
    for bits in (1, 15, 16, 17, 40, 63, 64, 65, 100, 127, 128):
        values = [value & ((1 << bits) - 1) for value in drawn(128, 100)]
        columns = segment_columns(to_words(values, bits), bits)
        assert [tuple(row) for row in columns.tolist()] == [
            segment_values(v, bits) for v in values
        ], bits
