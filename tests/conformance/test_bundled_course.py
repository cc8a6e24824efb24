"""The course tool on the files that the project carries, against the oracle."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Course
from forked import nursery

from simstore.reports.formats import render_simtool
from simstore.services import simtool

from .course import (
    WAYS,
    create_store,
    expected,
    run_simtool,
    with_line_ends,
    without_repeated_ids,
    write,
)

LINE_ENDS = ["lf", "crlf"]
MANY_BITS = [1, 2, 3, 15, 16, 17, 48, 63, 64, 65, 100, 128]
MANY_FEATURES = [1, 2, 7, 50, 299, 300]


@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize(("features", "bits"), [(300, 16), (40, 3), (300, 128)])
def test_simtool_process_writes_and_prints_what_the_oracle_says(
    bundled_course: Course, tmp_path: Path, features: int, bits: int, line_end: str
) -> None:
    course = with_line_ends(bundled_course, line_end)
    write(course, tmp_path)
    result, printed = expected(course, features, bits)
    done = run_simtool(tmp_path, features, bits)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "result.txt").read_bytes() == result
    assert done.stdout == printed


@pytest.mark.parametrize("features", MANY_FEATURES)
def test_simtool_equals_the_oracle_at_any_bits(
    bundled_course: Course, tmp_path: Path, features: int
) -> None:
    # An odd N is read with CRLF.
    course = with_line_ends(bundled_course, LINE_ENDS[features % 2])
    write(course, tmp_path)
    for bits in MANY_BITS:
        result, _ = expected(course, features, bits)
        assert b"".join(render_simtool(simtool.run(tmp_path, features, bits))) == result, bits


def test_line_ends_do_not_change_the_result(bundled_course: Course) -> None:
    as_crlf = with_line_ends(bundled_course, "crlf")
    assert expected(bundled_course, 300, 16) == expected(as_crlf, 300, 16)


@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("features", "bits"), [(300, 16), (12, 3), (120, 100)])
def test_store_equals_the_oracle_however_it_was_filled(
    bundled_course: Course, tmp_path: Path, features: int, bits: int, way: str, line_end: str
) -> None:
    course = with_line_ends(without_repeated_ids(bundled_course), line_end)
    write(course, tmp_path)
    result, _ = expected(course, features, bits)
    assert WAYS[way](tmp_path, course, features, bits) == result


@pytest.mark.slow
@pytest.mark.parametrize("bits", [1, 16, 128])
def test_simtool_and_store_equal_the_oracle_with_more_features_than_words(
    bundled_course: Course, tmp_path: Path, bits: int
) -> None:
    source = random.Random(11)
    rows = b"".join(b"%s\n" % f"{source.getrandbits(128):0128b}".encode() for _ in range(2_000))
    course = replace(without_repeated_ids(bundled_course), hashvalue=rows)
    write(course, tmp_path)
    result, _ = expected(course, 2_000, bits)
    assert b"".join(render_simtool(simtool.run(tmp_path, 2_000, bits))) == result
    assert WAYS["seven sessions"](tmp_path, course, 2_000, bits) == result


def test_repeated_page_is_two_pages_for_the_tool_and_an_update_in_a_store(
    bundled_course: Course, tmp_path: Path
) -> None:
    write(bundled_course, tmp_path)
    with create_store(tmp_path, 300, 16) as store:
        summary = store.ingest([str(tmp_path / "article.txt")])
        assert (summary.added, summary.updated, summary.rejected) == (40, 1, 0)
        keys = [document.key for document in store]
    assert len(keys) == len(set(keys)) == 40
    everything = b"".join(render_simtool(simtool.run(tmp_path, 300, 1))).split()
    assert everything.count(b"course-20") % 2 == 0
    assert b"course-20" in everything


@pytest.mark.parametrize(
    ("options", "features", "bits"),
    [
        ("", 300, 64),
        ("-M 64", 300, 64),
        ("-N 300 -M 16", 300, 16),
        ("-M 16", 300, 16),
        ("--scheme simtool -N 40 -M 3", 40, 3),
        ("--scheme simtool --bits 128 --features 300", 300, 128),
        ("--stopwords stopwords.txt -M 32", 300, 32),
        ("--hash-table hashvalue.txt -N 50", 50, 64),
        ("--hash-table hashvalue.txt --stopwords stopwords.txt -N 7 -M 16", 7, 16),
    ],
)
@pytest.mark.parametrize("makes", ["ingest", "init"])
def test_three_commands_in_the_folder_of_the_course_however_n_and_m_are_given(
    bundled_course: Course,
    tmp_path: Path,
    makes: str,
    options: str,
    features: int,
    bits: int,
) -> None:
    course = without_repeated_ids(bundled_course)
    write(course, tmp_path)
    # The table that the project carries has 300 rows.
    chosen = options.split() if "-N" in options or "--features" in options else [
        *options.split(), "-N", "300"
    ]  # fmt: skip
    commands = [["ingest", "article.txt", *chosen], ["query", "sample.txt"], ["report"]]
    if makes == "init":
        commands[:1] = [["init", *chosen], ["ingest", "article.txt"]]
    for command in commands:
        done = nursery().simstore(tmp_path, *command)
        assert done.code == 0, (command, done.errors)
    assert (tmp_path / "result.txt").read_bytes() == expected(course, features, bits)[0]


@pytest.mark.parametrize("command", [["init"], ["ingest", "article.txt"]])
def test_files_that_lie_there_are_used_or_told(
    bundled_course: Course, tmp_path: Path, command: list[str]
) -> None:
    write(bundled_course, tmp_path)
    done = nursery().simstore(tmp_path, *command, "--scheme", "web")
    assert done.code == 0
    assert "hashvalue.txt and stopwords.txt lie here and are not used" in done.errors
    done = nursery().simstore(tmp_path, "--db", "other.db", *command, "--shingle", "2")
    assert done.code == 2
    assert "--shingle is an option of the scheme web; add --scheme web" in done.errors
    assert not (tmp_path / "other.db").exists()


@pytest.mark.slow
def test_reindex_in_the_folder_of_the_course_takes_its_files_and_says_so(
    bundled_course: Course, tmp_path: Path
) -> None:
    course = without_repeated_ids(bundled_course)
    write(course, tmp_path)
    nursery().simstore(tmp_path, "ingest", "article.txt", "--scheme", "web")
    done = nursery().simstore(tmp_path, "reindex", "--scheme", "simtool", "-N", "40", "-M", "16")
    assert (done.code, done.text) == (0, "scheme simtool/1 stands\n")
    assert done.errors == "hashvalue.txt and stopwords.txt lie here, and are used\n"
    for command in (["query", "sample.txt"], ["report"]):
        assert nursery().simstore(tmp_path, *command).code == 0
    assert (tmp_path / "result.txt").read_bytes() == expected(course, 40, 16)[0]
    # The same once more, by what the store keeps.
    (tmp_path / "hashvalue.txt").unlink()
    done = nursery().simstore(tmp_path, "reindex")
    assert (done.code, done.errors) == (0, "")
    assert nursery().simstore(tmp_path, "query", "sample.txt").code == 0
    assert nursery().simstore(tmp_path, "report").code == 0
    assert (tmp_path / "result.txt").read_bytes() == expected(course, 40, 16)[0]
