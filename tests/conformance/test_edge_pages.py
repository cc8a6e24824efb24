"""Pages at the edge of the format, against the oracle: the tool without a store, and a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import oracle
import pytest
from conftest import Course

from simstore import Files
from simstore.reports.formats import render_simtool
from simstore.services import simtool

from .course import create_store, expected, run_simtool, write

ARTICLES = {
    "word touching the form feed": b"one\nriver stone\ftwo\nstone harbour\fthree\nharbour\n\f",
    "id touching the form feed": b"one\nriver stone\ftwo\fthree\nriver\n\f",
    "no trailing form feed": b"one\nriver\n\ftwo\nstone\n",
    "no trailing line end": b"one\nriver\n\ftwo\nstone",
    "trailing form feed": b"one\nriver\n\ftwo\nstone\n\f",
    "trailing form feed and blanks": b"one\nriver\n\ftwo\nstone\n\f \r\n\t\n",
    "leading blank lines": b"\n\r\n \t\n\v\none\nriver stone\n\f\n\n  two\nstone\n\f",
    "chunks of white space alone": b"\f\f \n\f\none\nriver\n\f\r\n\f\t\ftwo\nriver\n\f\f",
    "empty body": b"one\n\f two\r\n\r\n\fthree\nriver\n\f",
    "only stop words": b"one\nthe and of the\n\ftwo\nriver the\n\fthree\n\n\f",
    "bytes from 0x80": b"one\nri\xffver st\xe9one \xc3\xa9t\n\ftwo\n\x80river\x80stone\xfe\n\f",
    "every byte": b"one\n" + bytes(b for b in range(256) if b != 0x0C) + b"\n\ftwo\nriver\n\f",
    "no blank in a million bytes": b"one\n" + b"ab-" * 400_000 + b"river\n\ftwo\nriver\n\f",
    "id with blanks": b"the first  page, 1\nriver\n\f\t second page \t \nstone\n\f",
    "id that ends in other signs": b"one.\nriver\n\ftwo -\nstone\n\f(three)\\\nlamp\n\fend.",
    "id of one character": b"1\nriver\n\f2\nstone\n\f",
    "id that looks like a distance": b"0:\nriver\n\f1: 2\nstone\n\f",
    "id not UTF-8": b"\xff\xfe\x80\nriver\n\fcaf\xe9\nstone\n\fcaf\xc3\xa9\nstone\n\f",
    "id with a byte order mark": b"\xef\xbb\xbfone\nriver\n\ftwo\nstone\n\f",
    "empty file": b"",
    "blank file": b" \n\f\r\n\f",
    "file without form feed": b"one\nriver stone\nharbour\n",
    "NUL bytes": b"o\x00ne\nri\x00ver stone\x00\n\f\x00\nriver\n\f",
    "CR alone ends lines": b"one\rriver\rstone\r\ftwo\rstone\r\f",
    "line ends mixed": b"one\r\nriver\n\ftwo\nstone\r\n\fthree\rharbour\n\f",
    "one-letter words and capitals": b"one\nA a B b C RIVER River rIVER\n\ftwo\na river\n\f",
    "digits, hyphens, apostrophes": b"one\nri4ver well-known don't x2\n\ftwo\nver ri known t\n\f",
}
SAMPLE = b"\n sample one\nriver stone\n\fsample two\nharbour the\n\fsample three\n\f"


def course_of(bundled: Course, article: bytes) -> Course:
    return replace(bundled, article=article, sample=article + b"\f" + SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ARTICLES)
def test_simtool_and_store_read_edge_pages_as_the_oracle_does(
    bundled_course: Course, tmp_path: Path, name: str
) -> None:
    bits = 12
    course = course_of(bundled_course, ARTICLES[name])
    write(course, tmp_path)
    result, _ = expected(course, 30, bits)
    assert b"".join(render_simtool(simtool.run(tmp_path, 30, bits))) == result
    with create_store(tmp_path, 30, bits) as store:
        summary = store.ingest([str(tmp_path / "article.txt")])
        pages = oracle.pages(course.article)
        assert (summary.added, summary.rejected) == (len(pages), 0)
        keys = [document.key.encode("utf-8", "surrogateescape") for document in store]
        assert keys == [page_id for page_id, _ in pages]
        run = store.query_many(Files(str(tmp_path / "sample.txt")), record=True)
        assert b"".join(render_simtool(run.samples)) == result
        assert store.maintenance.fsck() == []


def test_word_of_a_million_letters_counts_like_any_other(
    bundled_course: Course, tmp_path: Path
) -> None:
    bits = 100
    article = b"one\n%s river\n\ftwo\nriver\n\fthree\nriver %s\n\f"
    long = course_of(bundled_course, article % (b"Q" * 1_000_000, b"q" * 1_000_000))
    # The oracle takes its time with long words; which words they are changes nothing here.
    short = course_of(bundled_course, article % (b"Q" * 100, b"q" * 100))
    write(long, tmp_path)
    result, _ = expected(short, 30, bits)
    assert b"".join(render_simtool(simtool.run(tmp_path, 30, bits))) == result
    with create_store(tmp_path, 30, bits) as store:
        store.ingest([str(tmp_path / "article.txt")])
        run = store.query_many(Files(str(tmp_path / "sample.txt")), record=True)
        assert b"".join(render_simtool(run.samples)) == result
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("bits", [8, 100])
def test_duplicate_ids_are_two_pages_for_the_tool(
    bundled_course: Course, tmp_path: Path, bits: int
) -> None:
    article = b"same\nriver stone\n\fother\nharbour\n\fsame\nriver stone\n\fsame\nharbour lamp\n\f"
    course = course_of(bundled_course, article)
    write(course, tmp_path)
    result, _ = expected(course, 30, bits)
    assert b"0:same same \n" in result
    assert b"".join(render_simtool(simtool.run(tmp_path, 30, bits))) == result


def test_duplicate_ids_leave_the_later_page_at_the_place_of_the_earlier_in_a_store(
    bundled_course: Course, tmp_path: Path
) -> None:
    article = b"same\nriver stone\n\fother\nharbour\n\fsame\nharbour lamp\n\f"
    course = course_of(bundled_course, article)
    write(course, tmp_path)
    with create_store(tmp_path, 30, 64) as store:
        summary = store.ingest([str(tmp_path / "article.txt")])
        assert (summary.added, summary.updated) == (2, 1)
        stored = [(one.key, one.text) for one in store.list(with_text=True)]
        run = store.query_many(Files(str(tmp_path / "sample.txt")), record=True)
    assert stored == [("same", "harbour lamp\n"), ("other", "harbour\n")]
    kept = replace(course, article=b"same\nharbour lamp\n\fother\nharbour\n\f")
    assert b"".join(render_simtool(run.samples)) == expected(kept, 30, 64)[0]


@pytest.mark.parametrize("sample", [b"", b"\n\f \f", b"only id"])
def test_sample_file_with_few_or_no_samples(
    bundled_course: Course, tmp_path: Path, sample: bytes
) -> None:
    course = replace(bundled_course, sample=sample)
    write(course, tmp_path)
    result, printed = expected(course, 30, 16)
    done = run_simtool(tmp_path, 30, 16)
    assert (done.returncode, done.stdout) == (0, printed)
    assert (tmp_path / "result.txt").read_bytes() == result


@pytest.mark.parametrize(
    "stopwords",
    [
        b"",
        b" \n",
        b"River\nSTONE",
        b"river stone\tharbour\x0bthe\x0c and\r\nof",
        b"ri-ver \xff the",
    ],
)
def test_stop_words_are_separated_by_any_white_space_and_lower_cased(
    bundled_course: Course, tmp_path: Path, stopwords: bytes
) -> None:
    article = b"one\nriver the harbour\n\ftwo\nstone and river\n\fthree\nof ri ver\n\f"
    course = replace(course_of(bundled_course, article), stopwords=stopwords)
    write(course, tmp_path)
    result, _ = expected(course, 5, 32)
    assert b"".join(render_simtool(simtool.run(tmp_path, 5, 32))) == result
    with create_store(tmp_path, 5, 32) as store:
        store.ingest([str(tmp_path / "article.txt")])
        run = store.query_many(Files(str(tmp_path / "sample.txt")), record=True)
        assert b"".join(render_simtool(run.samples)) == result
