"""Plots of the page: what is drawn is what the figures say."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from simstore.model import StoreFigures, TimeSlot, VocabularySlice
from simstore.server.page.plots import count_ticks, run_plot, store_plots
from simstore.server.page.words import page_words

WORDS = page_words("en")
DAY = 86_400
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def figures(**changes: object) -> StoreFigures:
    slots = tuple(TimeSlot(number * DAY, number + 1, number % 2, 0, 0, 0) for number in range(6))
    given: dict[str, object] = {
        "slot_seconds": DAY,
        "slots": slots,
        "cluster_sizes": {2: 7, 3: 1},
        "distances": {0: 4, 3: 1},
        "waiting": 0,
        "vocabulary": (VocabularySlice(10, 10, 50, 1.0), VocabularySlice(21, 21, 70, 0.25)),
    }
    return StoreFigures(**(given | changes))  # type: ignore[arg-type]


def boxes(path: str) -> list[tuple[float, float]]:
    """The width and the height of each box of a path."""
    found = []
    for box in path.split("z")[:-1]:
        left, bottom, top, right, _ = map(float, _NUMBER.findall(box))
        found.append((right - left, bottom - top))
    return found


def test_scales_end_at_a_round_number_that_holds_the_most() -> None:
    for most in [0, 1, 2, 4, 5, 7, 20, 21, 99, 100, 101, 12_345, 10**9 + 1]:
        ticks, end = count_ticks(most)
        assert end >= max(most, 1)
        assert 2 <= len(ticks) <= 5
        assert (ticks[0].place, ticks[-1].place) == (0, 100)
        assert ticks[0].label == "0"
        steps = {round(after.place - before.place, 1) for before, after in pairwise(ticks)}
        assert max(steps) - min(steps) <= 0.11
        # Not more than needed: with one step less it would not hold the most.
        assert end - end / (len(ticks) - 1) < max(most, 1)


def test_bars_are_as_high_as_their_counts() -> None:
    _, _, distances, sizes, _ = store_plots(figures(), WORDS)
    heights = [height for _, height in boxes(sizes.series[0].path)]
    assert heights == pytest.approx([100 * 7 / 8, 100 * 1 / 8])
    assert [row[1] for row in sizes.table] == ["7", "1", "0", "0"]
    assert [row[0] for row in distances.table] == ["0", "1", "2", "3"]
    assert len(boxes(distances.series[0].path)) == 2


def test_an_empty_store_has_reasons_in_the_place_of_plots() -> None:
    empty = figures(slots=(), cluster_sizes=None, distances={}, vocabulary=())
    plots = (*store_plots(empty, WORDS), run_plot([], WORDS))
    assert all(plot.empty and not plot.series for plot in plots)
    assert "simstore clusters" in plots[2].empty
    assert store_plots(figures(cluster_sizes={}, distances={}), WORDS)[3].empty == WORDS[
        "no_clusters"
    ]  # fmt: skip
