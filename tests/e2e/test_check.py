"""``simstore check`` as a command: formats, where it writes, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from forked import Nursery

from . import corpora
from .shells import Shell
from .test_wrong_use import assert_refused

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")

RIVER = (
    "The river rises in the hills behind the old quarry and falls slowly to the sea. "
    "Every spring the ferrymen paint their boats before the first of the travellers arrive.\n"
)
BREAD = "Mix flour, water and salt; let the dough rest for a whole night; then bake it very hot.\n"
OWN = "Nobody else wrote these words before the author of this paper sat down.\n"


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with a paper, and a store of two documents with a passage index."""
    shell = Shell(nursery, tmp_path)
    corpora.article_file(tmp_path / "pages.txt", [("river", RIVER), ("bread", BREAD)])
    shell("ingest", "--passages", "--as", "articles", "pages.txt")
    (tmp_path / "paper.txt").write_text(OWN + RIVER)
    return shell


@pytest.mark.slow
def test_a_table_tells_totals_sources_and_their_cases(shell: Shell) -> None:
    done = shell("check", "paper.txt")
    assert done.errors == ""
    facts, sources, cases = done.text.split("\n\n")
    assert "passages            2 high (>= 0.8), 0 moderate (>= 0.5), 1 neither" in facts
    assert sources.splitlines()[1].split()[-1] == "river"
    header, row = cases.splitlines()
    assert header.split() == ["source", "start", "end", "words", "same", "case"]
    place = ["river", str(len(OWN)), str(len(OWN + RIVER) - 1)]
    assert row.split(maxsplit=5) == [*place, "30", "100.0%", RIVER.strip()]


def test_papers_without_a_library_are_compared_with_one_another(
    nursery: Nursery, tmp_path: Path
) -> None:
    shell = Shell(nursery, tmp_path)
    (tmp_path / "anna.txt").write_text(RIVER)
    (tmp_path / "ben.txt").write_text(OWN + RIVER)
    papers = ("check", "anna.txt", "ben.txt")
    done = shell(*papers)
    assert "the papers are compared with one another only (no store at" in done.errors
    assert done.text.splitlines()[-1].split()[:2] == ["100.0%", "100.0%"]
    rows = shell(*papers, "--format", "csv").text.splitlines()
    assert [row.split(",")[3] for row in rows] == ["among", "papers", "papers"]
    assert not (tmp_path / "simstore.db").exists()
    for alone in (papers[:2], (*papers, "--no-mutual")):
        assert "no store at" in shell(*alone, code=3).errors
    shell("init")
    shell(*papers, "-o", "class.html")
    assert "ben.txt" in (tmp_path / "class.html").read_text()
    assert "no passage index" in shell(*papers, "--no-mutual", code=3).errors


@pytest.mark.slow
def test_papers_are_compared_with_one_another_unless_they_are_many(shell: Shell) -> None:
    folder = shell.folder / "class"
    folder.mkdir()
    for number in range(101):
        (folder / f"{number:03}.txt").write_text(OWN if number in (3, 99) else f"Mine {number}.")
    done = shell("check", "class", "--format", "jsonl")
    assert "more than 100 papers are not compared with one another" in done.errors
    assert "mutual" not in done.text
    lines = shell("check", "class", "--mutual", "--format", "jsonl").text.splitlines()
    found = [number for number, one in enumerate(lines) if json.loads(one)["mutual"]["cases"]]
    assert found == [3, 99]


