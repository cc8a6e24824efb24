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


@pytest.mark.slow
def test_query_by_each_channel_and_by_both(shell: Shell) -> None:
    def found(*options: str) -> list[list[tuple[str, tuple[str, ...]]]]:
        words = ["query", "--no-record", "--format", "jsonl", "-k", "0", *options, "sample.txt"]
        return [
            [(m["key"], tuple(m["channels"])) for m in one["matches"]]  # type: ignore[attr-defined]
            for one in shell.json_lines(*words)
        ]

    both = ("simhash", "minhash")
    assert found() == [
        [("harbour", both), ("copy", both), ("harbour-2", ("minhash",))], [("bread", both)], [],
    ]  # fmt: skip
    assert found("--channels", "simhash")[0] == [("harbour", both[:1]), ("copy", both[:1])]
    assert [key for key, _ in found("--channels", "minhash")[0]] == ["harbour", "copy", "harbour-2"]
    # The last of fifteen words differs, and with it one of thirteen shingles.
    assert found("--min-resemblance", "0.9")[0] == found()[0][:2]
    assert found("--min-resemblance", "0.5")[0] == found()[0]
    assert found("--min-containment", "1")[0] == found()[0][:2]
    simtool = shell("query", "-k", "0", "--format", "simtool", "sample.txt")
    assert simtool.text == "asked\n0:harbour copy \nbread\n0:bread \nfar\n"
    assert simtool.errors == (
        "this format lists what fingerprints found; 1 match was found by sketches or sentences "
        "alone: --format table, csv and jsonl list them too\n"
    )
    assert shell("report").error_lines[1:] == simtool.error_lines
    assert shell("report", "--format", "csv", "-o", "-").errors == ""


def test_a_report_is_not_written_under_the_name_of_another_format(shell: Shell) -> None:
    shell("query", "sample.txt")
    refused = shell("report", "-o", "asked.pdf", code=2).errors
    assert "no report is written as .pdf: name it .txt, .html" in refused
    assert not (shell.folder / "asked.pdf").exists()
    shell("report", "-o", "asked.md", "--format", "csv")
    assert (shell.folder / "asked.md").read_text().startswith("sample")
    shell("report", "-o", "asked.out")
    assert (shell.folder / "asked.out").read_bytes() == shell("report", "-o", "-").out


def test_likeness_is_told_when_asked_for(shell: Shell) -> None:
    words = ["query", "--format", "jsonl", "sample.txt"]
    plain = shell.json_lines(*words)[0]["matches"][0]  # type: ignore[index]
    assert (plain["likeness"], plain["cosine"]) == (None, None)
    asked = shell.json_lines(*words, "--likeness")[0]["matches"]
    assert asked[0]["likeness"] == asked[0]["cosine"] == 1.0  # type: ignore[index]
    assert "likeness" in shell("query", "--likeness", "sample.txt").text.splitlines()[0]
    least = shell.json_lines(*words, "--min-likeness", "0.53", "--min-cosine", "0.68")
    assert {"harbour", "copy"} <= {m["key"] for m in least[0]["matches"]}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_query_options_narrow_the_answer(shell: Shell) -> None:
    def keys(*options: str) -> list[list[str]]:
        words = [
            "query", "--no-record", "--format", "jsonl", "-k", "0", "--channels", "simhash",
            *options, "sample.txt",
        ]  # fmt: skip
        records = shell.json_lines(*words)
        return [[m["key"] for m in one["matches"]] for one in records]  # type: ignore[attr-defined]

    assert keys() == [["harbour", "copy"], ["bread"], []]
    assert keys("--limit", "1") == [["harbour"], ["bread"], []]
    assert [len(found) for found in keys("--first")] == [1, 1, 0]
    assert keys("--exclude-self") == [["harbour", "copy"], [], []]
    assert keys("--since", "2100-01-01") == [[], [], []]
    assert keys("--since", "2020-01-01T00:00:00") == [["harbour", "copy"], ["bread"], []]
    assert keys("--collection", "none such") == [[], [], []]
    assert keys("--where", "site=none") == [[], [], []]
    for plan in ("auto", "scan", "probe", "tables4", "tables16", "segments"):
        assert keys("--plan", plan) == [["harbour", "copy"], ["bread"], []]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("query", "sample.txt"),
        ("clusters",),
        ("list",),
        ("export",),
        ("expire", "--older-than", "1d", "--yes"),
    ],
    ids=lambda command: command[0],
)
def test_a_collection_that_no_document_has_is_told(shell: Shell, command: tuple[str, ...]) -> None:
    warning = "no stored document has this collection: nwes"
    assert warning in shell(*command, "--collection", "nwes").errors
    # What has one is told of nothing, though nothing is found of it.
    line = {"key": "new", "text": "Gulls follow the ferry.", "collection": "nwes"}
    shell("ingest", "--as", "jsonl", "-", stdin=json.dumps(line).encode())
    assert "this collection" not in shell(*command, "--collection", "nwes").errors


