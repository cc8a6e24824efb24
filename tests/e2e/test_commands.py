"""Each command as a user runs it: normal use. Wrong use is in test_wrong_use.py."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forked import Finished, Nursery

from simstore import Store, __version__

from . import corpora
from .processes import REPOSITORY, launch
from .states import assert_sound

PAGES = [
    ("harbour", "The harbour was quiet at dawn and the first boats came in with the tide."),
    ("harbour-2", "The harbour was quiet at dawn and the first boats came in with the wind."),
    ("bread", "Mix flour, water and salt; let the dough rest for a night; bake it hot."),
    ("copy", "The harbour was quiet at dawn and the first boats came in with the tide."),
]
SAMPLE = [("asked", PAGES[0][1]), ("bread", PAGES[2][1]), ("far", "Nothing of this kind is known.")]
COMMANDS = [
    "ingest", "query", "check", "passages", "report", "init", "compare", "clusters", "evaluate",
    "fingerprints", "list",
    "show", "remove", "duplicates", "orphans", "expire", "seen", "export", "import", "spark",
    "stats", "vocabulary",
    "reindex",
    "runs", "rejects", "token", "serve", "backup", "copy", "pack",
    "unpack", "compact", "upgrade", "fsck", "completion",
]  # fmt: skip


class Shell:
    """A folder, and the command line in it."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.folder = folder
        self._nursery = nursery

    def __call__(self, *words: str | Path, code: int = 0, **options: object) -> Finished:
        done = self._nursery.simstore(self.folder, *words, **options)
        assert done.code == code, (done.code, done.errors)
        assert "Traceback" not in done.errors
        return done

    def lines(self, *words: str | Path, code: int = 0) -> list[str]:
        return self(*words, code=code).text.splitlines()

    def json_lines(self, *words: str | Path, code: int = 0) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines(*words, code=code)]