@pytest.mark.slow
def test_a_report_for_the_browser(shell: Shell) -> None:
    pytest.importorskip("jinja2", reason="needs jinja2 (the extra check)")
    done = shell("check", "paper.txt", "-o", "report.html")
    assert done.text == ""
    page = (shell.folder / "report.html").read_text()
    assert page.startswith(("<!DOCTYPE html>", "<!doctype html>"))
    assert "ferrymen" in page
    words = ("check", "paper.txt", "--format", "html", "--lang", "zh")
    assert "report.html exists already" in shell(*words, code=4).errors
    assert (shell.folder / "report.html").read_text() == page
    shell(*words, "--force")
    assert 'lang="zh' in (shell.folder / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--exclude", "riv*")])
def test_every_format_has_the_same_headline(shell: Shell, options: tuple[str, ...]) -> None:
    pytest.importorskip("jinja2", reason="needs jinja2 (the extra check)")
    (shell.folder / "quoting.txt").write_text(f"{OWN}“{RIVER.strip()}” {BREAD}{OWN}")
    table = shell("check", "quoting.txt", *options).text
    totals = json.loads(shell("check", "quoting.txt", "--format", "jsonl", *options).text)["totals"]
    shell("check", "quoting.txt", "-o", "report.html", *options)
    page = (shell.folder / "report.html").read_text()
    told = re.search(r"^copied +(\S+)% \((\d+) of ", table, re.MULTILINE)
    headline = re.search(r"<strong data-of=\"share\">([\d.]+)%</strong>", page)
    assert told is not None
    assert headline is not None
    share = round(100 * totals["share"], 1)
    assert float(told[1]) == float(headline[1]) == share
    assert int(told[2]) == totals["copied"]
    assert share == pytest.approx(100 * totals["copied"] / totals["characters"], abs=0.06)
    is_excluded = bool(options)
    assert ("with what is excluded" in table) == is_excluded
    assert ("With what is excluded" in page) == is_excluded
    assert (totals["share_with_excluded"] > totals["share"]) == is_excluded
    assert totals["largest_source_share"] <= totals["share"]


def test_records_that_cannot_be_read_end_with_5(shell: Shell) -> None:
    (shell.folder / "p.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": 1\n')
    done = shell("check", "p.jsonl", code=5)
    assert "p.jsonl, record 1" in done.errors
    assert "paper" in done.text


@pytest.mark.parametrize("command", ["check", "query"])
def test_files_of_a_folder_that_are_not_read_are_told_and_counted(
    shell: Shell, command: str
) -> None:
    folder = shell.folder / "papers"
    folder.mkdir()
    (folder / "a.txt").write_text(OWN)
    (folder / "letter.doc").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1"))
    (folder / "data.bin").write_bytes(b"x")
    done = shell(command, "papers")
    assert done.error_lines == [
        "papers/data.bin: passed over, its type is not known (--as says how to read it)",
        "papers/letter.doc: passed over, an older Word document: save it as .docx",
        "1 paper checked, 2 passed over"
        if command == "check"
        else "1 sample looked for, 2 passed over",
    ]
    for number in range(12):
        (folder / f"m{number}.bin").write_bytes(b"x")
    lines = shell(command, "papers").error_lines
    assert len(lines) == 12
    assert lines[-2:][0] == "... and 4 more files passed over; -v names them"


@pytest.mark.slow
def test_wrong_options_are_refused(shell: Shell) -> None:
    assert_refused(shell("check", "paper.txt", "--high", "0.2", code=2), 2, "moderate 0.5")
    assert "name it .html" in shell("check", "paper.txt", "-o", "x.pdf", code=2).errors
    assert (
        "standard output"
        in shell("check", "paper.txt", "--format", "table", "-o", "x.txt", code=2).errors
    )
    assert_refused(shell("check", "nowhere.txt", "--format", "csv", code=3), 3, "nowhere.txt")
    assert_refused(
        shell("check", "paper.txt", "-o", "simstore.db", "--format", "jsonl", code=2),
        2,
        "belongs to the store",
    )


def test_nothing_is_written_over_a_paper(shell: Shell) -> None:
    (shell.folder / "paper.jsonl").write_text(json.dumps({"key": "a", "text": OWN}))
    before = (shell.folder / "paper.jsonl").read_bytes()
    done = shell("check", "paper.jsonl", "-o", "paper.jsonl", code=2)
    assert "paper.jsonl is a paper that is checked; name another file" in done.errors
    assert (shell.folder / "paper.jsonl").read_bytes() == before
    essays = shell.folder / "essays"
    essays.mkdir()
    (essays / "one.txt").write_text(OWN)
    options = ("--format", "jsonl", "--force")
    done = shell("check", "essays", "-o", "essays/one.txt", *options, code=2)
    assert "one.txt is a paper that is checked" in done.errors
    assert (essays / "one.txt").read_text() == OWN
    shell("check", "essays", "-o", "essays/report.jsonl", *options)


@pytest.mark.slow
def test_an_older_report_stays_where_no_paper_can_be_read(shell: Shell) -> None:
    shell("check", "paper.txt", "-o", "report.html")
    before = (shell.folder / "report.html").read_bytes()
    (shell.folder / "broken.docx").write_bytes(b"PK\x03\x04 is no archive")
    done = shell("check", "broken.docx", "-o", "report.html", "--force", code=5)
    assert "report.html: not written" in done.errors
    assert (shell.folder / "report.html").read_bytes() == before


def test_a_key_to_be_excluded_that_is_not_there_is_told(shell: Shell) -> None:
    done = shell("check", "--exclude", "rivre", "--exclude", "no-*", "paper.txt")
    assert "--exclude rivre: no document has this key" in done.errors


def test_exclusions_that_leave_nothing_out_are_told(shell: Shell) -> None:
    none = ("--exclude", "no-*", "--exclude-author", "Nobody", "--exclude-collection", "zz")
    done = shell("check", *none, "paper.txt")
    told = "--exclude no-*, --exclude-author Nobody, --exclude-collection zz: nothing is left out"
    assert told in done.errors
    done = shell("check", "--exclude", "riv*", "paper.txt")
    assert "nothing is left out" not in done.errors
