"""Missing extras are found in the names and the first bytes of files, before they are read."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simstore.cli import main
from simstore.errors import MissingExtra, SourceNotFound
from simstore.sources import files
from simstore.sources.files import missing_extras
from simstore.sources.reader import ReadOptions


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of many kinds; no package of an extra is installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "is_installed", lambda _package: False)
    Path("in").mkdir()
    for name in ("a.txt", "b.html", "c.docx", "d.pdf", "e.parquet.gz", "f.jsonl", "g.xyz"):
        Path("in", name).write_text("some words")
    return tmp_path


def test_each_extra_is_named_with_the_first_file_that_needs_it(folder: Path) -> None:
    assert missing_extras(["in"], ReadOptions()) == {
        "web": "in/b.html",
        "office": "in/c.docx",
        "parquet": "in/e.parquet.gz",
    }
    assert missing_extras(["in/*.txt", "in/f.jsonl", "-"], ReadOptions()) == {}
    with pytest.raises(SourceNotFound):
        missing_extras(["none"], ReadOptions())


def test_content_tells_where_the_name_says_nothing_and_a_named_format_goes_before(
    folder: Path,
) -> None:
    Path("paper").write_bytes(b"%PDF-1.7 ...")
    Path("page.xyz").write_text("<!doctype html><html><body>x</body></html>")
    assert missing_extras(["paper", "page.xyz"], ReadOptions()) == {
        "office": "paper",
        "web": "page.xyz",
    }
    assert missing_extras(["in/d.pdf"], ReadOptions("text")) == {}
    assert missing_extras(["in/a.txt"], ReadOptions("pdf")) == {"office": "in/a.txt"}


def test_members_of_a_zip_archive_count(folder: Path) -> None:
    with zipfile.ZipFile("more.zip", "w") as archive:
        archive.writestr("a.txt", "x")
        archive.writestr("deep/page.html", "x")
    Path("damaged.zip").write_bytes(b"PK")
    assert missing_extras(["damaged.zip", "more.zip"], ReadOptions()) == {"web": "more.zip"}


def test_a_file_is_opened_once_to_tell_its_format(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile("more.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    Path("page.xyz").write_text("some words")
    opened: list[str] = []
    open_path, open_zip = Path.open, zipfile.ZipFile.__init__

    def counted(self: Path, *args: Any, **words: Any) -> Any:
        opened.append(self.name)
        return open_path(self, *args, **words)

    def counted_zip(self: zipfile.ZipFile, name: str, *args: Any) -> None:
        opened.append(name)
        open_zip(self, name, *args)

    monkeypatch.setattr(Path, "open", counted)
    monkeypatch.setattr(zipfile.ZipFile, "__init__", counted_zip)
    # What has a known ending is not opened at all.
    assert missing_extras(["more.zip", "page.xyz", "in/a.txt", "in/f.jsonl"], ReadOptions()) == {}
    assert opened == ["more.zip", "page.xyz"]


@pytest.mark.parametrize("command", ["ingest", "check", "query"])
def test_a_command_names_all_of_them_in_one_line_and_makes_nothing(
    folder: Path, command: str
) -> None:
    done = CliRunner().invoke(main, [command, "in"])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "Error: in/b.html, in/c.docx, in/e.parquet.gz need the extras 'web' and 'office' and "
        "'parquet': pip install '"
    )
    assert line.count("pip install") == 1
    for package in ("defusedxml", "pypdf", "resiliparse", "pyarrow"):
        assert f"'{package}" in line
    assert [one.name for one in folder.iterdir()] == ["in"]


def test_one_missing_extra_is_told_in_the_singular() -> None:
    assert "x needs the extra 'office': pip install 'defusedxml" in str(MissingExtra("x", "office"))
