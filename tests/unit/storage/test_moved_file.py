"""A store whose file was moved, replaced or deleted while it is open takes no commit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstore import Store
from simstore.errors import StorageError

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
