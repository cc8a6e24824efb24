"""Rejected records that are read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import create

from simstore.model import Ignored
from simstore.services.ingest.ingest import Observer
from simstore.sources.reader import ReadOptions
from simstore.store import Store

LONG = "long text " * 30
LINES = (
    '{"id": 1, "text": "one"}\n'
    f'{{"id": 2, "text": "{LONG}"}}\n'
    '{"id": 3, "text": "three"}\n'
    "{broken\n"
    f'{{"id": 5, "text": "{LONG}, again"}}\n'
)
SHORT = ReadOptions(max_document_bytes=100)


def places(store: Store) -> list[tuple[int, int]]:
    return [(one.rejection.position, one.rejection.byte_offset) for one in store.rejects.list()]


def keys(store: Store) -> list[str]:
    return [one.key for one in store]


def filled(folder: Path) -> tuple[Store, Path]:
    path = folder / "a.jsonl"
    path.write_text(LINES)
    store = create(folder)
    assert store.ingest([str(path)], read=SHORT).rejected == 3
    return store, path


def test_records_that_can_be_used_now_are_stored_and_their_rejects_settled(tmp_path: Path) -> None:
    store, _ = filled(tmp_path)
    with store:
        before = places(store)
        done = store.rejects.retry()
        assert (done.added, done.rejected, done.passed_over) == (2, 1, 0)
        assert places(store) == before[1:2]
        assert keys(store) == ["1", "3", "2", "5"]
        assert store.get("2", with_text=True).text == LONG
        # They are where they were: nothing changes when the file is ingested again.
        again = store.ingest([str(tmp_path / "a.jsonl")])
        assert (again.unchanged, again.rejected) == (4, 1)
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("change", ["other", "gone", "shorter"])
def test_source_that_has_changed_is_left_alone(tmp_path: Path, change: str) -> None:
    store, path = filled(tmp_path)
    if change == "gone":
        path.unlink()
    else:
        path.write_text(LINES.replace("one", "eins") if change == "other" else LINES[:100])
    passed_over: list[Ignored] = []
    with store:
        before = store.rejects.list()
        done = store.rejects.retry(observer=Observer(on_pass_over=passed_over.append))
        assert (done.added, done.rejected, done.passed_over) == (0, 0, 3)
        assert store.rejects.list() == before
        assert all("ingest" in one.reason for one in passed_over)
