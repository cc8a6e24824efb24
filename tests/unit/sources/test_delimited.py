"""CSV and TSV."""

from __future__ import annotations

import sys
from pathlib import Path

from simstore.model import Document, Rejection
from simstore.sources import delimited
from simstore.sources.encoding_detection import not_certain
from simstore.sources.registry import reader_named
from simstore.sources.source import Record

from .reading import check_goes_on_anywhere, documents, read_file, read_stream, reasons, rejections

READER = reader_named("csv")


def read_csv(data: bytes | str, **options: object) -> list[Record]:
    encoded = data.encode() if isinstance(data, str) else data
    return check_goes_on_anywhere(READER, encoded, **options)


def test_row_is_a_document_with_its_other_fields_as_metadata() -> None:
    for end in ("\n", "\r\n"):
        lines = ["id,title,text,site", "1,One,a text,a.example", "2,,,b.example"]
        first, second = read_csv(end.join(lines) + end)
        assert isinstance(first, Document), end
        assert (first.key, first.title, first.text) == ("1", "One", "a text"), end
        assert first.metadata == {"site": "a.example"}, end
        start = len(lines[0]) + len(end)
        assert (first.byte_offset, first.end_offset) == (start, start + len(lines[1]) + len(end)), (
            end
        )
        assert isinstance(second, Document), end
        assert (second.position, second.text) == (1, ""), end


def test_row_without_key_field_is_named_by_its_number() -> None:
    records = read_csv("text\na\n\nb\n")
    assert documents(records) == [("name:1", "a"), ("name:3", "b")]


def test_tsv_is_separated_by_tabs_alone() -> None:
    data = b"id\ttext,a;b|c,d\n1\tx\n"
    (record,) = read_stream(READER, data, "a.tsv.gz", text_field="text,a;b|c,d")
    assert isinstance(record, Document)
    assert record.text == "x"


def test_byte_order_mark_is_no_part_of_the_first_name() -> None:
    assert documents(read_csv("\ufeffid,text\n1,a\n")) == [("1", "a")]


def test_byte_order_mark_inside_of_a_file_is_a_character_of_its_row() -> None:
    for encoding in ("utf-8", "utf-16-le", "utf-32-be"):
        data = '\ufeffid,text\n\ufeff1,"a\n\ufeffb"\n'.encode(encoding)
        assert documents(read_csv(data)) == [("\ufeff1", "a\n\ufeffb")], encoding


def test_rows_that_do_not_fit_are_rejected_with_their_places_and_the_rest_is_read() -> None:
    rows = [b"id,text\n", b"1,a\n", b"2\n", b"3,b,c\n", b"4,\xff\n", b'5,"x"y\n', b"6,z\n"]
    records = read_csv(b"".join(rows))
    assert documents(records) == [("1", "a"), ("6", "z")]
    starts = [sum(map(len, rows[:n])) for n in range(len(rows))]
    assert rejections(records) == [(n - 1, starts[n]) for n in (2, 3, 4, 5)]
    assert [one.head for one in records if isinstance(one, Rejection)] == [
        rows[n] for n in (2, 3, 4, 5)
    ]
    assert reasons(records)[:3] == [
        "1 fields; the first row has 2",
        "3 fields; the first row has 2",
        not_certain(),
    ]
    assert "not CSV" in reasons(records)[3]


def test_quote_that_is_never_closed_costs_one_line() -> None:
    records = read_csv('id,text\n1,"a\n2,b\n3,c\n')
    assert documents(records) == [("2", "b"), ("3", "c")]
    assert reasons(records) == ["a quote is not closed"]


def test_quote_that_swallows_more_than_the_limit_costs_one_line() -> None:
    more = "".join(f"{n},b{n}\n" for n in range(2, 60))
    records = read_csv(f'id,text\n1,"a\n{more}', max_document_bytes=100)
    assert documents(records) == [(str(n), f"b{n}") for n in range(2, 60)]
    assert rejections(records) == [(0, 8)]
    assert "limit" in reasons(records)[0]


def test_row_longer_than_the_limit_is_rejected_and_not_held() -> None:
    records = read_csv(f"id,text\n1,{'a' * 5_000}\n2,b\n", max_document_bytes=100)
    assert documents(records) == [("2", "b")]
    (rejected,) = [one for one in records if isinstance(one, Rejection)]
    assert (rejected.byte_offset, rejected.end_offset) == (8, 8 + 2 + 5_000 + 1)
    assert len(rejected.head) <= 200


def test_text_longer_than_the_limit_of_the_library_is_read() -> None:
    text = "long " * 100_000
    assert documents(read_csv(f'id,text\n1,"{text}"\n')) == [("1", text)]


def test_nul_bytes_are_text() -> None:
    assert documents(read_csv(b"id,text\n1,a\x00b\n")) == [("1", "a\x00b")]


