"""Archives, tables, databases, lines, and what was rejected, through the commands."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
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
