"""Stores are made and filled, and what cannot be read is told."""

from __future__ import annotations

import os

import pytest

from e2e import corpora
from e2e.shells import Shell


@pytest.mark.slow
def test_store_is_named_by_option_then_environment_then_default(empty: Shell) -> None:
    environment = os.environ | {"SIMSTORE_DB": "from-environment.db"}
    empty("init", "--db", "from-option.db", environment=environment)
    empty("init", environment=environment)
    empty("--db", "before-the-command.db", "init")
    empty("init")
    assert sorted(path.name for path in empty.folder.glob("*.db")) == [
        "before-the-command.db", "from-environment.db", "from-option.db", "simstore.db",
    ]  # fmt: skip


def test_first_ingest_makes_a_simtool_store_where_the_course_files_lie(
    empty: Shell,
) -> None:
    corpora.course_folder(empty.folder)
    done = empty("ingest", "article.txt")
    assert "scheme simtool/1, N = 1000, M = 64" in done.errors
    assert "hashvalue.txt" in done.errors


@pytest.mark.slow
def test_rejects_are_listed_shown_and_cleared(empty: Shell) -> None:
    source = empty.folder / "crawl.jsonl"
    source.write_text(
        '{"id": 1, "text": "good"}\n{"id": 2}\nnot json\n{"id": 3, "text": "good too"}\n'
    )
    done = empty("ingest", "crawl.jsonl", code=5)
    assert "2 added" in done.text
    assert "2 rejected" in done.text
    assert "crawl.jsonl, record 1 (byte 26)" in done.errors
    assert "rejects list" in done.errors
    records = empty.json_lines("rejects", "list", "--format", "jsonl")
    assert [one["record"] for one in records] == [1, 2]
    assert len(empty.lines("rejects", "list")) == 3
    shown = empty("rejects", "show", str(records[1]["reject"]))
    assert "not json" in shown.text
    assert "crawl.jsonl" in shown.text
    empty("rejects", "show", "77", code=3)
    # A record that can be read by now is a reject no more.
    source.write_text(source.read_text().replace('{"id": 2}', '{"id": 2, "text": "mended"}'))
    assert "1 added, 0 updated, 2 unchanged" in empty("ingest", "crawl.jsonl", code=5).text
    assert empty("rejects", "clear", "--yes").text == "1 forgotten\n"
    assert empty.json_lines("rejects", "list", "--format", "jsonl") == []


@pytest.mark.slow
def test_strict_ingest_stops_at_the_first_reject_and_goes_on_when_it_is_mended(
    empty: Shell,
) -> None:
    source = empty.folder / "crawl.jsonl"
    lines = [f'{{"id": {n}, "text": "text {n}"}}\n' for n in range(6)]
    source.write_text("".join([*lines[:3], "not json\n", *lines[3:]]))
    done = empty("ingest", "--strict", "crawl.jsonl", code=5)
    assert done.error_lines[-1].startswith("Error: crawl.jsonl, record 3: not JSON")
    assert empty.lines("list", "--format", "keys") == ["0", "1", "2"]
    empty("ingest", "--strict", "crawl.jsonl", code=5)
    source.write_text("".join(lines))
    empty("ingest", "--strict", "crawl.jsonl")
    assert empty.lines("list", "--format", "keys") == ["0", "1", "2", "3", "4", "5"]
