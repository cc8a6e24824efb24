"""Files that need an extra which is not installed."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from simstore.cli import main
from simstore.sources import isolated
from simstore.sources.registry import COMPOUND_FILE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of many kinds; no package of an extra is installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(isolated, "is_installed", lambda _package: False)
    Path("in").mkdir()
    for name in ("a.txt", "b.html", "c.docx", "d.pdf", "e.parquet.gz", "f.jsonl", "g.xyz"):
        Path("in", name).write_text("some words")
    return tmp_path


@pytest.mark.parametrize("command", ["ingest", "query"])
def test_a_named_file_that_needs_an_extra_stops_the_command_in_one_line(
    folder: Path, command: str
) -> None:
    CliRunner().invoke(main, ["ingest", "in/a.txt"])
    done = CliRunner().invoke(main, [command, "in/c.docx"])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert "needs the extra 'office': pip install '" in line
    for package in ("defusedxml", "pypdf"):
        assert f"'{package}" in line


def test_files_of_a_folder_that_need_an_extra_are_rejected_and_the_others_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another test may have imported it.
    for module in ("resiliparse", "resiliparse.parse.html", "resiliparse.extract.html2text"):
        monkeypatch.setitem(sys.modules, module, None)
    with zipfile.ZipFile("in/h.zip", "w") as archive:
        archive.writestr("page.html", "<html>x</html>")
        archive.writestr("some.txt", "more words")
    Path("in/f.jsonl").write_text('{"text": "a line"}')
    Path("in/g.xyz").unlink()
    done = CliRunner().invoke(main, ["ingest", "in"])
    assert done.exit_code == 5
    assert "3 added, 0 updated, 0 unchanged, 0 exact duplicates, 5 rejected" in done.stdout
    rejected = [line for line in done.stderr.splitlines() if line.startswith("rejected: ")]
    assert len(rejected) == 5
    for line, name in zip(
        rejected, ("b.html", "c.docx", "d.pdf", "e.parquet.gz", "h.zip!/page.html"), strict=True
    ):
        assert line.startswith(f"rejected: in/{name}, record 0 ")
        assert "needs the extra '" in line
        assert "pip install '" in line
    assert CliRunner().invoke(main, ["rejects"]).stdout.count("pip install") == 5
    done = CliRunner().invoke(main, ["query", "in/*"])
    assert (done.exit_code, done.stderr.count("rejected: ")) == (5, 5)
    assert "in/a.txt" in done.stdout


@pytest.mark.parametrize("command", ["ingest", "query"])
def test_older_word_document_is_refused_without_asking_for_an_extra(
    folder: Path, command: str
) -> None:
    Path("letter.doc").write_bytes(COMPOUND_FILE + bytes(600))
    CliRunner().invoke(main, ["ingest", "--passages", "in/a.txt"])
    done = CliRunner().invoke(main, [command, "letter.doc"])
    assert done.exit_code == 5
    assert "it is an older Word document (.doc)" in done.stderr
    assert "pip install" not in done.stderr
