from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

from simstore.cli.plots import check_plot
from simstore.errors import InvalidParameter, MissingExtra
from simstore.model import StoreFigures, TimeSlot, VocabularySlice
from simstore.reports.store_plots import PANELS, render_overview, render_panel

DAY = 86_400
EMPTY = StoreFigures(
    slot_seconds=60, slots=(), cluster_sizes=None, distances={}, waiting=0, vocabulary=()
)
FULL = StoreFigures(
    slot_seconds=DAY,
    slots=tuple(
        TimeSlot(1_700_000_000 + day * DAY, 30 + day, day, day // 2, 3, 1) for day in range(20)
    ),
    cluster_sizes={2: 40, 3: 12, 7: 1},
    distances={0: 30, 1: 4, 3: 12},
    waiting=5,
    vocabulary=tuple(VocabularySlice(100 * n, 10 * n, 900 * n, 1 / n) for n in range(1, 8)),
    changed_ranks=(12, 1_000),
    changed_fingerprints=(40, 100),
)
ONE = replace(
    FULL, slots=FULL.slots[:1], vocabulary=FULL.vocabulary[:1], cluster_sizes={2: 3, 900: 1}
)


def words_of(svg: bytes) -> str:
    """Return what a picture says: Matplotlib notes each text beside the outlines of its letters."""
    return " | ".join(re.findall(r"<!-- (.*?) -->", svg.decode()))


@pytest.mark.plots
@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("figures", [EMPTY, FULL, ONE], ids=["empty", "full", "one"])
def test_panels_are_drawn_the_same_each_time(panel: str, figures: StoreFigures) -> None:
    pytest.importorskip("matplotlib", reason="needs simstore[plots]")
    assert render_panel(figures, panel, "png").startswith(b"\x89PNG")
    svg = render_panel(figures, panel, "svg")
    assert b"<svg" in svg
    assert render_panel(figures, panel, "svg") == svg


@pytest.mark.plots
def test_the_overview_says_what_the_panels_say() -> None:
    pytest.importorskip("matplotlib", reason="needs simstore[plots]")
    assert render_overview(FULL, "a store", "png").startswith(b"\x89PNG")
    said = words_of(render_overview(FULL, "a store", "svg"))
    for words in (
        "a store", "documents over time", "distinct texts", "seen, those skipped too",
        "duplicates found, by day", "nearly the same", "skipped, same text", "sizes of clusters",
        "documents of a cluster (5 texts wait)", "distance, bits",
        "vocabulary: a refresh changes 12 of 1,000 ranks, 40 of 100 fingerprints",
        "terms of 70 sampled documents",
    ):  # fmt: skip
        assert words in said


@pytest.mark.plots
def test_what_is_not_there_is_said() -> None:
    pytest.importorskip("matplotlib", reason="needs simstore[plots]")
    said = words_of(render_overview(EMPTY, "a store", "svg"))
    for words in ("the store is empty", "no clusters are kept", "nothing is kept to count"):
        assert words in said
    kept = replace(EMPTY, cluster_sizes={})
    assert "no clusters" in words_of(render_panel(kept, "sizes", "svg"))
    # Where nobody has looked, nobody knows that there is none.
    assert "none" not in words_of(render_panel(EMPTY, "duplicates", "svg"))
    assert "no two texts are the same" in words_of(render_panel(EMPTY, "duplicates", "svg"))
    assert "none" in words_of(render_panel(kept, "duplicates", "svg"))


@pytest.mark.plots
def test_unknown_panels_are_refused() -> None:
    pytest.importorskip("matplotlib", reason="needs simstore[plots]")
    with pytest.raises(InvalidParameter, match="growth, duplicates"):
        render_panel(FULL, "pie", "png")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"extra 'plots'"):
        render_overview(FULL, "a title", "png")
    monkeypatch.setattr("simstore.cli.plots.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"extra 'plots'"):
        check_plot("x.png", replace=False)