@pytest.fixture
def empty(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with source files and no store."""
    corpora.article_file(tmp_path / "article.txt", PAGES)
    corpora.article_file(tmp_path / "sample.txt", SAMPLE)
    return Shell(nursery, tmp_path)


@pytest.fixture(scope="session")
def made_store(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    corpora.article_file(folder / "article.txt", PAGES)
    assert nursery.simstore(folder, "ingest", "article.txt").code == 0
    return folder / "simstore.db"


@pytest.fixture
def shell(empty: Shell, made_store: Path) -> Shell:
    """A folder with source files and a store of the pages."""
    shutil.copy(made_store, empty.folder / "simstore.db")
    return empty


def test_a_day_with_the_launcher_in_new_interpreters(tmp_path: Path) -> None:
    corpora.article_file(tmp_path / "article.txt", PAGES)
    corpora.article_file(tmp_path / "sample.txt", SAMPLE)
    ingested = launch(tmp_path, "ingest", "article.txt")
    assert ingested.code == 0
    assert ingested.text == ("4 added, 0 updated, 0 unchanged, 1 exact duplicates, 0 rejected\n")
    assert len(ingested.error_lines) == 1
    assert "made simstore.db: scheme web/1, M = 64" in ingested.errors
    asked = launch(tmp_path, "query", "--format", "simtool", "sample.txt")
    assert (asked.code, asked.errors) == (0, "")
    reported = launch(tmp_path, "report")
    assert reported.code == 0
    assert (tmp_path / "result.txt").read_bytes() == asked.out
    listed = launch(tmp_path, "list", "--format", "keys")
    assert listed.text.split() == [key for key, _ in PAGES]
    assert launch(tmp_path, "fsck").text == "sound\n"


def test_help_lists_every_command_and_each_has_help_with_an_example_or_a_purpose(
    empty: Shell,
) -> None:
    overview = empty("--help")
    assert overview.errors == ""
    section = overview.text.split("Commands:")[1].split("Examples:")[0]
    listed = [line.split()[0] for line in section.splitlines() if line[2:3].strip()]
    assert [name for name in listed if name not in COMMANDS] == []
    assert set(COMMANDS) <= set(listed)
    for name in listed:
        helped = empty(name, "--help")
        assert helped.errors == ""
        assert helped.text.startswith(f"Usage: simstore {name}")
    assert not (empty.folder / "simstore.db").exists()


def test_version_is_the_packages(empty: Shell) -> None:
    assert empty("--version").text == f"simstore, version {__version__}\n"


def test_no_command_shows_the_help(empty: Shell) -> None:
    done = empty(code=2)
    assert "Usage: simstore" in done.text + done.errors


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_script_names_the_program_and_completes_commands(
    empty: Shell, shell_name: str
) -> None:
    script = empty("completion", shell_name)
    assert "_SIMSTORE_COMPLETE" in script.text
    assert script.errors == ""
    environment = os.environ | {
        "_SIMSTORE_COMPLETE": f"{shell_name}_complete",
        "COMP_WORDS": "simstore ing" if shell_name != "fish" else "simstore",
        "COMP_CWORD": "1" if shell_name != "fish" else "ing",
    }
    completed = empty(environment=environment)
    assert "ingest" in completed.text
    assert "init" not in completed.text


def test_init_makes_a_store_of_the_chosen_scheme(empty: Shell) -> None:
    done = empty("init", "--scheme", "simtool", "-N", "50", "-M", "100", "--policy", "frozen")
    assert done.out == b""
    assert len(done.error_lines) == 1
    facts = json.loads(empty("stats", "--format", "json").text)
    assert (facts["scheme"], facts["bits"], facts["policy"]) == ("simtool/1", 100, "frozen")
    assert facts["document_count"] == 0
    assert empty("fsck").text == "sound\n"


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


def test_second_ingest_leaves_all_as_it_is_and_a_changed_page_is_updated_in_place(
    shell: Shell,
) -> None:
    assert "0 added, 0 updated, 4 unchanged" in shell("ingest", "article.txt").text
    changed = [("harbour", "Quite another text."), *PAGES[1:], ("new", "A new page.")]
    corpora.article_file(shell.folder / "article.txt", changed)
    assert "1 added, 1 updated, 3 unchanged" in shell("ingest", "article.txt").text
    assert shell.lines("list", "--format", "keys") == [key for key, _ in changed]
    assert shell("show", "harbour", "--text").text == "Quite another text."
    assert_sound(shell.folder / "simstore.db")


def test_query_formats_say_the_same(shell: Shell) -> None:
    found = {
        name: shell("query", "-k", "0", "--channel", "simhash", "--format", name, "sample.txt")
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
    assert lines[4].split()[:2] == ["far", "-"]
    assert "too short to judge" in lines[4]
    assert [one["too_short"] for one in records] == [False, False, True]


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
    assert found("--channel", "simhash")[0] == [("harbour", both[:1]), ("copy", both[:1])]
    assert [key for key, _ in found("--channel", "minhash")[0]] == ["harbour", "copy", "harbour-2"]
    # The last of fifteen words differs, and with it one of thirteen shingles.
    assert found("--min-resemblance", "0.9")[0] == found()[0][:2]
    assert found("--min-resemblance", "0.5")[0] == found()[0]
    assert found("--min-containment", "1")[0] == found()[0][:2]
    simtool = shell("query", "-k", "0", "--format", "simtool", "sample.txt")
    assert simtool.text == "asked\n0:harbour copy \nbread\n0:bread \nfar\n"


def test_likeness_is_told_when_asked_for(shell: Shell) -> None:
    words = ["query", "--format", "jsonl", "sample.txt"]
    plain = shell.json_lines(*words)[0]["matches"][0]  # type: ignore[index]
    assert (plain["likeness"], plain["cosine"]) == (None, None)
    asked = shell.json_lines(*words, "--likeness")[0]["matches"]
    assert asked[0]["likeness"] == asked[0]["cosine"] == 1.0  # type: ignore[index]
    assert "likeness" in shell("query", "--likeness", "sample.txt").text.splitlines()[0]
    least = shell.json_lines(*words, "--min-likeness", "0.53", "--min-cosine", "0.68")
    assert {"harbour", "copy"} <= {m["key"] for m in least[0]["matches"]}  # type: ignore[attr-defined]


def test_query_options_narrow_the_answer(shell: Shell) -> None:
    def keys(*options: str) -> list[list[str]]:
        words = [
            "query", "--no-record", "--format", "jsonl", "-k", "0", "--channel", "simhash",
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
    for word in ("segments", "probes", "candidates", "matches", "ms"):
        assert all(word in line for line in lines)
    expanded = shell("query", "--explain", "--plan", "expanded", "-k", "1", "sample.txt")
    assert all("expanded, 1 probes" in line for line in expanded.error_lines)


def test_report_writes_the_last_or_a_named_run_in_each_format(shell: Shell) -> None:
    first = shell("query", "-k", "0", "--format", "jsonl", "sample.txt")
    second = shell("query", "-k", "9", "--format", "simtool", "sample.txt")
    done = shell("report")
    assert done.out == b""
    assert len(done.error_lines) == 1
    assert (shell.folder / "result.txt").read_bytes() == second.out
    assert shell("report", "1", "--format", "jsonl", "-o", "-").out == first.out
    shell("report", "1", "--format", "csv", "-o", "answer.csv")
    assert (shell.folder / "answer.csv").read_text().count("\n") > 1
    rows = shell.lines("report", "--list")
    assert len(rows) == 3
    assert "sample.txt" in rows[1]
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


def test_remove_forgets_all_that_are_named_or_none(shell: Shell) -> None:
    refused = shell("remove", "bread", "none-such", code=3)
    assert "none-such" in refused.errors
    assert len(shell.lines("list", "--format", "keys")) == 4
    assert shell("remove", "bread", "copy").text == "2 removed\n"
    assert shell.lines("list", "--format", "keys") == ["harbour", "harbour-2"]
    assert_sound(shell.folder / "simstore.db")
    assert "2 added, 0 updated, 2 unchanged" in shell("ingest", "article.txt").text


def test_stats_count_what_is_there(shell: Shell) -> None:
    facts = json.loads(shell("stats", "--format", "json").text)
    assert facts["document_count"] == 4
    assert facts["distinct_contents"] == 3
    assert facts["fresh"] is True
    assert facts["waiting"] == 0
    shown = shell("stats")
    assert shown.errors == ""
    assert "document count" in shown.text


def test_vocabulary_shows_counts_of_every_scheme(shell: Shell) -> None:
    top = shell.json_lines("vocabulary", "show", "--top", "3", "--format", "jsonl")
    assert len(top) == 3
    assert top[0]["occurrences"] >= top[1]["occurrences"]  # type: ignore[operator]
    assert (
        len(list(csv.reader(io.StringIO(shell("vocabulary", "show", "--format", "csv").text)))) > 3
    )
    assert len(shell.lines("vocabulary", "show", "--top", "2")) == 3
    status = json.loads(shell("vocabulary", "status", "--format", "json").text)
    assert status["fresh"] is True
    assert "stands" in shell("vocabulary", "refresh").text


def test_frozen_store_drifts_until_it_is_refreshed(empty: Shell) -> None:
    empty("init", "--scheme", "simtool", "-N", "20")
    empty("ingest", "article.txt")
    assert empty("vocabulary", "policy", "frozen").text == "policy frozen\n"
    more = [(f"more-{n}", "zebra zebra zebra yak yak walrus") for n in range(5)]
    corpora.article_file(empty.folder / "article-more.txt", more)
    empty("ingest", "article-more.txt")
    status = json.loads(empty("vocabulary", "status", "--format", "json").text)
    assert status["policy"] == "frozen"
    assert status["fresh"] is False
    assert status["changed_ranks"] > 0
    assert status["entering_terms"] > 0
    assert status["waiting"] == 0
    # The standing generation is the answer in a frozen store: nothing to warn of.
    assert empty("query", "sample.txt").errors == ""
    assert "stands now" in empty("vocabulary", "refresh").text
    status = json.loads(empty("vocabulary", "status", "--format", "json").text)
    assert (status["fresh"], status["changed_ranks"], status["entering_terms"]) == (True, 0, 0)
    assert "stands already" in empty("vocabulary", "refresh").text
    assert "stands now" in empty("vocabulary", "refresh", "--force").text
    assert_sound(empty.folder / "simstore.db")


def test_deferred_refresh_makes_queries_warn_until_one_requires_it(empty: Shell) -> None:
    empty("init", "--scheme", "simtool", "-N", "20")
    empty("ingest", "article.txt")
    more = [("more", "zebra zebra zebra yak yak walrus")]
    corpora.article_file(empty.folder / "article-more.txt", more)
    empty("ingest", "--no-refresh", "article-more.txt")
    stale = empty("query", "sample.txt")
    assert len(stale.error_lines) == 1
    assert "vocabulary refresh" in stale.errors
    assert empty("fsck").text == "sound\n"
    fresh = empty("query", "--require-fresh", "sample.txt")
    assert fresh.errors == ""
    assert empty("query", "sample.txt").errors == ""
    empty("remove", "--no-refresh", "more")
    assert len(empty("query", "sample.txt").error_lines) == 1


def test_store_without_texts_still_answers_and_says_what_it_cannot_do(empty: Shell) -> None:
    empty("ingest", "--no-text", "article.txt")
    assert empty("query", "-k", "0", "--format", "simtool", "sample.txt").text.startswith(
        "asked\n0:harbour copy \n"
    )
    shown = empty("show", "harbour", "--text", code=1)
    assert "keeps no text" in shown.errors
    assert len(shown.error_lines) == 1
    refused = empty("reindex", code=2)
    assert "keeps no text" in refused.errors
    empty("remove", "harbour")
    assert empty("fsck").text == "sound\n"


def test_store_without_vocabulary_still_answers_and_counts_nothing(empty: Shell) -> None:
    empty("init", "--no-vocabulary")
    empty("ingest", "article.txt")
    facts = json.loads(empty("stats", "--format", "json").text)
    assert (facts["vocabulary_recorded"], facts["term_count"]) == (False, 0)
    assert empty("query", "-k", "0", "--format", "simtool", "sample.txt").text.startswith(
        "asked\n0:harbour copy \n"
    )
    assert empty("fsck").text == "sound\n"
    refused = empty("init", "--db", "b.db", "--scheme", "simtool", "--no-vocabulary", code=2)
    assert "--no-vocabulary" in refused.errors
    assert not (empty.folder / "b.db").exists()


def test_reindex_changes_the_scheme_and_keeps_documents(shell: Shell) -> None:
    done = shell("reindex", "--scheme", "simtool", "-N", "30", "-M", "16")
    assert done.text == "scheme simtool/1 stands\n"
    facts = json.loads(shell("stats", "--format", "json").text)
    assert (facts["scheme"], facts["bits"], facts["document_count"]) == ("simtool/1", 16, 4)
    assert shell("query", "-k", "0", "--format", "simtool", "sample.txt").text.startswith(
        "asked\n0:harbour copy \n"
    )
    assert shell("reindex").text == "scheme simtool/1 stands\n"
    assert shell("reindex", "--scheme", "web", "--bits", "128").text == "scheme web/1 stands\n"
    assert_sound(shell.folder / "simstore.db")


def test_reindex_has_nothing_to_resume_or_abort(shell: Shell) -> None:
    for option in ("--resume", "--abort"):
        assert len(shell("reindex", option, code=4).error_lines) == 1


def test_backup_is_a_store_with_the_same_answers(shell: Shell) -> None:
    done = shell("backup", "copy.db")
    assert done.text.startswith("copy.db: ")
    assert done.text.endswith("checked\n")
    words = ("query", "--format", "jsonl", "sample.txt")
    assert shell(*words, "--db", "copy.db").out == shell(*words).out
    refused = shell("backup", "copy.db", code=4)
    assert "copy.db" in refused.errors
    shell("backup", "--force", "copy.db")
    assert_sound(shell.folder / "copy.db")


def test_compact_gives_space_back_and_keeps_all(shell: Shell) -> None:
    with Store.open(shell.folder / "simstore.db") as store:
        store.add_many((f"page-{n}", f"text {n} " * 40) for n in range(2_000))
        store.remove(*(f"page-{n}" for n in range(2_000)))
    before, after = (
        int(w.replace(",", "")) for w in shell("compact").text.split() if w[0].isdigit()
    )
    assert after < before / 2
    assert shell.lines("list", "--format", "keys") == [key for key, _ in PAGES]
    assert_sound(shell.folder / "simstore.db")


def test_fsck_names_what_is_broken_and_the_remedy(shell: Shell) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(shell.folder / "simstore.db")) as connection:
        connection.execute("UPDATE document SET digest = zeroblob(16) WHERE key = ?", [b"bread"])
        connection.commit()
    done = shell("fsck", code=6)
    assert len(done.text.splitlines()) == 1
    assert "bread" in done.text
    assert " -- " in done.text
    assert done.errors == ""


def test_upgrade_of_a_store_of_today_says_that_it_is_up_to_date(shell: Shell) -> None:
    assert "up to date" in shell("upgrade").text
    assert not list(shell.folder.glob("*.backup"))


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
    assert empty("rejects", "clear").text == "2 forgotten\n"
    assert empty.json_lines("rejects", "list", "--format", "jsonl") == []


def test_mended_source_has_no_rejects_any_more(empty: Shell) -> None:
    source = empty.folder / "crawl.jsonl"
    source.write_text('{"id": 1, "text": "good"}\n{"id": 2}\n')
    empty("ingest", "crawl.jsonl", code=5)
    source.write_text('{"id": 1, "text": "good"}\n{"id": 2, "text": "good now"}\n')
    assert "1 added, 0 updated, 1 unchanged" in empty("ingest", "crawl.jsonl").text
    assert empty.json_lines("rejects", "list", "--format", "jsonl") == []


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


def test_messages_are_json_lines_where_asked_for(shell: Shell) -> None:
    commands = [
        (["query", "--log-json", "--explain", "sample.txt"], 0),
        (["--log-json", "-v", "ingest", "article.txt"], 0),
        (["ingest", "--log-json", "none-such.txt"], 3),
        (["show", "--log-json", "none-such"], 3),
    ]
    for words, code in commands:
        done = shell(*words, code=code)
        assert done.error_lines
        for line in done.error_lines:
            record = json.loads(line)
            assert {"time", "level", "message"} <= set(record)


def test_quiet_says_only_results_and_errors_and_verbose_says_more(empty: Shell) -> None:
    done = empty("-q", "ingest", "article.txt")
    assert (done.text.count("\n"), done.errors) == (1, "")
    assert empty("show", "-q", "none-such", code=3).error_lines
    loud = empty("ingest", "-v", "article.txt")
    assert len(loud.error_lines) > len(empty("ingest", "article.txt").error_lines)


def test_simtool_and_the_store_write_the_same_result(nursery: Nursery, tmp_path: Path) -> None:
    corpora.course_folder(tmp_path, features=100)
    pages = corpora.pages(16, 80, repeats=False)
    corpora.article_file(tmp_path / "article.txt", pages)
    corpora.article_file(tmp_path / "sample.txt", corpora.samples(16, pages))
    done = nursery.run("simtool", tmp_path, words=["90", "32"])
    assert (done.code, done.errors) == (0, "")
    written = (tmp_path / "result.txt").read_bytes()
    assert written.startswith(done.out)
    assert written.count(b":page-") > 20
    (tmp_path / "result.txt").unlink()
    options = ["--scheme", "simtool", "-N", "90", "-M", "32", "--hash-table", "hashvalue.txt"]
    options += ["--stopwords", "stopwords.txt"]
    assert nursery.simstore(tmp_path, "init", *options).code == 0
    for words in (["ingest", "article.txt"], ["query", "sample.txt"], ["report"]):
        assert nursery.simstore(tmp_path, *words).code == 0
    assert (tmp_path / "result.txt").read_bytes() == written


def test_simtool_names_what_is_missing_or_wrong(nursery: Nursery, tmp_path: Path) -> None:
    for name in ("article.txt", "sample.txt", "stopwords.txt", "hashvalue.txt"):
        shutil.copy(REPOSITORY / "tests" / "data" / "course" / name, tmp_path)
    wrong = {
        ("0", "32"): 2, ("10", "0"): 2, ("10", "129"): 2, ("1000000", "32"): 2, ("ten", "32"): 2,
        ("10",): 2,
    }  # fmt: skip
    for words, code in wrong.items():
        done = nursery.run("simtool", tmp_path, words=list(words))
        assert (done.code, done.out) == (code, b""), words
        assert done.error_lines[-1].startswith("Error: ")
    (tmp_path / "hashvalue.txt").write_text("0101\n01x1\n")
    done = nursery.run("simtool", tmp_path, words=["2", "4"])
    assert done.code == 2
    assert "hashvalue.txt" in done.errors
    assert "line 2" in done.errors
    (tmp_path / "sample.txt").unlink()
    (tmp_path / "hashvalue.txt").write_text("0101\n0111\n")
    done = nursery.run("simtool", tmp_path, words=["2", "4"])
    assert done.code == 3
    assert len(done.error_lines) == 1
    assert "sample.txt" in done.errors
    assert not (tmp_path / "result.txt").exists()


def test_module_of_the_course_tool_runs_from_a_checkout(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "simstore.cli.simtool", "--version"],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == f"simtool, version {__version__}\n"
    assert done.stderr == b""
