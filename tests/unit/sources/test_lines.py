"""Plain text with a document a line."""

from __future__ import annotations

from simstore.model import Document
from simstore.sources.encoding_detection import not_certain
from simstore.sources.registry import reader_named

from .reading import (
    check_goes_on_anywhere,
    documents,
    reasons,
    rejections,
)

READER = reader_named("lines")


def test_line_is_a_document_named_by_its_number() -> None:
    data = b"\xef\xbb\xbfone \n\n \t\ntwo\r\nthree"
    assert documents(check_goes_on_anywhere(READER, data)) == [
        ("name:1", "one "),
        ("name:4", "two"),
        ("name:5", "three"),
    ]


def test_bytes_that_are_not_utf8_are_kept_on_request() -> None:
    for options in ({"encoding": "keep"}, {"texts_are_articles": True}):
        (record,) = check_goes_on_anywhere(READER, b"caf\xe9\n", **options)
        assert isinstance(record, Document)
        assert record.text.encode("utf-8", "surrogateescape") == b"caf\xe9"
        assert record.metadata == {}


def test_line_is_read_in_the_encoding_that_is_detected_or_rejected() -> None:
    gbk = {"encoding": "gb18030", "encoding_detected": True}
    lines = ["plain", "天地", "人人生而自由，在尊严和权利上一律平等。", "日月"]
    data = "\n".join(lines).encode("gbk") + "\n天地".encode() + b"\ncaf\xe9\nlast"
    records = check_goes_on_anywhere(READER, data)
    found = {one.key: (one.text, one.metadata) for one in records if isinstance(one, Document)}
    # Two characters alone tell no encoding; the beginning of the file tells that of all its lines.
    assert found == {
        "name:1": ("plain", {}),
        "name:2": (lines[1], gbk),
        "name:3": (lines[2], gbk),
        "name:4": (lines[3], gbk),
        "name:5": ("天地", {}),
        "name:7": ("last", {}),
    }
    assert reasons(records) == [not_certain(b"caf\xe9\n")]


def test_lines_of_utf_16_and_utf_32_are_read() -> None:
    for mark in ("\ufeff", ""):
        for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
            data = f"{mark}first\r\n\n天地\n  \n\u0a0a".encode(codec)
            records = check_goes_on_anywhere(READER, data)
            assert documents(records) == [
                ("name:1", "first"),
                ("name:3", "天地"),
                ("name:5", "\u0a0a"),
            ], (mark, codec)
            assert {one.metadata["encoding"] for one in records if isinstance(one, Document)} == {
                codec
            }, (mark, codec)


def test_longer_line_is_rejected_and_the_rest_is_read() -> None:
    data = b"short\n" + b"x" * 5_000 + b"\nlast\n"
    records = check_goes_on_anywhere(READER, data, max_document_bytes=100)
    assert documents(records) == [("name:1", "short"), ("name:3", "last")]
    assert rejections(records) == [(1, 6)]
    assert "5,001 bytes" in reasons(records)[0]
