"""``simstore runs`` shows what each ingest did."""

from __future__ import annotations

import json
from pathlib import Path

from forked import Nursery


def test_runs_shows_what_each_ingest_did_the_newest_first(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / "pages.txt").write_text("one\nsome words\f\ntwo\nother words\f\n")
    (tmp_path / "more.txt").write_text("a text of its own")
    for words in (["pages.txt"], ["pages.txt", "more.txt"]):
        assert nursery.simstore(tmp_path, "ingest", *words).code == 0
    shown = nursery.simstore(tmp_path, "runs", "--format", "jsonl")
    found = [json.loads(line) for line in shown.text.splitlines()]
    assert [(run["run_id"], run["state"], run["added"], run["unchanged"]) for run in found] == [
        (2, "finished", 1, 2),
        (1, "finished", 2, 0),
    ]
    assert found[0]["sources"] == ["pages.txt", "more.txt"]
    table = nursery.simstore(tmp_path, "runs", "--limit", "1").text.splitlines()
    assert len(table) == 2
    assert table[1].split()[-2:] == ["pages.txt", "more.txt"]
