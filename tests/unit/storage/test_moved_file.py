"""A store whose file was moved, replaced or deleted while it is open takes no commit."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstore import Store
from simstore.errors import StorageError
from simstore.storage.dialects.sqlite_file import SqliteFile
from simstore.storage.engine import Database

TEXT = "the lamp above the door of the old mill burns until the morning"


def put_another(place: Path) -> None:
    """Put another store in the place of one, as `mv` does."""
    with Store.create(place.with_name("other.db")) as other:
        other.add_many([(f"other {number}", f"{TEXT} {number}") for number in range(50)])
    os.replace(place.with_name("other.db"), place)


def move(place: Path) -> None:
    place.rename(place.with_name("moved.db"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s.db") as made:
        made.add("a", TEXT)
        yield made


@pytest.mark.parametrize("lose", [put_another, move, Path.unlink])
def test_nothing_is_committed_and_the_error_says_why(store: Store, lose: object) -> None:
    place = store.maintenance.path
    assert place is not None
    store.maintenance.check_file()
    assert callable(lose)
    lose(place)
    with pytest.raises(StorageError, match="moved, replaced or deleted"):
        store.add("b", TEXT)
    with pytest.raises(StorageError, match="moved, replaced or deleted"):
        store.maintenance.check_file()


def test_nothing_is_committed_where_it_is_lost_in_the_middle_of_a_transaction(
    store: Store,
) -> None:
    place = store.maintenance.path
    assert place is not None

    def write() -> None:
        with store._opened.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM document")
            move(place)

    with pytest.raises(StorageError, match="moved, replaced or deleted"):
        write()
    place.with_name("moved.db").rename(place)
    assert len(store) == 1


def test_it_goes_on_where_the_file_is_back(store: Store) -> None:
    place = store.maintenance.path
    assert place is not None
    move(place)
    with pytest.raises(StorageError):
        store.add("b", TEXT)
    place.with_name("moved.db").rename(place)
    store.maintenance.check_file()
    store.add("b", TEXT)
    assert "b" in store


@pytest.mark.parametrize("lose", [put_another, move])
def test_the_log_is_left_to_no_other_file(store: Store, lose: object) -> None:
    """SQLite would take it for the log of the file that has the name now."""
    place = store.maintenance.path
    assert place is not None
    log = place.with_name("s.db-wal")
    store.add("b", TEXT)
    assert log.stat().st_size > 0
    kept = place.with_name("kept.db")
    os.link(place, kept)
    assert callable(lose)
    lose(place)
    with pytest.raises(StorageError):
        store.maintenance.check_file()
    assert log.stat().st_size == 0
    store.close()
    log.unlink(missing_ok=True)
    place.with_name("s.db-shm").unlink(missing_ok=True)
    with Store.open(kept) as old:
        assert [one.key for one in old] == ["a", "b"]
        assert old.maintenance.fsck() == []


def test_no_connection_is_opened_to_another_file(store: Store) -> None:
    place = store.maintenance.path
    assert place is not None
    put_another(place)
    database = store._opened.database
    with database.read() as one:
        # The first connection is in use: this is another.
        with pytest.raises(StorageError, match="moved, replaced"), database.read():
            pass
        assert one.exec_driver_sql("SELECT count(*) FROM document").scalar_one() == 1
    with pytest.raises(StorageError):
        store.maintenance.check_file()
    store.close()
    with Store.open(place) as other:
        assert len(other) == 50
        assert other.maintenance.fsck() == []


class FailingDriver:
    """A connection that fails at whatever it is asked."""

    def execute(self, statement: str) -> None:
        raise sqlite3.OperationalError(f"disk I/O error at {statement}")


def test_a_connection_that_fails_does_not_hide_that_the_file_was_moved(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store.maintenance.path
    assert place is not None
    file = store._opened.database._backend
    assert isinstance(file, SqliteFile)
    for pool in (file._reader_pool, file._writer_pool):
        assert pool is not None
        for pooled in pool._idle:
            monkeypatch.setattr(pooled.connection, "driver", FailingDriver())
    move(place)
    with pytest.raises(StorageError, match="moved, replaced or deleted"):
        store.maintenance.check_file()
    monkeypatch.undo()
    place.with_name("moved.db").rename(place)
    store.maintenance.check_file()
    assert len(store) == 1


def test_the_log_of_each_file_that_is_opened_is_emptied_when_it_is_lost(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with Store.create(place) as made:
        made.add("a", TEXT)
    database = Database(place)
    log = place.with_name("s.db-wal")
    for number in range(2):
        with database.write() as connection:
            connection.exec_driver_sql("UPDATE document SET first_seen = first_seen + 1")
        assert log.stat().st_size > 0
        place.rename(tmp_path / "moved.db")
        with pytest.raises(StorageError):
            database.check_name()
        assert log.stat().st_size == 0, number
        (tmp_path / "moved.db").rename(place)
        # The next transaction opens it anew.
        database.close()
