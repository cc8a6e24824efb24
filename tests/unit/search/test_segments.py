from __future__ import annotations

from simstore.search.segments import probe_values, segment_values, segment_widths


def test_only_the_last_segment_is_narrower() -> None:
    for bits, widths in (
        (1, (1,)),
        (15, (15,)),
        (16, (16,)),
        (17, (16, 1)),
        (64, (16,) * 4),
        (100, (16,) * 6 + (4,)),
        (128, (16,) * 8),
    ):
        assert segment_widths(bits) == widths, bits


def test_first_bits_are_segment_zero() -> None:
    assert segment_values(0x0123456789ABCDEF, 64) == (0x0123, 0x4567, 0x89AB, 0xCDEF)
    assert segment_values(0x12345, 20) == (0x1234, 0x5)
    assert segment_values(0b101, 3) == (0b101,)


def test_probes_begin_with_the_value_and_hold_it_once() -> None:
    assert probe_values(0b1010, 4, -1) == []
    assert probe_values(0b1010, 4, 0) == [0b1010]
    assert probe_values(0b1010, 4, 1) == [0b1010, 0b1011, 0b1000, 0b1110, 0b0010]
    assert sorted(probe_values(0, 3, 3)) == list(range(8))
    assert sorted(probe_values(0, 3, 99)) == list(range(8))
