"""Stores are asked: queries, reports, lists, documents."""

from __future__ import annotations

import csv
import io
import json

import pytest

from e2e.shells import PAGES, Shell


@pytest.mark.slow
def test_query_formats_say_the_same(shell: Shell) -> None:
    found = {
        name: shell("query", "-k", "0", "--channels", "simhash", "--format", name, "sample.txt")
        for name in ("table", "simtool", "jsonl", "csv")
    }
    assert all(done.errors == "" for done in found.values())
    assert found["simtool"].text == ("asked\n0:harbour copy \nbread\n0:bread \nfar\n")
    records = [json.loads(line) for line in found["jsonl"].text.splitlines()]
    assert [one["sample"] for one in records] == ["asked", "bread", "far"]
    assert [[m["key"] for m in one["matches"]] for one in records] == [
        ["harbour", "copy"], ["bread"], [],
    ]  # fmt: skip
    rows = list(csv.reader(io.StringIO(found["csv"].text)))
    assert len(rows[0]) >= 3
    assert {"asked", "bread"} <= {row[0] for row in rows[1:]}
    lines = found["table"].text.splitlines()
    assert lines[0].split() == [
        "sample", "distance", "resemblance", "containment", "found", "by", "match",
    ]  # fmt: skip
    assert lines[1].split() == ["asked", "0", "1.000", "1.000", "simhash", "harbour"]
    assert lines[2].split() == ["0", "1.000", "1.000", "simhash", "copy"]
    assert lines[4].split() == ["far", "-"]
    assert lines[5:] == [
        "1 sample is too short to judge by words: only copies match, and what contains them or is "
        "contained"
    ]
    assert [one["too_short"] for one in records] == [False, False, True]
    # Sketches find one match more than fingerprints, which this format cannot show.
    by_all = shell("query", "-k", "0", "--format", "simtool", "sample.txt")
    assert by_all.out == found["simtool"].out
    assert by_all.errors.startswith("this format lists what fingerprints found; 1 match was found")


def test_a_report_is_not_written_under_the_name_of_another_format(shell: Shell) -> None:
    shell("query", "sample.txt")
    refused = shell("report", "-o", "asked.pdf", code=2).errors
    assert "no report is written as .pdf: name it .txt, .html" in refused
    assert not (shell.folder / "asked.pdf").exists()
    shell("report", "-o", "asked.md", "--format", "csv")
    assert (shell.folder / "asked.md").read_text().startswith("sample")
    shell("report", "-o", "asked.out")
    assert (shell.folder / "asked.out").read_bytes() == shell("report", "-o", "-").out


def test_explain_tells_plan_probes_candidates_and_time_on_stderr(shell: Shell) -> None:
    plain = shell("query", "sample.txt")
    explained = shell("query", "--explain", "--plan", "segments", "sample.txt")
    assert explained.out == plain.out
    lines = explained.error_lines
    assert len(lines) == 3
    for word in ("segments", "probe", "candidate", "match", "ms"):
        assert all(word in line for line in lines)
    expanded = shell("query", "--explain", "--plan", "expanded", "-k", "1", "sample.txt")
    assert all("expanded, 1 probe," in line for line in expanded.error_lines)


@pytest.mark.slow
def test_report_writes_the_last_or_a_named_run_in_each_format(shell: Shell) -> None:
    first = shell("query", "-k", "0", "--format", "jsonl", "sample.txt")
    second = shell("query", "-k", "9", "--format", "simtool", "sample.txt")
    done = shell("report")
    assert done.out == b""
    assert len(done.error_lines) == 1
    assert (shell.folder / "result.txt").read_bytes() == second.out
    assert shell("report", "1", "--format", "jsonl", "-o", "-").out == first.out
    shell("report", "1", "--format", "csv", "-o", "answer.csv")
    shell("report", "1", "-o", "by name.csv")
    assert (shell.folder / "by name.csv").read_bytes() == (shell.folder / "answer.csv").read_bytes()
    shell("report", "1", "-o", "answer.html")
    assert (shell.folder / "answer.html").read_bytes()[:15].lower() == b"<!doctype html>"
    rows = shell.lines("report", "--list")
    assert len(rows) == 3
    assert "sample.txt" in rows[1]
    refused = shell("report", "--list", "-o", "runs.csv", code=2)
    assert "--list writes to standard output: leave out --output" in refused.errors
    assert shell("report", "--list", "-o", "-").text.splitlines() == rows
    shell("query", "--no-record", "sample.txt")
    assert len(shell.lines("report", "--list")) == 3


def test_a_text_on_the_command_line_is_looked_for(shell: Shell) -> None:
    (sample,) = shell.json_lines("query", "--text", PAGES[0][1], "--format", "jsonl")
    assert [match["key"] for match in sample["matches"]][:1] == ["harbour"]
    assert shell("seen", "--text", PAGES[2][1], "--format", "keys").text == "bread\n"
    assert shell("seen", "--text", "never", code=7).text.count("\n") <= 1
    assert "SOURCE" in shell("query", code=2).errors
    assert "--text" in shell("query", "--text", "a", "sample.txt", code=2).errors
    assert "--file sample.txt" in shell("seen", "--text", "sample.txt", code=7).errors


def test_a_text_in_the_place_of_a_file_is_told_of(shell: Shell) -> None:
    for words in ("Boil the bones for a day.", "海港在黎明时很安静"):
        assert "simstore query --text 'TEXT'" in shell("query", words, code=3).errors
    assert "--text" not in shell("query", "none-such.txt", code=3).errors


@pytest.mark.slow
def test_an_answer_that_a_limit_cuts_says_so(shell: Shell) -> None:
    assert "the first 2 documents" in shell("list", "--limit", "2").errors
    assert shell("list", "--limit", "4").errors == ""
    assert "the first 1 runs" not in shell("runs", "--limit", "1").errors
    assert "--limit" in shell("query", "--limit", "1", "sample.txt").errors
    assert "--limit" in shell("vocabulary", "show", "--limit", "1").errors
    assert shell("query", "--limit", "9", "sample.txt").errors == ""


def test_a_collection_that_no_document_has_is_told(shell: Shell) -> None:
    for command in (("query", "sample.txt"), ("list",), ("export",)):
        told = shell(*command, "--collection", "nwes").errors
        assert "no stored document has this collection: nwes" in told
