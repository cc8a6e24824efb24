"""Columns of documents: what callers say of them, and what they are chosen by, in every place."""

from __future__ import annotations

from pathlib import Path

import pytest

import simstore
from simstore.model import (
    FILTERS,
    LABELS,
    DocumentFilter,
)


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
        assert store.expire(not_seen_since="2099-01-01", **wanted.chosen).removed == 1
        assert [one.key for one in store.list()] == ["out"]
        assert getattr(store.runs.ingest()[0], name) == "this"


@pytest.mark.parametrize("name", LABELS)
def test_matches_are_chosen_by_each_label(name: str, tmp_path: Path) -> None:
    with simstore.Store(tmp_path / "s.db") as store:
        store.add("in", "one text", **{name: "this"})  # type: ignore[misc]
        store.add("out", "one text", **{name: "that"})  # type: ignore[misc]
        assert [one.key for one in store.query("one text", where={name: "this"})] == ["in"]
