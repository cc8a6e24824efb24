from __future__ import annotations

import json
from typing import Any

from simstore.model import Document, Rejection
from simstore.model.documents import EXPORT_FIELD, ExportedDocument
from simstore.reports.exported import json_line
from simstore.sources.registry import reader_named

from .reading import read_stream


def read(*lines: bytes | dict[str, Any], **options: Any) -> list[Document | Rejection]:
    data = b"".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
    )
    return read_stream(reader_named("jsonl"), data, "x.jsonl", **options)


def test_a_record_comes_back() -> None:
    for basis, first, seen_at, published_at, since in (
        ("ingest", 5, 9, None, 5),
        ("crawl", -5, 9, None, -5),
        ("published", 5, 9, 5, None),
    ):
        text = 'bytes \udcff, controls \x00\x1b\x85, "quotes" and 三'
        metadata = {"key": "k", "text": "t", "simstore_record": 1, "deep": [{"ü": None}]}
        line = json_line(
            ExportedDocument(
                key="k\udcfe",
                text=text,
                title="title",
                collection="collection",
                metadata=metadata,
                digest="00" * 16,
                source="src",
                first_seen=first,
                first_seen_basis=basis,
                last_seen=9,
                links=("a", "b\udcfe"),
            )
        )
        (found,) = read(line)
        assert found == Document(
            "k\udcfe",
            text,
            title="title",
            collection="collection",
            metadata=metadata,
            position=0,
            byte_offset=0,
            end_offset=len(line),
            seen_at=seen_at,
            published_at=published_at,
            links=("a", "b\udcfe"),
            seen_since=since,
        ), basis


def test_a_named_key_field_reads_a_record_as_any_other() -> None:
    (found,) = read({EXPORT_FIELD: 1, "key": "k", "id": "i", "text": "t"}, key_field="id")
    assert isinstance(found, Document)
    assert (found.key, found.metadata) == ("i", {EXPORT_FIELD: 1, "key": "k"})


def test_another_mark_is_a_field_like_any_other() -> None:
    for mark in ("1", True, None, 1.0):
        (found,) = read({EXPORT_FIELD: mark, "key": "k", "text": "t"})
        assert isinstance(found, Document), mark
        assert EXPORT_FIELD in found.metadata, mark


def test_what_no_export_writes_is_rejected() -> None:
    for fields, reason in (
        ({EXPORT_FIELD: 2}, "version 2"),
        ({"key": None}, "no key"),
        ({"key": ""}, "no key"),
        ({"key": 7}, "field key is not a string"),
        ({"key_base64": "!"}, "key_base64 is no base64"),
        ({"key_base64": 7}, "key_base64 is no base64"),
        ({"text": None}, "exported without"),
        ({"text": 7}, "field text is not a string"),
        ({"text_base64": "é"}, "text_base64 is no base64"),
        ({"title": 7}, "field title"),
        ({"metadata": [1]}, "metadata is no object"),
        ({"metadata": "[1]"}, "metadata is no object"),
        ({"metadata": "{"}, "metadata is no JSON"),
        ({"metadata": {"x": 1e999}}, "not JSON"),
        ({"first_seen": "soon"}, "first_seen"),
        ({"last_seen": [1]}, "last_seen"),
        ({"links": "a"}, "links is no list"),
        ({"links": [1]}, "links is no list"),
        ({"links_base64": "a"}, "links_base64"),
        ({"links_base64": [1]}, "links_base64"),
    ):
        (found,) = read({EXPORT_FIELD: 1, "key": "k", "text": "t"} | fields)
        assert isinstance(found, Rejection), fields
        assert reason in found.reason, fields
