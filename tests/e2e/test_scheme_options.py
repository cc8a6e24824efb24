"""Options of a scheme that do not fit, and a first ingest that is killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Course
from forked import Nursery

from .shells import Shell


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    (tmp_path / "case.jsonl").write_text('{"id": "stored", "text": "THE BOATS CAME IN"}\n')
    return Shell(nursery, tmp_path)


def test_option_that_does_not_fit_is_one_line_and_makes_no_store(
    shell: Shell, tmp_path: Path
) -> None:
    for options, message in (
        (["--scheme", "simtool", "--fold-han"], "--fold-han is an option of the scheme web"),
        (["--stem", "klingon"], "choose none or one of arabic"),
        (["--field", "lang"], "write it as NAME:enum:VALUE,VALUE,...:WEIGHT"),
        (["--units", "characters", "--segmenter", "jieba"], "needs the units words"),
        (["--weights", "idf", "--no-vocabulary"], "leave out --no-vocabulary"),
    ):
        done = shell("init", *options, code=2)
        assert message in done.errors
        assert len(done.error_lines) == 1
        assert not (tmp_path / "simstore.db").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--scheme", "simtool", "-N", "3", "-M", "4", "--hash-table", "rows", "--stopwords", "w"],
        ["--shingle", "3", "--field", "lang:enum:en,fr:3", "--passages", "--passage-simhash"],
    ],
    ids=["simtool", "web"],
)
def test_ingest_killed_when_it_has_made_the_store_is_finished_by_the_same_command(
    nursery: Nursery, shell: Shell, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "rows").write_text("0101\n1100\n1111\n")
    (tmp_path / "w").write_text("and\n")
    words = ["ingest", "--db", "s.db", *options, "case.jsonl"]
    assert nursery.run("simstore_killed_when_it_has_made_a_store", tmp_path, words=words).code == -9
    assert (tmp_path / "s.db").exists()
    assert shell(*words).text.startswith("1 added")
    # And once more, whole as it is.
    assert shell(*words).text.startswith("0 added, 0 updated, 1 unchanged")
    assert shell("fsck", "--db", "s.db").text == "sound\n"


def test_options_that_a_store_has_not_are_refused_and_named(shell: Shell) -> None:
    shell("ingest", "--db", "s.db", "--bits", "100", "case.jsonl")
    for options, said in (
        (["--bits", "64", "--stem", "german"], "--bits is 100, --stem is none"),
        (["--scheme", "simtool"], "--scheme is web"),
        (["--no-text"], "it keeps texts (no --no-text)"),
    ):
        done = shell("ingest", "--db", "s.db", *options, "case.jsonl", code=2)
        assert done.errors == (
            f"Error: s.db exists and has other options: {said}; leave them out, change them by "
            "`simstore reindex`, or make another store by `simstore init --db NEW`\n"
        )


@pytest.mark.parametrize("command", [["init"], ["ingest", "article.txt"]])
def test_files_of_the_course_that_are_not_used_are_named(
    shell: Shell, bundled_course: Course, tmp_path: Path, command: list[str]
) -> None:
    for path in bundled_course.folder.glob("*.txt"):
        shutil.copy(path, tmp_path)
    done = shell(*command, "--scheme", "web")
    assert "hashvalue.txt and stopwords.txt lie here and are not used" in done.errors
    done = shell("--db", "other.db", *command, "--shingle", "2", code=2)
    assert "--shingle is an option of the scheme web; add --scheme web" in done.errors
    assert not (tmp_path / "other.db").exists()
    shell("ingest", "article.txt")
    done = shell("reindex", "--scheme", "simtool", "-N", "40", "-M", "16")
    assert done.errors == "hashvalue.txt and stopwords.txt lie here, and are used\n"
    # The store has a copy of the table.
    (tmp_path / "hashvalue.txt").unlink()
    assert shell("reindex").errors == ""
