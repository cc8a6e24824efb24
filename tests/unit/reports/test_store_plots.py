from __future__ import annotations

import re
import sys

import pytest

from simstore.cli.plots import check_plot
from simstore.errors import MissingExtra
from simstore.model import StoreFigures, TimeSlot, VocabularySlice
from simstore.reports.store_plots import render_overview

DAY = 86_400
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


def words_of(svg: bytes) -> str:
    """Return what a picture says: Matplotlib notes each text beside the outlines of its letters."""
    return " | ".join(re.findall(r"<!-- (.*?) -->", svg.decode()))


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


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"extra 'plots'"):
        render_overview(FULL, "a title", "png")
    monkeypatch.setattr("simstore.cli.plots.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"extra 'plots'"):
        check_plot("x.png", replace=False)
