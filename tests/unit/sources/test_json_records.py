"""Reading JSON that is no JSON Lines: arrays of records, and what jq writes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from simstore.model import Rejection
from simstore.sources import json_records
from simstore.sources.reader import ReadOptions, ReadRequest
from simstore.sources.registry import reader_named

from .reading import check_goes_on_anywhere, documents, read_file, read_stream, reasons

RECORDS = [
    {"id": "one", "text": 'a "quoted" text, with } and ] and \\'},
    {"text": "人人生而自由", "tags": ["a", {"b": [1]}]},
    {"id": 3, "text": '\\\\"', "title": "t"},
]
EXPECTED = [
    ("one", RECORDS[0]["text"]),
    ("name:2", RECORDS[1]["text"]),
    ("3", RECORDS[2]["text"]),
]
FORMS = {
    "pandas": json.dumps(RECORDS, separators=(",", ":")),
    "indented": json.dumps(RECORDS, indent=2, ensure_ascii=False),
    "jq": "\n".join(json.dumps(one, indent=2, ensure_ascii=False) for one in RECORDS) + "\n",
    "by hand": "\n".join(json.dumps(one).replace(', "text"', ',\n "text"') for one in RECORDS),
    "lines": "".join(json.dumps(one) + "\n" for one in RECORDS),
    "marked": "\ufeff" + json.dumps(RECORDS),
    "arrays": f"[{json.dumps(RECORDS[0])}]\n{json.dumps(RECORDS[1:])}",
}
JSON = reader_named("json")


def test_records_are_read_in_every_form_and_on_from_each() -> None:
    for form in FORMS:
        data = FORMS[form].encode()
        assert documents(check_goes_on_anywhere(JSON, data)) == EXPECTED, form


def test_records_are_the_same_however_the_bytes_come(monkeypatch: pytest.MonkeyPatch) -> None:
    for form in FORMS:
        for size in (1, 2, 3, 7):
            if form == "marked":
                size = max(size, 3)
            monkeypatch.setattr(json_records, "_CHUNK", size)
            data = FORMS[form].encode()
            whole = read_stream(JSON, data)
            assert documents(whole) == EXPECTED, (form, size)


def test_array_of_records_is_known_by_its_beginning(tmp_path: Path) -> None:
    for name in ("records.json", "records", "records.json.bak"):
        for form in ("pandas", "indented", "jq", "by hand", "marked"):
            path = tmp_path / name
            path.write_text(FORMS[form], encoding="utf-8")
            assert [text for _, text in documents(read_file(path))] == [
                text for _, text in EXPECTED
            ], name
        path.with_name("a.txt").write_text(FORMS["pandas"], encoding="utf-8")
        assert documents(read_file(path.with_name("a.txt")))[0][1] == FORMS["pandas"], name


def test_text_in_brackets_is_a_text(tmp_path: Path) -> None:
    for text in ("[1] A reference.", "[ ] to do", "{curly} text", "[]"):
        path = tmp_path / "notes"
        path.write_text(text)
        assert documents(read_file(path)) == [(str(path), text)]


def test_bad_record_is_rejected_and_the_others_are_read() -> None:
    data = b'[{"text": "a"}, {"text": 7}, {"body": }, 5, "six", {"none": 1}, {"text": "b"}, null]'
    records = read_stream(JSON, data)
    assert documents(records) == [("name:1", "a"), ("name:7", "b")]
    assert [reason.partition(":")[0] for reason in reasons(records)] == [
        "the field text is not a string", "not JSON", "a JSON number, not an object",
        "a JSON string, not an object", "no text", "a JSON null, not an object",
    ]  # fmt: skip
    for one in records:
        if isinstance(one, Rejection):
            assert data[one.byte_offset : one.end_offset] == one.head


def test_records_that_stand_elsewhere_are_told_with_the_remedy() -> None:
    for data, hint in (
        (b'{\n"meta": 1,\n"data": [{"text": "a"}]}', "jq '.data' FILE | simstore ingest -"),
        (b'{\n "cells": [{"source": []}],\n "nbformat": 4}', "jupyter nbconvert --to markdown"),
        (b'{\n"text": {"0": "a"},\n"id": {"0": 1}}', "orient='records'"),
        ('[{"text": "a"}]'.encode("utf-16"), "JSON in UTF-16-LE: save it as UTF-8"),
        (b'[{"text": "caf\xe9"}]', "not UTF-8 at byte 13: save it as UTF-8"),
    ):
        (reason,) = reasons(read_stream(JSON, data))
        assert hint in reason, data


def test_file_that_breaks_off_loses_its_last_record_alone() -> None:
    data = FORMS["indented"].encode()
    for cut in range(3, len(data) - 3):
        records = read_stream(JSON, data[:cut])
        found = documents(records)
        assert found == EXPECTED[: len(found)]
        assert len(found) + len(reasons(records)) == len(records)


def test_record_above_the_limit_is_rejected_without_being_held() -> None:
    data = json.dumps([{"text": "a"}, {"text": "x" * 500}, {"text": "b"}]).encode()
    records = read_stream(JSON, data, max_document_bytes=100)
    assert documents(records) == [("name:1", "a"), ("name:3", "b")]
    assert reasons(records) == ["the record has 512 bytes, more than the limit of 100"]


def test_deep_nesting_is_rejected() -> None:
    data = b'[{"text": "a", "m": ' + b"[" * 99_999 + b"]" * 99_999 + b'}, {"text": "b"}]'
    request = ReadRequest("name", 0, 0, ReadOptions(), data[:65_536])
    records = list(JSON.read(io.BufferedReader(io.BytesIO(data)), request))
    assert documents(records) == [("name:2", "b")]
    assert "deep" in reasons(records)[0]
