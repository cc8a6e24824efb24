from __future__ import annotations

from simstore.model import Document
from simstore.sources.plain import read_plain

from .reading import documents, read, reasons


def test_file_is_one_document_named_as_the_file() -> None:
    (record,) = read(read_plain, b"one\ntwo\n")
    assert record == Document("name", "one\ntwo\n", position=0, byte_offset=0, end_offset=8)


def test_empty_file_is_an_empty_document() -> None:
    assert documents(read(read_plain, b"")) == [("name", "")]


def test_byte_order_mark_is_dropped_and_other_bytes_are_kept() -> None:
    (record,) = read(read_plain, b"\xef\xbb\xbfcaf\xe9\x00")
    assert isinstance(record, Document)
    assert record.text == "caf\udce9\x00"


def test_file_longer_than_the_limit_is_rejected() -> None:
    assert documents(read(read_plain, b"x" * 10, max_document_bytes=10)) == [("name", "x" * 10)]
    assert reasons(read(read_plain, b"x" * 11, max_document_bytes=10)) == [
        "the file has 11 bytes, more than the limit of 10"
    ]
    (large,) = read(read_plain, b"x" * 3_000_000, max_document_bytes=2_000_000)
    assert large.end_offset == 3_000_000
