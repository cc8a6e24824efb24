"""``simstore runs`` shows what each ingest did."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store

from .trials import web_trial


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


def test_runs_and_stats_tell_of_removals_and_expiries(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / "pages.txt").write_text("one\nsome words\f\ntwo\nother words\f\nthree\nmore\f\n")
    for words in (
        ["ingest", "pages.txt"],
        ["remove", "one"],
        ["expire", "--not-seen-since", "2026-05-02", "--collection", "news"],
        ["expire", "--older-than", "0m", "--dry-run"],
    ):
        assert nursery.simstore(tmp_path, *words).code == 0
    shown = nursery.simstore(tmp_path, "runs", "--format", "jsonl")
    found = [json.loads(line) for line in shown.text.splitlines()]
    facts = ("kind", "state", "removed", "not_seen_since", "collection")
    assert [tuple(run[name] for name in facts) for run in found] == [
        ("expire", "finished", 0, 1_777_680_000, "news"),
        ("remove", "finished", 1, None, None),
        ("ingest", "finished", 0, None, None),
    ]
    table = nursery.simstore(tmp_path, "runs").text.splitlines()
    assert table[1].endswith("last seen before 2026-05-02 00:00:00 UTC, collection news")
    stats = json.loads(nursery.simstore(tmp_path, "stats", "--format", "json").text)
    assert (stats["ingest_run_count"], stats["removal_run_count"]) == (1, 2)


def test_runs_tell_what_was_passed_over(nursery: Nursery, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "one.txt").write_text("some words")
    (pages / "drawing.xyz").write_bytes(b"\x89\x00\x01")
    with zipfile.ZipFile(pages / "more.zip", "w") as archive:
        archive.writestr("two.txt", "other words")
        archive.writestr("drawing.xyz", b"\x89\x00\x01")
    done = nursery.simstore(tmp_path, "ingest", "pages")
    assert done.code == 0
    assert done.text.splitlines()[-1] == "2 passed over"
    shown = nursery.simstore(tmp_path, "runs", "--format", "json")
    assert [run["passed_over"] for run in json.loads(shown.text)] == [2]
    header, row = nursery.simstore(tmp_path, "runs").text.splitlines()
    assert row[: header.index("passed over") + len("passed over")].endswith(" 2")


def test_a_table_in_a_pipe_is_whole_whatever_the_width(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    name = "a-name-that-is-much-longer-than-forty-columns-can-show-on-a-terminal.txt"
    (tmp_path / name).write_text("some words")
    assert nursery.simstore(tmp_path, "ingest", name).code == 0
    done = nursery.simstore(tmp_path, "runs")
    header, row = done.text.splitlines()
    assert header.split() == [
        "run", "kind", "started", "took", "state", "added", "updated", "unchanged", "flagged",
        "skipped", "duplicates", "rejected", "removed", "passed", "over", "of",
    ]  # fmt: skip
    assert row.endswith(name)
    assert done.errors == ""
    assert name in nursery.simstore(tmp_path, "list").text


def test_a_run_whose_process_was_killed_is_interrupted(nursery: Nursery, tmp_path: Path) -> None:
    trial = web_trial(tmp_path, 1)
    path = tmp_path / "store.db"
    trial.make(path).close()
    child = nursery.start("ingest", tmp_path, place=str(path), names=[str(trial.source)])
    for _ in range(8):
        child.message()
    words = ("runs", "--db", str(path), "--format")
    (live,) = json.loads(nursery.simstore(tmp_path, *words, "json").text)
    assert live["state"] == "running"
    assert "  running or interrupted  " in nursery.simstore(tmp_path, *words, "table").text
    child.kill()
    (dead,) = json.loads(nursery.simstore(tmp_path, *words, "json").text)
    assert dead["state"] == "interrupted"
    with Store.open(path):
        # Its process may be this one, as far as the command can tell.
        (unknown,) = json.loads(nursery.simstore(tmp_path, *words, "json").text)
    assert unknown["state"] == "running"
    assert "  interrupted  " in nursery.simstore(tmp_path, *words, "table").text


def test_of_many_sources_the_first_is_named(nursery: Nursery, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in "abcd":
        (pages / f"{name}.txt").write_text(f"words of {name}")
    assert nursery.simstore(tmp_path, "ingest", "pages").code == 0
    row = nursery.simstore(tmp_path, "runs").text.splitlines()[1]
    assert row.endswith("  pages/a.txt and 3 more")
