"""Runs of processes that were killed are told from those that go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from simstore import Store
from simstore.services.maintenance.killed_runs import end_killed_runs, killed_runs
from simstore.storage import copies
from simstore.storage.engine import Database


def go_on_for_ever(place: Path, run_id: int) -> None:
    """Leave a run as a process does that is killed between its last commit and its end."""
    database = Database(place)
    with database.write() as connection:
        connection.exec_driver_sql(
            f"UPDATE ingest_run SET state = 'running', finished_at = NULL WHERE run_id = {run_id}"
        )
    database.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store of three runs, of which the second did not end."""
    with Store.create(tmp_path / "s.db") as made:
        for number in range(3):
            made.add(f"{number}", f"some words {number}")
    go_on_for_ever(tmp_path / "s.db", 2)
    return tmp_path / "s.db"


def states(place: Path) -> list[str]:
    with Store.open(place) as store:
        return [run.state for run in store.runs.ingest()]


def test_a_run_without_an_end_was_killed_where_nobody_has_the_store_open(place: Path) -> None:
    with Store.open(place) as store:
        assert len(store) == 3
        assert killed_runs(place) == []
        assert end_killed_runs(place) == 0
    assert killed_runs(place) == [2]
    assert states(place) == ["finished", "running", "finished"]
    assert end_killed_runs(place) == 1
    assert states(place) == ["finished", "interrupted", "finished"]
    assert killed_runs(place) == []


def test_a_run_that_ends_while_it_is_looked_for_was_not_killed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_free = copies.is_free

    def ends(path: Path) -> bool:
        database = Database(path)
        with database.write() as connection:
            connection.exec_driver_sql("UPDATE ingest_run SET state = 'finished'")
        database.close()
        return is_free(path)

    monkeypatch.setattr(copies, "is_free", ends)
    assert killed_runs(place) == []
    assert end_killed_runs(place) == 0
    assert states(place) == ["finished"] * 3
