"""``simstore runs`` shows what each ingest did."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store


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
    (tmp_path / "one.txt").write_text("some words")
    assert nursery.simstore(tmp_path, "ingest", "one.txt").code == 0
    with closing(sqlite3.connect(tmp_path / "simstore.db")) as connection, connection:
        # As a process leaves it that is killed between its last commit and its end.
        connection.execute("UPDATE ingest_run SET state = 'running', finished_at = NULL")

    def state(output_format: str) -> str:
        return nursery.simstore(tmp_path, "runs", "--format", output_format).text

    with Store.open(tmp_path / "simstore.db") as store:
        # The run may be that of this process, as far as the command can tell.
        assert len(store) == 1
        assert json.loads(state("json"))[0]["state"] == "running"
        assert "  running or interrupted  " in state("table")
    assert json.loads(state("json"))[0]["state"] == "interrupted"
    assert "  interrupted  " in state("table")


@pytest.mark.slow
def test_what_became_of_each_document_is_told_and_listed(nursery: Nursery, tmp_path: Path) -> None:
    text = "The harbour was quiet at dawn and the first boats came in with the tide."
    rows = ["id,text", f"a,{text}", "b,two", f"c,{text}", "d,too,many"]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    done = nursery.simstore(tmp_path, "-v", "--log-json", "ingest", "rows.csv")
    told = [json.loads(line) for line in done.errors.splitlines()]
    assert [(one.get("key"), one["state"]) for one in told if "state" in one] == [
        ("a", "added"), ("b", "added"), ("c", "added"), ("c", "exact duplicate"),
        (None, "rejected"),
    ]  # fmt: skip
    assert [one["original"] for one in told if "original" in one] == ["a"]
    rows = ["id,text", f"a,{text}", "b,two and more", "d,new", f"e,{text}"]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    done = nursery.simstore(tmp_path, "-v", "ingest", "rows.csv", "--on-duplicate", "skip")
    lines = [line for line in done.errors.splitlines() if "committed" not in line]
    assert lines[:3] == ["a: unchanged", "b: updated", "d: added"]
    assert lines[3].startswith("e: skipped as a duplicate of a (")
    keys = ("list", "--format", "keys", "--run")
    assert nursery.simstore(tmp_path, *keys, "last").text == "b\nd\n"
    assert nursery.simstore(tmp_path, *keys, "1").text == "a\nc\n"
    assert nursery.simstore(tmp_path, *keys, "last", "--limit", "1").text == "b\n"
    for number in ("0", "9", "999999999999999999"):
        refused = nursery.simstore(tmp_path, *keys, number)
        assert (refused.code, refused.out) == (3, b"")
        assert f"run {number} is not recorded; `simstore runs`" in refused.errors
    chosen = nursery.simstore(tmp_path, *keys, "1", "--collection", "none")
    assert (chosen.text, chosen.code) == ("", 0)
    assert "no document of this choice" in chosen.errors
    assert nursery.simstore(tmp_path, *keys, "x").code == 2
    assert nursery.simstore(tmp_path, "init", "--db", "new.db").code == 0
    assert nursery.simstore(tmp_path, *keys, "last", "--db", "new.db").code == 3
