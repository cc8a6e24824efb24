"""Garbage is collected between the transactions of a run, and as ever after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from heard import Heard, heard

from simstore.errors import MalformedRecord
from simstore.services.ingest import garbage, ingest
from simstore.services.ingest.garbage import collected_between
from simstore.store import Store

__all__ = ["heard"]


@contextmanager
def counted() -> Iterator[list[int]]:
    """Yield the generations that are collected meanwhile."""
    seen: list[int] = []

    def note(phase: str, facts: dict[str, Any]) -> None:
        if phase == "start":
            seen.append(facts["generation"])

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


def test_a_bulk_ingest_collects_once_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", 1e9)
    documents = [(f"k{number}", f"text number {number}") for number in range(3_000)]
    with Store.create(tmp_path / "s.db") as store:
        store.add("warm", "what is imported is imported")
        with counted() as seen:
            store.add_many(documents, batch_documents=500)
    # Some come before the first transaction, and after the last.
    assert seen.count(1) >= 5
    assert len(seen) <= 40
    assert gc.isenabled()


def test_all_is_looked_through_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_EVERYTHING", 3)
    with collected_between() as collect, counted() as seen:
        for _ in range(6):
            collect()
    assert seen == [1, 1, 2, 1, 1, 2]


def test_collections_go_on_after_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("no JSON\n")
    with Store.create(tmp_path / "s.db") as store, pytest.raises(MalformedRecord):
        store.ingest(tmp_path / "a.jsonl", strict=True)
    assert gc.isenabled()


def test_who_has_turned_collections_off_gets_none() -> None:
    gc.disable()
    try:
        with collected_between() as collect, counted() as seen:
            collect()
        assert not gc.isenabled()
        assert seen == []
    finally:
        gc.enable()


def test_nothing_is_deleted_of_a_source_of_which_nothing_is_remembered(
    tmp_path: Path, heard: Heard
) -> None:
    (tmp_path / "a.jsonl").write_text('{"key": "a", "text": "some words"}\n')
    with Store.create(tmp_path / "s.db") as store:
        heard.clear()
        store.ingest(tmp_path / "a.jsonl")
    assert not [one for one in heard if one.startswith("DELETE FROM seen_record WHERE source_id")]
