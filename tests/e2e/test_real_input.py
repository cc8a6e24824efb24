"""Archives, tables, databases, lines, and what was rejected, through the commands."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from forked import Nursery

from . import corpora
from .shells import PAGES, SAMPLE, Shell

LINES = "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in PAGES)
KEYS = [key for key, _ in PAGES]


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    corpora.article_file(tmp_path / "sample.txt", SAMPLE)
    made = Shell(nursery, tmp_path)
    made("init")
    return made


def keys(shell: Shell) -> list[str]:
    return shell.lines("list", "--format", "keys")


@pytest.mark.slow
def test_archive_is_ingested_and_asked_with(shell: Shell) -> None:
    with zipfile.ZipFile(shell.folder / "a.zip", "w") as archive:
        archive.writestr("pages.jsonl", LINES)
        archive.writestr("../out.txt", "no")
        archive.writestr("picture.png", b"\x89PNG")
    done = shell("ingest", "a.zip", code=5)
    assert done.text.endswith("1 rejected\n1 passed over\n")
    assert "a.zip!/../out.txt" in done.errors
    assert "a.zip!/picture.png: passed over" in done.errors
    assert keys(shell) == KEYS
    asked = shell("query", "-k", "0", "--format", "simtool", "a.zip", code=5)
    assert asked.text.startswith(f"{KEYS[0]}\n0:{KEYS[0]} ")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as archive:
        archive.add(shell.folder / "a.zip", "inner.zip")
        archive.add(shell.folder / "sample.txt", "deep/sample.txt")
    piped = shell("ingest", "-", stdin=out.getvalue(), code=5)
    assert "archive in an archive" in piped.errors
    assert len(keys(shell)) > len(KEYS)


@pytest.mark.slow
def test_lines_tables_and_databases_are_ingested(shell: Shell) -> None:
    (shell.folder / "lines.txt").write_text("first\n\nsecond\n")
    shell("ingest", "--per-line", "lines.txt")
    assert keys(shell) == ["lines.txt:1", "lines.txt:3"]
    (shell.folder / "t.csv").write_text("id;text;site\nc1;one row;a.example\nc2\n")
    done = shell("ingest", "t.csv", code=5)
    assert "rejected: t.csv, record 1 (byte 34): 1 fields; the first row has 3" in done.errors
    (shell.folder / "d.jsonl").write_text('{"content": {"body": "deep"}, "meta": {"id": "j1"}}\n')
    shell("ingest", "--text-field", "content.body", "--key-field", "meta.id", "d.jsonl")
    with closing(sqlite3.connect(shell.folder / "blog.db")) as connection:
        connection.execute("CREATE TABLE post (id, words)")
        connection.execute("INSERT INTO post VALUES ('s1', 'a row of a database')")
        connection.commit()
    query = ["--from", "blog.db", "--sql", "SELECT id, words AS text FROM post"]
    assert "1 added" in shell("ingest", *query).text
    assert keys(shell)[2:] == ["c1", "j1", "s1"]
    assert "1 unchanged" in shell("ingest", *query).text


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["--from", "blog.db"], 2, "--from URL --sql SELECT"),
        (["--sql", "SELECT 1", "a.txt"], 2, "--from URL --sql SELECT"),
        ([], 2, "name a SOURCE"),
        (["--from", "none.db", "--sql", "SELECT 1"], 3, "none.db: no such file"),
        (["--from", "s://", "--sql", "SELECT 1"], 2, "--from"),
        (["--as", "nothing", "sample.txt"], 2, "no reader is called 'nothing'"),
        (["--per-line", "--as", "csv", "sample.txt"], 2, "--per-line"),
    ],
)
def test_wrong_use_is_told_in_one_line(shell: Shell, line: list[str], code: int, said: str) -> None:
    done = shell("ingest", *line, code=code)
    assert said in done.error_lines[-1]
    assert "Traceback" not in done.errors


@pytest.mark.slow
def test_rejected_records_are_read_again(shell: Shell) -> None:
    (shell.folder / "a.jsonl").write_text(LINES)
    shell("ingest", "--max-document-bytes", "20", "a.jsonl", code=5)
    assert keys(shell) == []
    listed = [json.loads(line) for line in shell.lines("rejects", "list", "--format", "jsonl")]
    assert len(listed) == len(KEYS)
    assert "1 added" in shell("rejects", "retry", str(listed[1]["reject"])).text
    assert keys(shell) == KEYS[1:2]
    assert f"{len(KEYS) - 1} added" in shell("rejects", "retry").text
    assert shell.lines("rejects", "list", "--format", "jsonl") == []
    assert "0 added" in shell("rejects", "retry").text
    missing = shell("rejects", "retry", "99", code=3)
    assert "no reject has the number 99" in missing.error_lines[-1]
    assert f"{len(KEYS)} unchanged" in shell("ingest", "a.jsonl").text


def test_file_that_has_grown_is_read_on(shell: Shell) -> None:
    path = shell.folder / "a.jsonl"
    path.write_text(LINES)
    shell("ingest", "a.jsonl")
    with path.open("a") as file:
        file.write('{"id": "new", "text": "something new"}\n')
    done = shell("ingest", "a.jsonl")
    assert done.text.startswith("1 added, 0 updated, 0 unchanged")
    assert f"a.jsonl: went on after record {len(KEYS)}" in done.errors
    again = shell("ingest", "--from-start", "a.jsonl")
    assert f"{len(KEYS) + 1} unchanged" in again.text
