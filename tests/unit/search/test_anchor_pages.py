"""Pages of postings: bytes a posting takes, in small segments and in large ones."""

from __future__ import annotations

from simstore.search.anchor_pages import PageLayout, layout_for


def test_bytes_of_a_posting() -> None:
    for count, most_entry, most_start, most_length, size in (
        (1_000, 200, 200, 200, 7),
        (1_000_000, 13_000, 40_000, 200, 9),
        # Numbers of more than two bytes, and a hash of which its page tells 16 bits.
        (3_000_000, 100_000, 40_000, 200, 9),
        (3_000_000, 100_000, 100_000, 200, 10),
        (3_000_000, 1 << 24, 1 << 24, 1 << 16, 14),
    ):
        layout = layout_for(count, most_entry, most_start, most_length)
        assert layout.is_possible, count
        assert layout.record.itemsize == size, count


def test_layouts_that_no_segment_has() -> None:
    for layout in (
        PageLayout(15, 2, 2, 1, 3),
        PageLayout(7, 2, 2, 1, 4),
        PageLayout(41, 2, 2, 1, 4),
        PageLayout(16, 5, 2, 1, 4),
        PageLayout(16, 2, 2, 1, 2),
    ):
        assert not layout.is_possible, layout
