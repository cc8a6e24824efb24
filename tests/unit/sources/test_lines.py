"""Plain text with a document a line."""

from __future__ import annotations

from pathlib import Path

from simstore.sources.lines import LinesReader

from .reading import check_goes_on_anywhere, documents, read_file, reasons, rejections

READER = LinesReader()


def test_line_is_a_document_named_by_its_number() -> None:
    data = b"\xef\xbb\xbfone \n\n \t\ntwo\r\nthree"
    assert documents(check_goes_on_anywhere(READER, data)) == [
        ("name:1", "one "),
        ("name:4", "two"),
        ("name:5", "three"),
    ]


def test_bytes_that_are_not_utf8_are_kept() -> None:
    (record,) = documents(check_goes_on_anywhere(READER, b"caf\xe9\n"))
    assert record[1].encode("utf-8", "surrogateescape") == b"caf\xe9"


def test_longer_line_is_rejected_and_the_rest_is_read() -> None:
    data = b"short\n" + b"x" * 5_000 + b"\nlast\n"
    records = check_goes_on_anywhere(READER, data, max_document_bytes=100)
    assert documents(records) == [("name:1", "short"), ("name:3", "last")]
    assert rejections(records) == [(1, 6)]
    assert "5,001 bytes" in reasons(records)[0]


def test_lines_are_read_only_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    assert documents(read_file(path)) == [(str(path), "one\ntwo\n")]
    assert documents(read_file(path, format="lines")) == [
        (f"{path}:1", "one"),
        (f"{path}:2", "two"),
    ]
