from __future__ import annotations

import io

import oracle
import pytest

from simstore.model import Document, Rejection
from simstore.sources import articles
from simstore.sources.articles import read_articles, split_page
from simstore.sources.encoding_detection import not_certain
from simstore.sources.registry import reader_named

from .reading import check_goes_on_anywhere, documents, read, reasons, rejections

PAGES = b"\n\n one \nriver\n\f\r\ntwo\r\nstone\r\n\r\n\f \f\f three\n\fcaf\xe9\t \nlamp\n"


def test_pages_have_key_text_place_and_extent() -> None:
    records = read(read_articles, PAGES)
    assert documents(records) == [
        ("one", "river\n"),
        ("two", "stone\r\n\r\n"),
        ("three", ""),
        ("caf\udce9", "lamp\n"),
    ]
    places = [(one.position, one.byte_offset, one.end_offset) for one in records]
    assert places == [(0, 3, 15), (1, 17, 32), (2, 36, 43), (3, 43, 55)]
    for one in records:
        assert isinstance(one, Document)
        assert PAGES[one.byte_offset :].startswith(one.key.encode("utf-8", "surrogateescape"))


def test_size_of_a_read_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (1, 2, 3, 7, 20):
        whole = read(read_articles, PAGES)
        monkeypatch.setattr(articles, "_CHUNK", chunk)
        assert read(read_articles, PAGES) == whole, chunk
        buffered = io.BufferedReader(io.BytesIO(PAGES), chunk)  # type: ignore[arg-type]
        assert list(read_articles(buffered, "name")) == whole, chunk


def test_line_end_after_the_key_belongs_to_neither() -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        assert split_page(b"key  " + end + b"body" + end) == (b"key", b"body" + end), end
        assert split_page(b"key") == (b"key", b""), end
        assert split_page(b"key" + end) == (b"key", b""), end
        assert split_page(b"key" + end + end + b"x") == (b"key", end + b"x"), end


def test_page_longer_than_the_limit_is_rejected_and_the_rest_is_read() -> None:
    data = b"one\nriver\n\ftwo\n" + b"x" * 100 + b"\n\fthree\nlamp\n\f"
    records = read(read_articles, data, max_document_bytes=50)
    assert documents(records) == [("one", "river\n"), ("three", "lamp\n")]
    (rejected,) = [one for one in records if isinstance(one, Rejection)]
    assert (rejected.position, rejected.byte_offset, rejected.end_offset) == (1, 11, 117)
    assert "105 bytes" in rejected.reason
    assert "50" in rejected.reason
    assert rejected.head.startswith(b"two\nxxx")
    assert [one.position for one in records] == [0, 1, 2]


def test_page_of_exactly_the_limit_is_read() -> None:
    page = b"one\n" + b"x" * 46
    assert rejections(read(read_articles, page + b"\f", max_document_bytes=50)) == []
    assert rejections(read(read_articles, page, max_document_bytes=50)) == []
    assert rejections(read(read_articles, page + b"x\f", max_document_bytes=50)) == [(0, 0)]


def test_white_space_before_a_page_does_not_count_toward_the_limit() -> None:
    records = read(read_articles, b"\n" * 300 + b"one\nriver\f", max_document_bytes=50)
    assert documents(records) == [("one", "river")]


def test_white_space_alone_is_no_page_however_long() -> None:
    data = b"one\nriver\f" + b" \n" * 300 + b"\ftwo\nlamp\f"
    records = read(read_articles, data, max_document_bytes=50)
    assert documents(records) == [("one", "river"), ("two", "lamp")]
    assert [one.position for one in records] == [0, 1]


def test_pages_are_those_of_the_oracle() -> None:
    for data in (
        b"",
        b"\f",
        b"a",
        b"a\f",
        b"\fa\f\f",
        b"\x00\n\x00\f",
        b"\xef\xbb\xbfa\nb\f",
        b"a\rb\fc\r\nd",
    ):
        found = [
            (
                key.encode("utf-8", "surrogateescape"),
                oracle.words(text.encode(errors="surrogateescape")),
            )
            for key, text in documents(read(read_articles, data))
        ]
        assert found == [(key, oracle.words(body)) for key, body in oracle.pages(data)], data


def test_trailing_blanks_of_an_id_are_spaces_and_tabs_as_the_course_tool_has_it() -> None:
    page = b"one two \t \nbody"
    assert split_page(page) == (b"one two", b"body")
    assert oracle.pages(page)[0][0] == b"one two"
    page = b"one\v\nbody"
    assert split_page(page) == (b"one\v", b"body")
    assert oracle.pages(page)[0][0] == b"one\v"


def test_page_is_read_in_the_encoding_that_is_detected_or_rejected_and_its_key_is_bytes() -> None:
    body = "人人生而自由，在尊严和权利上一律平等。"
    data = f"一\n{body}\f二\n天地\fthree\n".encode("gbk") + b"\xff\fcaf\xe9\nplain\f"
    records = check_goes_on_anywhere(reader_named("articles"), data)
    keys = [key.encode("gbk").decode("utf-8", "surrogateescape") for key in ("一", "二")]
    assert documents(records) == [(keys[0], body), (keys[1], "天地"), ("caf\udce9", "plain")]
    assert [one.metadata for one in records if isinstance(one, Document)][1:] == [
        {"encoding": "gb18030", "encoding_detected": True},
        {},
    ]
    assert reasons(records) == [not_certain(b"\xff")]


def test_bytes_of_pages_are_kept_on_request_and_for_the_course() -> None:
    for options in ({"encoding": "keep"}, {"texts_are_articles": True}):
        body = "人人生而自由，在尊严和权利上一律平等。".encode("gbk")
        (record,) = check_goes_on_anywhere(reader_named("articles"), b"key\n" + body, **options)
        assert isinstance(record, Document), options
        assert (record.text.encode("utf-8", "surrogateescape"), record.metadata) == (body, {}), (
            options
        )
