"""Plots of the page: what is drawn is what the figures say."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from simstore.model import StoreFigures, TimeSlot, VocabularySlice
from simstore.server.page.drawing import count_ticks
from simstore.server.page.plots import run_plot, store_plots
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


@pytest.mark.parametrize("most", [0, 1, 2, 4, 5, 7, 20, 21, 99, 100, 101, 12_345, 10**9 + 1])
def test_scales_end_at_a_round_number_that_holds_the_most(most: int) -> None:
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


def test_stacked_bars_stand_upon_each_other() -> None:
    slots = (TimeSlot(0, 9, 3, 2, 0, 1),)
    duplicates = store_plots(figures(slots=slots), WORDS)[1]
    assert [one.name for one in duplicates.series] == [
        WORDS["same_text"], WORDS["nearly_same"], WORDS["skipped_near"],
    ]  # fmt: skip
    floor = 100.0
    for series, count in zip(duplicates.series, (3, 2, 1), strict=True):
        _, bottom, top, *_ = map(float, _NUMBER.findall(series.path))
        assert bottom == pytest.approx(floor)
        assert bottom - top == pytest.approx(100 * count / 6, abs=0.01)
        floor = top


def test_growth_adds_up_and_shows_what_was_skipped_only_where_something_was() -> None:
    growth = store_plots(figures(), WORDS)[0]
    assert growth.heads == (WORDS["first_seen"], WORDS["stored"], WORDS["distinct"])
    assert growth.table[-1][1:] == ("21", "18")
    assert growth.columns[0].label == "1970-01-01"
    assert growth.columns[1].label == "01-03"
    skipped = (*figures().slots, TimeSlot(6 * DAY, 0, 0, 0, 4, 5))
    growth = store_plots(figures(slots=skipped), WORDS)[0]
    assert growth.heads[1] == WORDS["seen"]
    assert growth.table[-1][1:] == ("30", "21", "18")


def test_large_clusters_are_counted_in_growing_steps() -> None:
    sizes = {2: 10, 3: 4, 4: 1, 9: 2, 16: 1, 17: 1, 1_000: 1}
    plot = store_plots(figures(cluster_sizes=sizes, waiting=12), WORDS)[3]
    told = dict(row[:2] for row in plot.table)
    assert told["2"] == "10"
    assert told["3–4"] == "5"
    assert told["9–16"] == "3"
    assert told["17–32"] == "1"
    assert told["513–1,024"] == "1"
    assert sum(int(count) for count in told.values()) == sum(sizes.values())
    assert "not been compared yet: 12." in plot.note


def test_what_a_refresh_would_change_is_told() -> None:
    plot = store_plots(figures(changed_ranks=(39, 100), changed_fingerprints=(88, 90)), WORDS)[4]
    assert "39 of 100 ranks" in plot.note
    assert "88 of 90" in plot.note
    assert plot.table == (("10", "50", "100%"), ("21", "70", "25%"))


def test_an_empty_store_has_reasons_in_the_place_of_plots() -> None:
    empty = figures(slots=(), cluster_sizes=None, distances={}, vocabulary=())
    plots = (*store_plots(empty, WORDS), run_plot([], WORDS))
    assert all(plot.empty and not plot.series for plot in plots)
    assert "simstore clusters" in plots[2].empty
    assert store_plots(figures(cluster_sizes={}, distances={}), WORDS)[3].empty == WORDS[
        "no_clusters"
    ]  # fmt: skip


def test_nothing_is_said_of_duplicates_that_nobody_has_looked_for() -> None:
    slots = (TimeSlot(0, 10, 0, 0, 0, 0),)
    unknown = store_plots(figures(slots=slots, cluster_sizes=None, distances={}), WORDS)[1].empty
    assert WORDS["no_duplicates"] not in unknown
    assert "No two documents have the same text." in unknown
    assert "simstore clusters" in unknown
    kept = figures(slots=slots, cluster_sizes={}, distances={})
    assert store_plots(kept, WORDS)[1].empty == WORDS["no_duplicates"]
    behind = figures(slots=slots, cluster_sizes={}, distances={}, waiting=1_200)
    for plot in store_plots(behind, WORDS)[1:4]:
        assert "Texts that have not been compared yet: 1,200." in plot.empty


def test_times_that_no_calendar_has_are_told_in_seconds() -> None:
    slots = (TimeSlot(10**15, 1, 0, 0, 0, 0),)
    assert store_plots(figures(slots=slots), WORDS)[0].table[0][0] == f"{10**15} s"


def test_runs_are_drawn_from_the_oldest_to_the_latest() -> None:
    kinds = ("added", "updated", "flagged", "skipped", "unchanged", "rejected", "removed")
    runs = [
        {"run_id": number, "started_at": number * DAY, **dict.fromkeys(kinds, 0), "added": number}
        for number in range(40, 0, -1)
    ]
    plot = run_plot(runs, WORDS)
    assert len(plot.table) == 24
    assert plot.table[-1][0].startswith(f"{WORDS['run']} 40")
    assert [int(row[1]) for row in plot.table] == list(range(17, 41))
    assert [one.name for one in plot.series] == [WORDS["run_added"]]
