"""Garbage is collected between the transactions of a run, and as ever after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from heard import heard

from simstore.errors import MalformedRecord
from simstore.services.ingest.pipeline import collected_between
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
