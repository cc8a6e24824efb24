from __future__ import annotations

import pytest

from simstore.model import Document
from simstore.sources.plain import PlainReader

from .reading import documents, read_stream, reasons


def test_file_is_one_document_named_as_the_file() -> None:
    (record,) = read_stream(PlainReader(), b"one\ntwo\n")
    assert record == Document("name", "one\ntwo\n", position=0, byte_offset=0, end_offset=8)


def test_empty_file_is_an_empty_document() -> None:
    assert documents(read_stream(PlainReader(), b"")) == [("name", "")]


def test_byte_order_mark_is_dropped_and_other_bytes_are_kept() -> None:
    (record,) = read_stream(PlainReader(), b"\xef\xbb\xbfcaf\xe9\x00")
    assert isinstance(record, Document)
    assert record.text == "caf\udce9\x00"


def test_file_longer_than_the_limit_is_rejected() -> None:
    assert documents(read_stream(PlainReader(), b"x" * 10, max_document_bytes=10)) == [
        ("name", "x" * 10)
    ]
    assert reasons(read_stream(PlainReader(), b"x" * 11, max_document_bytes=10)) == [
        "the file has 11 bytes, more than the limit of 10"
    ]
    (large,) = read_stream(PlainReader(), b"x" * 3_000_000, max_document_bytes=2_000_000)
    assert large.end_offset == 3_000_000


@pytest.mark.parametrize("codec", ["utf-16", "utf-32"])
def test_wide_characters_with_their_mark_are_read(codec: str) -> None:
    (record,) = read_stream(PlainReader(), "größer, 更大".encode(codec))
    assert isinstance(record, Document)
    assert record.text == "größer, 更大"
    assert record.metadata == {"encoding": f"{codec}-le"}
    # An article file of the course is bytes, whatever they look like.
    (record,) = read_stream(PlainReader(), "a".encode(codec), texts_are_articles=True)
    assert isinstance(record, Document)
    assert record.text.startswith("\udcff\udcfe")


def test_encoding_is_named_or_recognised_on_request() -> None:
    data = ("人人生而自由，在尊严和权利上一律平等。" * 3).encode("gbk")
    for encoding in ("auto", "gb18030"):
        (record,) = read_stream(PlainReader(), data + b"\xff", encoding=encoding)
        assert isinstance(record, Document)
        assert record.text == data.decode("gbk") + "\ufffd"
        assert record.metadata == {"encoding": "gb18030", "replaced_bytes": 1}
    (record,) = read_stream(PlainReader(), data, encoding="keep")
    assert isinstance(record, Document)
    assert record.text.encode("utf-8", "surrogateescape") == data
