"""How deep and how long metadata may be, by every way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simstore import Document, Store
from simstore.errors import InvalidParameter, MalformedRequest
from simstore.model import Rejection, WriteRequest
from simstore.server.documents import document_of
from simstore.sources.documents import MOST_BYTES, check_metadata
from simstore.sources.fields import RecordFields, of_table
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def sized(size: int, letter: str = "x") -> dict[str, Any]:
    """Return metadata of so many bytes as JSON."""
    room = size - len('{"n":""}')
    return {"n": letter * (room // len(letter.encode()))}


DEEP = {"n": nested(64)}
LONG = sized(MOST_BYTES + 1)
TOO_MUCH = {"deep": (DEEP, "nested deeper than 64 levels"), "long": (LONG, "1,048,577 bytes")}
MOST = {
    "deep": {"n": nested(63)},
    "long": sized(MOST_BYTES),
    "of objects": {"n": {"m": [{"o": nested(60)}]}},
    "wide": {"n": [[n] for n in range(20_000)]},
    "of two bytes a letter": sized(MOST_BYTES - 2, "é"),
}


@pytest.mark.parametrize("name", MOST)
def test_what_is_just_allowed_is_taken_and_comes_back(tmp_path: Path, name: str) -> None:
    metadata = MOST[name]
    check_metadata(metadata)
    (tmp_path / "a.jsonl").write_text(json.dumps({"key": "file", "text": "t", **metadata}))
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([Document("given", "t", metadata=metadata)])
        store.ingest([str(tmp_path / "a.jsonl")])
        for key in ("given", "file"):
            assert store.get(key).metadata == metadata
        assert [one.metadata for one in store.list()] == [metadata] * 2
    given = document_of({"key": "a", "text": "t", "metadata": metadata}, "body")
    assert given.metadata == metadata


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_is_more_is_refused_by_every_way_in(tmp_path: Path, name: str) -> None:
    metadata, reason = TOO_MUCH[name]
    with Store.create(tmp_path / "s.db") as store:
        with pytest.raises(InvalidParameter, match=reason):
            store.add_many([Document("a", "t", metadata=metadata)])
        with store.runs.writer() as writer, pytest.raises(InvalidParameter, match=reason):
            writer.checked(WriteRequest((Document("a", "t", metadata=metadata),)))
        assert len(store) == 0
    with pytest.raises(MalformedRequest, match=rf"body\.metadata: .*{reason}"):
        document_of({"key": "a", "text": "t", "metadata": metadata}, "body")
    record = {"key": "a", "text": "t", **metadata}
    exported = {"simstore_record": 1, "key": "a", "text": "t", "metadata": json.dumps(metadata)}
    for line in (record, exported):
        (tmp_path / "a.jsonl").write_text(json.dumps(line))
        (found,) = FileSource(str(tmp_path / "a.jsonl"), ReadOptions()).records()
        assert isinstance(found, Rejection)
        assert reason in found.reason


def test_the_metadata_of_a_page_are_bounded_too(tmp_path: Path) -> None:
    page = f"<html><link rel=canonical href='https://a.example/{'x' * MOST_BYTES}'><p>text"
    (tmp_path / "a.html").write_text(page)
    (found,) = FileSource(str(tmp_path / "a.html"), ReadOptions()).records()
    if isinstance(found, Document):
        check_metadata(found.metadata)
    else:
        assert isinstance(found, Rejection)
        assert "metadata" in found.reason


def test_a_cell_of_a_table_that_is_nested_too_deeply_is_refused_at_any_depth() -> None:
    fields = RecordFields("table", ReadOptions())
    for levels, is_taken in ((63, True), (64, False), (400, False), (100_000, False)):
        made = fields.document(of_table([("text", "t"), ("n", nested(levels))]), 0, 0, 0)
        assert isinstance(made, Document) == is_taken


def test_metadata_in_a_circle_are_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="64 levels"):
        check_metadata({"n": circle})
    with pytest.raises(ValueError, match="not JSON serializable"):
        check_metadata({"n": {1, 2}})