def test_file_whose_first_row_names_no_text_is_one_rejection() -> None:
    for data, reason in (
        (b"id,content of it\n1,a\n", "there are id, content of it (text_field names the text)"),
        (b"\n\n", "it is blank"),
        (b'"id,text\n1,a\n', "a quote is not closed"),
        ("id,words\n1,a\n".encode("utf-16"), "there are id, words (text_field names the text)"),
    ):
        records = read_stream(READER, data)
        assert rejections(records) == [(0, 0)], data
        assert reason in reasons(records)[0], data


def test_lines_that_end_in_carriage_returns_alone_are_told_what_to_do() -> None:
    records = read_csv(b"id,text\ra,some words\rb,other words\r")
    assert "save it with line feeds" in reasons(records)[0]


def test_names_that_stand_twice_are_told_apart() -> None:
    (record,) = read_csv("text,a,a,\nx,1,2,3\n")
    assert isinstance(record, Document)
    assert record.metadata == {"a": "1", "a.2": "2", "": "3"}


def test_empty_file_and_names_alone_hold_nothing() -> None:
    assert read_csv(b"") == []
    assert read_csv(b"id,text\n") == []


SENTENCES = {
    "gb18030": "天地玄黄，宇宙洪荒；日月盈昃，辰宿列张。",
    "cp932": "吾輩は猫である。名前はまだ無い。どこで生れたか見当がつかぬ。",
    "cp1251": "Мой дядя самых честных правил, когда не в шутку занемог.",
}


def test_file_in_another_encoding_is_read_in_the_one_that_is_recognised() -> None:
    for encoding in SENTENCES:
        sentence = SENTENCES[encoding]
        data = f'id,text\n1,"{sentence}"\n2,"{sentence * 3}"\n3,plain\n'.encode(encoding)
        for options, told in (({}, {"encoding_detected": True}), ({"encoding": encoding}, {})):
            records = read_csv(data, **options)
            assert documents(records) == [("1", sentence), ("2", sentence * 3), ("3", "plain")], (
                encoding
            )
            assert all(
                isinstance(one, Document) and one.metadata == {"encoding": encoding} | told
                for one in records
            ), encoding


def test_file_of_utf_16_is_read_on_from_any_row() -> None:
    for mark in ("", "\ufeff"):
        for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
            # Characters of which one byte is that of a line end.
            texts = ["\u0a0a\u010a\u0a00\u0a01", "two\nlines", "天地, 玄黄", "\u0a0d\u0d0a"]
            rows = "".join(f'{number},"{text}"\r\n' for number, text in enumerate(texts))
            data = f"{mark}id,text\r\n{rows}".encode(encoding)
            records = check_goes_on_anywhere(READER, data)
            assert documents(records) == [
                (str(number), text) for number, text in enumerate(texts)
            ], (mark, encoding)
            assert all(
                isinstance(one, Document) and one.metadata == {"encoding": encoding}
                for one in records
            ), (mark, encoding)
            assert records[-1].end_offset == len(data), (mark, encoding)


def test_row_of_utf_16_longer_than_the_limit_is_rejected_alone() -> None:
    data = f"id,text\n1,{'a' * 5_000}\n2,b\n".encode("utf-16")
    records = read_stream(READER, data, max_document_bytes=100)
    assert documents(records) == [("2", "b")]
    assert rejections(records) == [(0, 2 + 2 * 8)]
    assert reasons(records)[0].startswith("the row has more than 100 bytes")


def test_table_in_gbk_with_quotes_and_bars_is_read(tmp_path: Path) -> None:
    # Two of them have the byte of a bar as their second one.
    path = tmp_path / "a.csv"
    lines = ["标题,text", *(f'{n},"縷瓅 “天地玄黄”, 宇宙洪荒\n日月盈昃"' for n in range(3))]
    path.write_bytes("\r\n".join(lines).encode("gbk"))
    found = [one for one in read_file(path) if isinstance(one, Document)]
    assert [one.metadata["标题"] for one in found] == ["0", "1", "2"]
    assert {one.text for one in found} == {"縷瓅 “天地玄黄”, 宇宙洪荒\n日月盈昃"}


def test_names_that_repeat_are_told_apart_in_steps_that_grow_with_their_number() -> None:
    steps = 0

    def count(_frame: object, event: str, _argument: object) -> object:
        nonlocal steps
        steps += event == "line"
        return count

    names = ["", "a", "a", "a.2", "a", *[""] * 5_000]
    before = sys.gettrace()
    sys.settrace(count)
    try:
        found = delimited._distinct(names)
    finally:
        sys.settrace(before)
    assert found[:5] == ["", "a", "a.2", "a.2.2", "a.3"]
    assert len(set(found)) == len(names)
    assert steps < 12 * len(names)


def test_file_without_a_row_of_names_is_told_what_to_do() -> None:
    hint = "; the first row names the fields: put one in front, as id,text"
    for row in ("1,a text", "a,The ferry leaves at seven", "a,,b"):
        (reason,) = reasons(read_csv(row + "\n2,b\n"))
        assert reason.endswith(hint), row
    (reason,) = reasons(read_csv("number,story\n2,b\n"))
    assert not reason.endswith(hint)
