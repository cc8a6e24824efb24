"""The course's own data and agreed results, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Course

from simstore.reports.formats import render_simtool
from simstore.services import simtool

from .course import (
    WAYS,
    create_store,
    expected,
    first_pages,
    in_one_batch,
    run_simtool,
    with_line_ends,
    write,
)

pytestmark = pytest.mark.conformance

AGREED = [(1000, 16), (1000, 32), (10000, 64)]
LINE_ENDS = ["lf", "crlf"]
CUT_PAGES = 150


def agreed_result(course: Course, features: int, bits: int) -> bytes:
    return (course.folder / f"result-{features}-{bits}.txt").read_bytes()


def first_block(result: bytes) -> bytes:
    """Return the lines of the first sample: its id, and the lines of distances after it."""
    lines = result.splitlines(keepends=True)
    end = 1
    while end < len(lines) and lines[end][:2] in (b"0:", b"1:", b"2:", b"3:"):
        end += 1
    return b"".join(lines[:end])


@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize(("features", "bits"), AGREED)
def test_simtool_writes_the_agreed_result_and_prints_its_first_block(
    real_course: Course, tmp_path: Path, features: int, bits: int, line_end: str
) -> None:
    write(with_line_ends(real_course, line_end), tmp_path)
    done = run_simtool(tmp_path, features, bits)
    assert (done.returncode, done.stderr) == (0, b"")
    result = agreed_result(real_course, features, bits)
    assert (tmp_path / "result.txt").read_bytes() == result
    assert done.stdout == first_block(result)


@pytest.mark.parametrize(
    ("way", "line_end", "features", "bits"),
    [
        ("one batch", "lf", 1000, 16),
        ("one batch", "crlf", 10000, 64),
        ("seven files", "lf", 1000, 32),
        ("seven sessions", "lf", 10000, 64),
        ("seven sessions, refreshed at the end", "crlf", 1000, 16),
    ],
)
def test_store_gives_the_agreed_result_however_it_was_filled(
    real_course: Course, tmp_path: Path, features: int, bits: int, way: str, line_end: str
) -> None:
    course = with_line_ends(real_course, line_end)
    write(course, tmp_path)
    assert WAYS[way](tmp_path, course, features, bits) == agreed_result(real_course, features, bits)


def test_store_that_holds_the_agreed_answer_is_sound(real_course: Course, tmp_path: Path) -> None:
    write(real_course, tmp_path)
    with create_store(tmp_path, 1000, 16) as store:
        store.ingest([str(tmp_path / "article.txt")])
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("bits", [1, 3, 100, 128])
def test_simtool_equals_the_oracle_at_unusual_bits(
    real_course: Course, tmp_path: Path, bits: int
) -> None:
    course = first_pages(real_course, CUT_PAGES)
    write(course, tmp_path)
    result, _ = expected(course, 500, bits)
    assert b"".join(render_simtool(simtool.run(tmp_path, 500, bits))) == result
    assert in_one_batch(tmp_path, course, 500, bits) == result


def test_simtool_equals_the_oracle_with_more_features_than_words(
    real_course: Course, tmp_path: Path
) -> None:
    course = first_pages(real_course, 30)
    features, bits = 10_000, 100
    write(course, tmp_path)
    result, _ = expected(course, features, bits)
    assert b"".join(render_simtool(simtool.run(tmp_path, features, bits))) == result
    with create_store(tmp_path, features, bits) as store:
        store.ingest([str(tmp_path / "article.txt")])
        terms = store.vocabulary.terms()
        assert len(terms) < features
        assert sorted(term.rank for term in terms if term.rank is not None) == list(
            range(len(terms))
        )
