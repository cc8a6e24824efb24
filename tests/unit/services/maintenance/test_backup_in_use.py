"""A backup takes the place of no store that is open: what is written there would be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from simstore import Store, restore_store
from simstore.errors import Conflict

pytestmark = pytest.mark.sqlite("of files")


@pytest.mark.parametrize("written", [False, True], ids=["read", "written"])
def test_a_store_that_is_open_is_not_replaced(tmp_path: Path, written: bool) -> None:
    with Store(tmp_path / "copy.db") as store, Store(tmp_path / "live.db") as live:
        store.add("a", "one text")
        live.add("b", "another text")
        if written:
            live.maintenance.backup(tmp_path / "older.db")
        assert len(live) == 1
        with pytest.raises(Conflict, match="open in another process"):
            store.maintenance.backup(tmp_path / "live.db", replace=True)
        live.add("c", "a third text")
        live.close()
        with Store(tmp_path / "live.db") as again:
            assert [one.key for one in again.list()] == ["b", "c"]
        store.maintenance.backup(tmp_path / "live.db", replace=True)
        with Store(tmp_path / "live.db") as again:
            assert [one.key for one in again.list()] == ["a"]


def test_a_restore_needs_its_place_to_be_closed_and_shows_its_progress(tmp_path: Path) -> None:
    backup, place = tmp_path / "backup.db", tmp_path / "store.db"
    with Store(place) as store:
        store.add("a", "one text")
        store.maintenance.backup(backup)
        with pytest.raises(Conflict, match="open in another process"):
            restore_store(backup, place, replace=True)
        store.add("b", "another text")
    seen: list[tuple[int, int]] = []
    size = restore_store(backup, place, replace=True, on_progress=lambda *given: seen.append(given))
    assert size == place.stat().st_size == backup.stat().st_size
    assert seen[-1][0] == seen[-1][1] > 0


@pytest.mark.parametrize("held", [b"no store at all\n", b"SQLite format 3\0" + bytes(200)])
def test_what_is_no_store_is_not_replaced_by_one(tmp_path: Path, held: bytes) -> None:
    place, other = tmp_path / "store.db", tmp_path / "notes.md"
    other.write_bytes(held)
    with Store(place) as store:
        store.add("a", "one text")
        with pytest.raises(Conflict, match="move this one away"):
            store.maintenance.backup(other, replace=True)
    with pytest.raises(Conflict, match="move this one away"):
        restore_store(place, other, replace=True)
    assert other.read_bytes() == held
    assert {one.name for one in tmp_path.iterdir()} == {"store.db", "notes.md"}


def test_an_empty_file_is_replaced(tmp_path: Path) -> None:
    place, other = tmp_path / "store.db", tmp_path / "mktemp"
    other.touch()
    with Store(place) as store:
        store.add("a", "one text")
        store.maintenance.backup(other, replace=True)
    with Store(other, read_only=True) as store:
        assert [one.key for one in store.list()] == ["a"]
