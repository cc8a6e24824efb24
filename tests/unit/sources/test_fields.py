"""Which field of a record is the key, the text, a time, a link."""

from __future__ import annotations

from typing import Any

from simstore.model import Document
from simstore.sources.fields import RecordFields
from simstore.sources.reader import HistoryFields, ReadOptions, SourceFields


def made(record: dict[str, Any], **options: Any) -> Document | str:
    return RecordFields("name", ReadOptions(**options)).document(record, 3, 10, 20)


def test_dotted_path_leads_into_objects() -> None:
    for path, record, left in (
        ("a", {"a": "x"}, {}),
        ("a.b", {"a": {"b": "x", "c": 1}}, {"a": {"c": 1}}),
        ("a.b", {"a.b": "x", "a": {"b": "y"}}, {"a": {"b": "y"}}),
        ("a.b.c", {"a": {"b": {"c": "x"}}}, {"a": {"b": {}}}),
        ("a.b.c", {"a.b": {"c": "x"}}, {"a.b": {}}),
        ("a.b.c", {"a": {"b.c": "x"}}, {"a": {}}),
        ("a.b.c", {"a": {"b": 1}, "a.b": {"c": "x"}}, {"a": {"b": 1}, "a.b": {}}),
    ):
        found = made(record, text_field=path)
        assert isinstance(found, Document), path
        assert (found.text, found.metadata, found.key) == ("x", left, "name:4"), path
        assert (found.position, found.byte_offset, found.end_offset) == (3, 10, 20), path


def test_path_that_leads_nowhere_is_no_text() -> None:
    for record in ({}, {"a": "x"}, {"a": {}}, {"a": {"c": "x"}}, {"a": ["b"]}):
        found = made(record, text_field="a.b")
        assert isinstance(found, str), record
        assert found.startswith("no text: none of the fields a.b; there are "), record


def test_fields_that_are_there_are_named_where_none_holds_the_text() -> None:
    assert made({"id": 1, "headline": "x", "bad\nname": 2}) == (
        "no text: none of the fields text, content, body; there are id, headline, bad\\nname "
        "(text_field names the text)"
    )
    assert "there are no fields (" in str(made({}))
    many = str(made({f"{n}" + "x" * 100: n for n in range(1_012)}))
    assert "1,000 more" in many
    assert len(many) < 700


def test_usual_names_are_found_whatever_their_case() -> None:
    for record, expected in (
        ({"Text": "x", "ID": "k"}, ("k", "x")),
        ({" TEXT ": "x", "Url": "u", "Id": "k"}, ("k", "x")),
        ({"Body": "x"}, ("name:4", "x")),
        # Where the text is called as usual, records keep the keys that they always had.
        ({"text": "x", "ID": "k"}, ("name:4", "x")),
        ({"text": "x", "Text": "y", "id": "k"}, ("k", "x")),
    ):
        found = made(record)
        assert isinstance(found, Document), record
        assert (found.key, found.text) == expected, record


def test_usual_name_that_is_written_in_two_ways_is_none() -> None:
    assert str(made({"Text": "x", "TEXT": "y"})).startswith("no text: ")
    assert str(made({"Text": "x"}, text_field="text")) == (
        "no text: none of the fields text; there are Text; perhaps Text is meant "
        "(text_field names the text)"
    )


def test_field_with_nearly_the_name_is_suggested() -> None:
    record = {"abstract": "x", "identifier": "k"}
    assert "; perhaps abstract is meant (" in str(made(dict(record), text_field="abstrct"))
    assert "meant" not in str(made(dict(record), text_field="summary"))
    assert made(dict(record), text_field="abstract", key_field="identifer") == (
        "no key: the field identifer is missing; perhaps identifier is meant"
    )


def test_key_times_and_links_are_reached_by_dotted_paths_too() -> None:
    record = {
        "text": "t",
        "meta": {"id": 7, "seen": "2026-05-01", "out": ["a"], "more": 1},
    }
    found = made(
        record, key_field="meta.id", history_fields=HistoryFields("meta.seen", None, "meta.out")
    )
    assert isinstance(found, Document)
    assert (found.key, found.seen_at, found.links) == ("7", 1_777_593_600, ("a",))
    assert found.metadata == {"meta": {"more": 1}}


def test_value_that_is_no_key_is_told() -> None:
    for key in ("", True, [], {}):
        assert made({"text": "t", "id": key}) == (
            "the field id is no key: a string or a number, not empty"
        ), key


def test_first_field_that_is_not_null_is_the_key() -> None:
    found = made({"text": "t", "key": None, "id": 0, "url": "u"})
    assert isinstance(found, Document)
    assert (found.key, found.metadata) == ("0", {"key": None, "url": "u"})


def test_fields_that_say_what_a_document_is_have_names_of_their_own():
    read = ReadOptions(
        source_fields=SourceFields(title="head", author="meta.by", date="day", url="link")
    )
    record = {
        "id": "a", "text": "t", "head": 7, "title": "old", "meta": {"by": ["Ann"]},
        "day": "May 2020", "link": "http://a.b/c", "author": None,
    }  # fmt: skip
    found = RecordFields("s", read).document(record, 0, 0, 0)
    assert isinstance(found, Document)
    assert found.title == "7"
    assert {name: value for name, value in found.metadata.items() if value} == {
        "author": ["Ann"], "date": "May 2020", "url": "http://a.b/c", "title_given": "old",
    }  # fmt: skip
