"""Which field of a record is the key, the text, a time, a link."""

from __future__ import annotations

from typing import Any

import pytest

from simstore.model import Document
from simstore.sources.fields import RecordFields
from simstore.sources.reader import HistoryFields, ReadOptions


def made(record: dict[str, Any], **options: Any) -> Document | str:
    return RecordFields("name", ReadOptions(**options)).document(record, 3, 10, 20)


@pytest.mark.parametrize(
    ("path", "record", "left"),
    [
        ("a", {"a": "x"}, {}),
        ("a.b", {"a": {"b": "x", "c": 1}}, {"a": {"c": 1}}),
        ("a.b", {"a.b": "x", "a": {"b": "y"}}, {"a": {"b": "y"}}),
        ("a.b.c", {"a": {"b": {"c": "x"}}}, {"a": {"b": {}}}),
        ("a.b.c", {"a.b": {"c": "x"}}, {"a.b": {}}),
        ("a.b.c", {"a": {"b.c": "x"}}, {"a": {}}),
        ("a.b.c", {"a": {"b": 1}, "a.b": {"c": "x"}}, {"a": {"b": 1}, "a.b": {}}),
    ],
)
def test_dotted_path_leads_into_objects(
    path: str, record: dict[str, Any], left: dict[str, Any]
) -> None:
    found = made(record, text_field=path)
    assert isinstance(found, Document)
    assert (found.text, found.metadata, found.key) == ("x", left, "name:4")
    assert (found.position, found.byte_offset, found.end_offset) == (3, 10, 20)


@pytest.mark.parametrize("record", [{}, {"a": "x"}, {"a": {}}, {"a": {"c": "x"}}, {"a": ["b"]}])
def test_path_that_leads_nowhere_is_no_text(record: dict[str, Any]) -> None:
    found = made(record, text_field="a.b")
    assert isinstance(found, str)
    assert found.startswith("no text: none of the fields a.b; there are ")


def test_fields_that_are_there_are_named_where_none_holds_the_text() -> None:
    assert made({"id": 1, "headline": "x", "bad\nname": 2}) == (
        "no text: none of the fields text, content, body; there are id, headline, bad\\nname "
        "(text_field names the text)"
    )
    assert "there are no fields (" in str(made({}))
    many = str(made({f"{n}" + "x" * 100: n for n in range(1_012)}))
    assert "1,000 more" in many
    assert len(many) < 700


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


@pytest.mark.parametrize("key", ["", True, [], {}])
def test_value_that_is_no_key_is_told(key: object) -> None:
    assert made({"text": "t", "id": key}) == (
        "the field id is no key: a string or a number, not empty"
    )


def test_first_field_that_is_not_null_is_the_key() -> None:
    found = made({"text": "t", "key": None, "id": 0, "url": "u"})
    assert isinstance(found, Document)
    assert (found.key, found.metadata) == ("0", {"key": None, "url": "u"})
