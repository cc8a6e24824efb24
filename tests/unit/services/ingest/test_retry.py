"""Rejected records that are read again."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
from stores import create

from simstore.errors import MalformedRecord, NotFound
from simstore.model import Ignored
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.sources import unpacking
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


def test_only_the_records_that_are_named_are_read_again(tmp_path: Path) -> None:
    store, _ = filled(tmp_path)
    with store:
        numbers = [one.reject_id for one in store.rejects.list()]
        assert store.rejects.retry(numbers[2]).added == 1
        assert keys(store) == ["1", "3", "5"]
        assert [one.reject_id for one in store.rejects.list()] == numbers[:2]
        with pytest.raises(NotFound, match="no reject has the number 99"):
            store.rejects.retry(numbers[0], 99)
        assert keys(store) == ["1", "3", "5"]


def test_record_that_is_rejected_again_has_the_reason_of_this_time(tmp_path: Path) -> None:
    store, _ = filled(tmp_path)
    with store:
        done = store.rejects.retry(read=ReadOptions(max_document_bytes=200))
        assert (done.added, done.rejected) == (0, 3)
        assert "limit of 200" in store.rejects.list()[0].rejection.reason
        with pytest.raises(MalformedRecord, match="record 1"):
            store.rejects.retry(read=SHORT, options=IngestOptions(strict=True))
        assert len(store.rejects.list()) == 3


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


def test_source_that_has_grown_is_read_where_it_was(tmp_path: Path) -> None:
    store, path = filled(tmp_path)
    with path.open("a") as file:
        file.write('{"id": 6, "text": "six"}\n')
    with store:
        assert store.rejects.retry().added == 2
        assert store.ingest([str(path)], read=SHORT).resumed_at == {str(path): 5}
        assert keys(store)[-1] == "6"


@pytest.mark.slow
def test_all_that_follows_a_record_that_broke_the_reading_off_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(unpacking, "LEAST_EXPANDED_BYTES", 1_500_000)
    lines = "".join(f'{{"id": {n}, "text": "{"x " * 500}{n}"}}\n' for n in range(3_000))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode()))
    with create(tmp_path, text=False) as store:
        first = store.ingest([str(path)], read=ReadOptions(max_expansion=2))
        assert first.rejected == 1
        assert 0 < first.added < 3_000
        done = store.rejects.retry(read=ReadOptions(max_expansion=None))
        assert first.added + done.added == 3_000
        assert store.rejects.list() == []


def test_records_of_members_of_archives_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("b/a.jsonl", LINES)
        archive.writestr("../escape.txt", "no")
        archive.writestr("c.txt", LONG)
    with create(tmp_path) as store:
        assert store.ingest([str(path)], read=SHORT).rejected == 5
        done = store.rejects.retry()
        assert (done.added, done.rejected, done.passed_over) == (3, 1, 1)
        assert keys(store) == ["1", "3", "2", "5", f"{path}!/c.txt"]
        assert len(store.rejects.list()) == 2


def test_records_are_read_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"short\n{LONG}\nlast\n")
    with create(tmp_path) as store:
        store.ingest([str(path)], read=ReadOptions("lines", max_document_bytes=100))
        assert store.rejects.retry().added == 1
        assert keys(store) == [f"{path}:1", f"{path}:3", f"{path}:2"]


def test_retry_without_rejects_does_nothing(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        assert store.rejects.retry().document_count == 0
