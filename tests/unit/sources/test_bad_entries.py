"""One bad entry of a folder is rejected or passed over, told and counted; the others are read."""

from __future__ import annotations

import gzip
import os
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simstore.cli import main
from simstore.sources.encoding_detection import why_binary

from .reading import documents, read_file, reasons

TEXT = "The ferry leaves the harbour every morning at seven, when the fog lies on the water."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text, a link to nothing, a locked folder and file, and a damaged table."""
    monkeypatch.chdir(tmp_path)
    for name in ("in/a.txt", "in/closed/x.txt", "in/z/y.txt", "in/locked.txt", "other/o.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"{TEXT} {name}")
    Path("in/gone.txt").symlink_to("nowhere.txt")
    Path("in/linked").symlink_to("../other")
    Path("in/t.arrows").write_text("no table")
    # The tests may run as a user who may read everything.
    scan, stat = os.scandir, os.stat

    def refusing_scan(path: Any = ".") -> Iterator[Any]:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    def refusing_stat(path: Any, *args: Any, **words: Any) -> Any:
        if str(path) == "in/locked.txt" and not args and not words:
            raise PermissionError(13, "Permission denied", path)
        return stat(path, *args, **words)

    monkeypatch.setattr(os, "scandir", refusing_scan)
    monkeypatch.setattr("simstore.sources.streams.os.stat", refusing_stat)
    return tmp_path


REJECTED = {
    "in/closed": "this folder cannot be read: permission denied",
    "in/gone.txt": "it is a link to nothing",
    "in/locked.txt": "no permission to read it",
    "in/t.arrows": "the table is damaged: ",
}


@pytest.mark.parametrize("command", ["ingest", "check"])
def test_bad_entries_of_a_folder_are_rejected_one_by_one(folder: Path, command: str) -> None:
    pytest.importorskip("pyarrow")
    CliRunner().invoke(main, ["ingest", "--passages", "other"])
    done = CliRunner().invoke(main, [command, "in"])
    assert done.exit_code == 5, done.output
    told = [line for line in done.stderr.splitlines() if line.startswith("rejected: ")]
    assert len(told) == len(REJECTED)
    for name, reason in REJECTED.items():
        assert any(line.startswith(f"rejected: {name}, ") and reason in line for line in told), name
    assert "in/linked: passed over, it is a link to a folder; name it itself" in done.stderr
    if command == "ingest":
        assert "2 added, 0 updated, 0 unchanged, 0 exact duplicates, 4 rejected" in done.stdout
    else:
        assert "in/a.txt" in done.stdout + done.stderr or "o.txt" in done.stdout


def test_folder_that_cannot_be_read_itself_is_an_error(folder: Path) -> None:
    done = CliRunner().invoke(main, ["ingest", "in/closed"])
    assert (done.exit_code, done.stderr.count("Error: ")) == (5, 1)
    assert not Path("simstore.db").exists()


def test_binary_files_and_databases_are_rejected_as_a_whole(tmp_path: Path) -> None:
    database = tmp_path / "blog.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE post (id, body)")
    connection.close()
    chance = random.Random(1)
    cases = {
        "blog.db": (
            database.read_bytes(),
            "it is an SQLite database: write its rows to a",
        ),
        "a.txt": (bytes(range(256)) * 9, "it is binary, not text"),
        "b.bin": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + chance.randbytes(9_000), "it is binary"),
        "c.md": (b"words \x01\x02\x03 and words", "3 of its first 19 bytes"),
        "letter.rtf": (b"{\\rtf1\\ansi words}", "it is RTF, not text"),
        "d.txt.gz": (gzip.compress(b"\x7fELF" + bytes(500)), "it is binary"),
    }
    for name, (data, reason) in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        (told,) = reasons(read_file(path))
        assert told.startswith(reason) or reason in told, name
        if name != "blog.db":
            assert reasons(read_file(path, format="lines")) == [told]
            assert documents(read_file(path, format="text", encoding="keep"))[0][0] == str(path)


def test_texts_with_a_few_control_characters_are_texts(tmp_path: Path) -> None:
    for text in (
        "plain words\f and pages\v, \x1b[1mbold\x1b[0m, \x08 and \x07, to its end\x1a",
        "one stray \x01 in a text",
        "x" * 9_000 + "\0 far behind",
        "",
    ):
        assert why_binary(text.encode()) is None, text


def test_text_that_is_called_as_an_article_file_by_chance_is_told(folder: Path) -> None:
    Path("new").mkdir()
    for name, text in (
        ("article-on-ferries.txt", f"On ferries\n{TEXT}\n"),
        ("sample.txt", f"1-1\n{TEXT}\n\f1-2\n{TEXT}\n"),
        ("some.txt", TEXT),
    ):
        Path("new", name).write_text(text)
    told = "an article file by its name, so its first line is the key"
    done = CliRunner().invoke(main, ["ingest", "new"])
    assert f"new/article-on-ferries.txt: {told}" in done.stderr
    assert done.stderr.count(told) == 1
    assert told not in CliRunner().invoke(main, ["ingest", "new", "--as", "text"]).stderr
