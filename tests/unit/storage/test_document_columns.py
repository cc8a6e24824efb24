"""Columns of documents: what callers say of them, and what they are chosen by, in every place."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature
from pathlib import Path

import click
import pytest
from sqlalchemy import Text

import simstore
from simstore.cli import main
from simstore.errors import InvalidParameter
from simstore.model import (
    FILTERS,
    LABELS,
    Document,
    DocumentFilter,
    DocumentFilterKeywords,
    DocumentKeywords,
    ExportedDocument,
    IngestRun,
    QueryOptions,
    StoredDocument,
)
from simstore.protocol import StoreProtocol
from simstore.reports.exported import CSV_COLUMNS
from simstore.services.clusters.cluster import ClusterOptions
from simstore.services.export.export import ExportOptions
from simstore.storage.documents import COLUMNS
from simstore.storage.tables import document, ingest_run

WAYS = ("list", "query", "clusters", "export", "expire")


@pytest.mark.parametrize("name", LABELS)
def test_a_label_is_a_column_and_a_field_of_every_document(name: str) -> None:
    given = pytest.importorskip("simstore.server.documents").GivenDocument
    assert isinstance(document.c[name].type, Text)
    for kind in (Document, StoredDocument, ExportedDocument, given):
        assert name in {field.name for field in fields(kind)}, kind
    assert name in DocumentKeywords.__annotations__
    assert name in signature(StoreProtocol.add).parameters
    assert name in COLUMNS
    assert name in CSV_COLUMNS


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_is_a_label_and_goes_everywhere(name: str) -> None:
    assert name in LABELS
    # An expiry is recorded with what it went by.
    assert name in ingest_run.c
    assert name in {field.name for field in fields(IngestRun)}
    assert name in DocumentFilterKeywords.__annotations__
    for method in (StoreProtocol.list, StoreProtocol.expire):
        assert name in signature(method).parameters
    for kind in (QueryOptions, ClusterOptions, ExportOptions):
        assert issubclass(kind, DocumentFilter)
    for way in WAYS:
        command = main.get_command(click.Context(main), way)
        assert command is not None
        assert f"--{name}" in {word for one in command.params for word in one.opts}, way


@pytest.mark.parametrize("name", FILTERS)
def test_a_value_that_is_stored_chooses_its_documents(name: str, tmp_path: Path) -> None:
    with simstore.Store(tmp_path / "s.db") as store:
        store.add("in", "one text", **{name: "this"})  # type: ignore[misc]
        store.add("out", "another text", **{name: "that"})  # type: ignore[misc]
        wanted = DocumentFilter(**{name: "this"})
        assert [one.key for one in store.list(**wanted.chosen)] == ["in"]
        assert [one.key for one in store.query("one text", **wanted.chosen)] == ["in"]
        assert store.clusters.once(**wanted.chosen).document_count == 1
        assert store.export(tmp_path / "out.jsonl", **wanted.chosen).document_count == 1
        assert store.maintenance.completions(name, "th", 9) == ["that", "this"]
        assert store.expire(not_seen_since="2099-01-01", **wanted.chosen).removed == 1
        assert [one.key for one in store.list()] == ["out"]
        assert getattr(store.runs.ingest()[0], name) == "this"


@pytest.mark.parametrize("name", LABELS)
def test_matches_are_chosen_by_each_label(name: str, tmp_path: Path) -> None:
    with simstore.Store(tmp_path / "s.db") as store:
        store.add("in", "one text", **{name: "this"})  # type: ignore[misc]
        store.add("out", "one text", **{name: "that"})  # type: ignore[misc]
        assert [one.key for one in store.query("one text", where={name: "this"})] == ["in"]


def test_no_filter_chooses_all_documents() -> None:
    assert DocumentFilter().chosen == {}


def test_keywords_of_documents_are_checked_by_their_types(tmp_path: Path) -> None:
    with simstore.Store(tmp_path / "s.db") as store:
        for said in ({"title": 5}, {"links": 5}, {"metadata": "x"}, {"collection": b"x"}):
            with pytest.raises(InvalidParameter, match=f"{next(iter(said))} must be"):
                store.add("k", "t", **said)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="did you mean 'title'"):
            store.add("k", "t", titel="x")  # type: ignore[call-arg]
        with pytest.raises(InvalidParameter, match="choose one of key, collection"):
            store.maintenance.completions("nothing", "", 9)
        assert len(store) == 0
