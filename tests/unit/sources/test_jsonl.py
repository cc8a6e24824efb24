from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

from simstore.model import Document, Rejection
from simstore.sources.encoding_detection import not_certain
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.sources.registry import choose_reader, reader_named

from .reading import check_goes_on_anywhere, documents, read_stream, reasons, rejections

READER = reader_named("jsonl")
# Lines are UTF-8, or rejected.
read = partial(read_stream, READER, encoding="keep")


def one(line: str | bytes) -> Document | Rejection:
    data = line if isinstance(line, bytes) else line.encode()
    (record,) = read(data + b"\n")
    return record


def test_line_that_is_no_record_is_rejected_with_the_reason() -> None:
    for line, reason in (
        ("{", "not JSON"),
        ('{"text": "t"} x', "not JSON"),
        ("[1, 2]", "a JSON list, not an object"),
        ('"text"', "a JSON string, not an object"),
        ("3", "a JSON number, not an object"),
        ("null", "a JSON null, not an object"),
        ('{"key": "k"}', "no text"),
        ('{"key": "k", "text": null}', "not a string"),
        ('{"key": "k", "text": 3}', "not a string"),
        ('{"key": "", "text": "t"}', "no key"),
        ('{"key": true, "text": "t"}', "no key"),
        ('{"key": ["k"], "text": "t"}', "no key"),
        ('{"key": Infinity, "text": "t"}', "no key"),
        ('{"key": -1e999, "text": "t"}', "no key"),
        ('{"key": NaN, "text": "t"}', "no key"),
        (b'{"key": "\xff", "text": "t"}', "not UTF-8 at byte 9"),
        ('{"key": "k", "text": "t", "n": ' + "1" * 5_000 + "}", "not usable"),
        ('{"key": "k", "text": "t", "n": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
    ):
        record = one(line)
        assert isinstance(record, Rejection), line
        assert reason in record.reason, line
        assert "\n" not in record.reason, line


def test_nested_record_is_read_or_rejected_at_any_depth() -> None:
    for depth in (10, 63, 64, 200, 400, 600, 800, 950, 2_000, 100_000):
        nested = '{"key": "k", "text": "t", "n": ' + "[" * depth + "]" * depth + "}"
        records = read(f'{nested}\n{{"key": "after", "text": "t"}}\n'.encode())
        assert len(records) == 2, depth
        assert records[1] == Document(
            "after",
            "t",
            title=None,
            collection=None,
            metadata={},
            position=1,
            byte_offset=len(nested) + 1,
            end_offset=len(nested) + 1 + 30,
        ), depth
        # The metadata themselves are the first level.
        if depth < 64:
            assert isinstance(records[0], Document), depth
        else:
            assert isinstance(records[0], Rejection), depth
            assert records[0].reason == "not usable: nested deeper than 64 levels", depth


def test_lone_surrogates_become_replacement_characters() -> None:
    record = one(
        r'{"key": "a\ud800", "text": "\udcff t \ud83d\ude00", "title": "\ude00\u0000",'
        r' "m": {"\ud800": ["\udfff"]}}'
    )
    assert isinstance(record, Document)
    assert (record.key, record.text, record.title) == (
        "a\ufffd",
        "\ufffd t \U0001f600",
        "\ufffd\ufffd",
    )
    assert record.metadata == {"m": {"\ufffd": ["\ufffd"]}}


def test_key_may_be_a_number_or_any_text() -> None:
    for value, key in (("7", "7"), ("0", "0"), ("1.5", "1.5"), ('" "', " "), ('"\\u0000"', "\x00")):
        record = one(f'{{"key": {value}, "text": "t"}}')
        assert isinstance(record, Document), value
        assert record.key == key, value


def test_positions_and_offsets_count_lines_and_bytes() -> None:
    data = b'{"key": "a", "text": "x"}\r\n\n{bad\n{"key": "b", "text": "y"}'
    records = read(data)
    assert [(r.position, r.byte_offset, r.end_offset) for r in records] == [
        (0, 0, 27),
        (2, 28, 33),
        (3, 33, 58),
    ]
    for record in records:
        place = (record.position or 0) + 1, record.end_offset or 0
        rest = read_stream(READER, data, "name", *place)
        assert rest == records[records.index(record) + 1 :]


def test_limit_is_that_of_the_line_without_its_end() -> None:
    for end in (b"", b"\n", b"\r\n"):
        line = json.dumps({"key": "k", "text": "t" * 80}).encode()
        assert rejections(read(line + end, max_document_bytes=len(line))) == [], end
        assert rejections(read(line + end, max_document_bytes=len(line) - 1)) == [(0, 0)], end


def test_line_longer_than_the_limit_is_rejected_and_the_rest_is_read() -> None:
    long = json.dumps({"key": "long", "text": "t" * 3_000_000}).encode()
    data = b'{"key": "a", "text": "x"}\n' + long + b'\n{"key": "b", "text": "y"}\n'
    records = read(data, max_document_bytes=1_000)
    assert documents(records) == [("a", "x"), ("b", "y")]
    (rejected,) = [r for r in records if isinstance(r, Rejection)]
    assert (rejected.position, rejected.byte_offset) == (1, 26)
    assert rejected.end_offset == 26 + len(long) + 1
    assert "more than the limit of 1,000" in rejected.reason
    assert len(rejected.head) == 200


def test_file_of_utf_16_is_read_on_from_any_line() -> None:
    for mark in ("", "\ufeff"):
        for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
            objects = [
                {"id": f"{n}", "text": text} for n, text in enumerate(["\u0a0a\u010a", "天", "c"])
            ]
            lines = "\n\r\n".join(json.dumps(one, ensure_ascii=False) for one in objects)
            data = f"{mark}{lines}\nno JSON\n".encode(encoding)
            assert choose_reader("name", data, ReadOptions(), lambda: True).name == "jsonl", (
                mark,
                encoding,
            )
            records = check_goes_on_anywhere(READER, data)
            assert documents(records) == [("0", "\u0a0a\u010a"), ("1", "天"), ("2", "c")], (
                mark,
                encoding,
            )
            assert records[0].metadata == {"encoding": encoding}, (mark, encoding)  # type: ignore[union-attr]
            assert reasons(records) == ["not JSON: Expecting value at column 1"], (mark, encoding)


def test_line_of_utf_16_longer_than_the_limit_is_rejected_alone() -> None:
    line = json.dumps({"id": "a", "text": "x" * 500})
    data = f"{line}\r\n{line}\n".encode("utf-16")
    size = 2 * len(line)
    read = partial(read_stream, READER, data)
    assert rejections(read(max_document_bytes=size + 2)) == []
    assert rejections(read(max_document_bytes=size)) == [(0, 0)]
    assert rejections(read(max_document_bytes=size - 1)) == [(0, 0), (1, 2 + size + 4)]


def test_lines_that_are_not_utf_8_are_read_in_the_encoding_that_is_named() -> None:
    line = '{"id": "%s", "text": "天地玄黄"}\n'
    data = (line % 1).encode("gbk") + (line % 2).encode() + b'{"text": "\xff\xff"}\n'
    records = read_stream(READER, data, encoding="gb18030")
    assert documents(records) == [("1", "天地玄黄"), ("2", "天地玄黄")]
    assert [one.metadata for one in records[:2]] == [{"encoding": "gb18030"}, {}]  # type: ignore[union-attr]
    assert reasons(records) == ["not UTF-8 at byte 10"]
    assert len(reasons(read_stream(READER, data, encoding="keep"))) == 2


def test_line_that_is_not_utf_8_is_detected_by_its_file_or_itself_or_rejected() -> None:
    line = '{"id": "%s", "text": "人人生而自由，在尊严和权利上一律平等。"}\n'
    data = (line % 1).encode("gbk") + '{"id": "2", "text": "天地"}\n'.encode("gbk")
    data += (line % 3).encode() + b'{"id": "4", "text": "\xff\xff"}\n'
    records = check_goes_on_anywhere(READER, data)
    detected = {"encoding": "gb18030", "encoding_detected": True}
    assert [(one.key, one.metadata) for one in records if isinstance(one, Document)] == [
        ("1", detected),
        ("2", detected),
        ("3", {}),
    ]
    assert reasons(records) == [not_certain(b'{"id": "4", "text": "\xff\xff"}\n')]


def test_line_of_a_foreign_byte_order_mark_alone_is_not_blank() -> None:
    for mark in (b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\xff\xfe \0"):
        data = b'{"id": "1", "text": "a"}\n' + mark
        records = read_stream(READER, data)
        assert documents(records) == [("1", "a")], mark
        assert reasons(records) == [not_certain(mark)], mark


def test_line_of_utf_8_with_what_looks_like_escapes_of_hz_is_read_as_it_is() -> None:
    for text in (
        "regex ~{abcdef and more",
        "~{abcdefgh",
        "x ~{!!!!!!~",
        "~{<:Ky2;~} ~{abcd",
        "a~{MMMM",
    ):
        line = json.dumps({"id": "1", "text": text}).encode()
        (record,) = read_stream(READER, line + b"\n")
        assert isinstance(record, Document), text
        assert (record.text, record.metadata) == (text, {}), text


def test_lines_of_hz_are_still_read_as_hz() -> None:
    text = "人人生而自由，在尊严和权利上一律平等。"
    (record,) = read_stream(READER, b'{"text": "%s"}\n' % text.encode("hz"))
    assert isinstance(record, Document)
    assert (record.text, record.metadata["encoding"]) == (text, "hz")


def test_file_of_utf_16_that_has_grown_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "a"}\n'.encode("utf-16-le"))
    source = FileSource(str(path), ReadOptions())
    (first,) = source.records()
    known = replace(source.state(), position=1, byte_offset=first.end_offset or 0)
    assert not FileSource(str(path), ReadOptions()).has_grown(known)
    with path.open("ab") as file:
        file.write('{"text": "b"}\n'.encode("utf-16-le"))
    assert FileSource(str(path), ReadOptions()).has_grown(known)