def test_collection_and_metadata_restrict_a_query(empty: Shell) -> None:
    lines = [
        {"id": 1, "text": PAGES[0][1], "collection": "news", "site": "a", "year": 2026},
        {"id": 2, "text": PAGES[0][1], "site": "b", "year": 2026},
    ]
    source = empty.folder / "crawl.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    empty("ingest", "--collection", "other", "crawl.jsonl")

    def matches(*options: str) -> list[object]:
        record = empty.json_lines("query", "-k", "0", "--format", "jsonl", *options, "sample.txt")[
            0
        ]
        return [one["key"] for one in record["matches"]]  # type: ignore[attr-defined]

    assert matches() == ["1", "2"]
    assert matches("--collection", "news") == ["1"]
    assert matches("--collection", "other") == ["2"]
    assert matches("--where", "site=b") == ["2"]
    assert matches("--where", "year=2026", "--where", "site=a") == ["1"]
    assert empty.lines("list", "--collection", "news", "--format", "keys") == ["1"]


@pytest.mark.slow
def test_the_table_tells_about_documents_that_tell_something_of_themselves(empty: Shell) -> None:
    text = "The last ferry to the island leaves at nine in the evening, and nobody waits."
    (empty.folder / "q.txt").write_text(text)
    for name, told in (("plain", {}), ("told", {"head": "The ferry", "by": "Ann Lee"})):
        (empty.folder / "n.jsonl").write_text(json.dumps({"id": name, "text": text, **told}))
        fields = ("--title-field", "head", "--author-field", "by")
        empty("ingest", "--on-duplicate", "keep", "--db", f"{name}.db", *fields, "n.jsonl")
    plain = empty("query", "--db", "plain.db", "q.txt").text.splitlines()
    told = empty("query", "--db", "told.db", "q.txt").text.splitlines()
    assert plain[0].split()[-1] == "match"
    assert told[0].split()[-2:] == ["match", "about"]
    assert told[1].endswith("told   The ferry, Ann Lee")


@pytest.mark.slow
def test_query_goes_wider_with_the_radius_and_never_inserts(shell: Shell) -> None:
    counts = []
    for radius in (0, 3, 20, 64):
        records = shell.json_lines(
            "query", "-k", str(radius), "--min-features", "0", "--format", "jsonl", "sample.txt"
        )
        counts.append(sum(len(one["matches"]) for one in records))  # type: ignore[arg-type]
    assert counts == sorted(counts)
    assert counts[-1] == 3 * len(PAGES)
    assert shell.lines("list", "--format", "keys") == [key for key, _ in PAGES]


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
    assert (shell.folder / "answer.csv").read_text().count("\n") > 1
    rows = shell.lines("report", "--list")
    assert len(rows) == 3
    assert "sample.txt" in rows[1]
    refused = shell("report", "--list", "-o", "runs.csv", code=2)
    assert "--list writes to standard output: leave out --output" in refused.errors
    assert shell("report", "--list", "-o", "-").text.splitlines() == rows
    shell("query", "--no-record", "sample.txt")
    assert len(shell.lines("report", "--list")) == 3


def test_list_formats_and_limit(shell: Shell) -> None:
    assert shell.lines("list", "--limit", "2", "--format", "keys") == ["harbour", "harbour-2"]
    records = shell.json_lines("list", "--format", "jsonl")
    assert [one["key"] for one in records] == [key for key, _ in PAGES]
    assert records[3]["duplicate_of"] == "harbour"
    rows = list(csv.DictReader(io.StringIO(shell("list", "--format", "csv").text)))
    assert [row["key"] for row in rows] == [key for key, _ in PAGES]
    assert rows[0]["fingerprint"] == records[0]["fingerprint"]
    assert len(shell.lines("list")) == 1 + len(PAGES)


def test_show_tells_facts_json_or_the_text(shell: Shell) -> None:
    assert shell("show", "copy", "--text").text == PAGES[3][1]
    record = json.loads(shell("show", "copy", "--format", "json").text)
    assert record["duplicate_of"] == "harbour"
    assert record["source"] == "article.txt"
    facts = dict(line.split(maxsplit=1) for line in shell.lines("show", "copy"))
    assert facts["fingerprint"] == record["fingerprint"]


def test_a_text_on_the_command_line_is_looked_for(shell: Shell) -> None:
    (sample,) = shell.json_lines("query", "--text", PAGES[0][1], "--format", "jsonl")
    assert [match["key"] for match in sample["matches"]][:1] == ["harbour"]
    assert shell("seen", "--text", PAGES[2][1], "--format", "keys").text == "bread\n"
    assert shell("seen", "--text", "never", code=7).text.count("\n") <= 1
    assert "SOURCE" in shell("query", code=2).errors
    assert "--text" in shell("query", "--text", "a", "sample.txt", code=2).errors
    assert "--file sample.txt" in shell("seen", "--text", "sample.txt", code=7).errors


@pytest.mark.parametrize("words", ["Boil the bones for a day.", "海港在黎明时很安静"])
def test_a_text_in_the_place_of_a_file_is_told_of(shell: Shell, words: str) -> None:
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
