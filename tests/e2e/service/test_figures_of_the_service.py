"""Metrics."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from served import REPOSITORY, serve

from simstore import Store

from .asked import NEAR, OTHER, TEXT, add

PAGE = REPOSITORY / "docs" / "reference" / "metrics.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="only a checkout has docs/")
def test_the_page_of_metrics_lists_each_with_its_type_labels_and_help(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", scheme="simtool", policy="frozen") as store:
        store.add_many([("a", TEXT), ("b", NEAR)])
        store.vocabulary.refresh()
    with (
        serve(tmp_path / "s.db", "--figures-seconds", "0") as served,
        httpx.Client(base_url=served.url) as ask,
    ):
        add(ask, ("c", OTHER), on_duplicate="keep")
        ask.get("/v1/nothing")
        told = ask.get("/metrics").text
    helps = dict(re.findall(r"^# HELP (\w+) (.+)$", told, re.MULTILINE))
    kinds = dict(re.findall(r"^# TYPE (\w+) (.+)$", told, re.MULTILINE))
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.+) \|$", PAGE.read_text("utf-8"), re.M)
    assert {name: (kind, text) for name, kind, _, text in rows} == {
        name: (kinds[name], helps[name]) for name in helps
    }
    for name, kind, labels, _ in rows:
        shown = re.search(rf"^{name}(?:_count)?\{{(.*?)\}} ", told, re.MULTILINE)
        # What has not happened yet has no value.
        if shown is not None and kind != "histogram":
            assert re.findall(r'(\w+)="', shown[1]) == re.findall(r"`(\w+)`", labels), name
