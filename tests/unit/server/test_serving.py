"""What a server does after its last request."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simstore import Store
from simstore.errors import DatabaseBusy, NotAStore
from simstore.server import serving
from simstore.server.settings import ServerSettings
from simstore.storage.engine import Database

SETTINGS = ServerSettings(port=0, query_processes=0, writer_process=False)


def put_another(place: Path) -> None:
    """Put a store in which a run seems to go on into the place of another."""
    other = place.with_name("other.db")
    with Store.create(other) as store:
        store.add_many([("a", "some words")])
    database = Database(other)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE ingest_run SET state = 'running', finished_at = NULL")
    database.close()
    os.replace(other, place)


def stop_when_it_serves(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[], object] = lambda: None
) -> None:
    """Let a server stop, as by a signal, as soon as it serves."""
    startup = serving._Server.startup

    async def started(self: serving._Server, sockets: object = None) -> None:
        await startup(self, sockets)  # type: ignore[arg-type]
        before()
        self.handle_exit(signal.SIGTERM, None)

    monkeypatch.setattr(serving._Server, "startup", started)
    # What it sets for the whole process.
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)


def test_a_file_that_took_the_place_of_the_store_is_not_written_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s.db"
    Store.create(place).close()
    stop_when_it_serves(monkeypatch, lambda: put_another(place))
    serving.serve(place, SETTINGS)
    with Store.open(place) as store:
        assert [run.state for run in store.runs.ingest()] == ["running"]


def test_an_error_at_the_end_is_told_and_does_not_fail_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    error = DatabaseBusy("s.db")
    monkeypatch.setattr(logging.getLogger("simstore"), "propagate", True)
    place = tmp_path / "s.db"
    Store.create(place).close()
    calls: list[object] = []

    def fails_last(asked: object) -> int:
        calls.append(asked)
        if len(calls) == 2:
            raise error
        return 0

    monkeypatch.setattr(serving, "end_killed_runs", fails_last)
    stop_when_it_serves(monkeypatch)
    serving.serve(place, SETTINGS)
    assert calls == [place, place]
    assert f"runs that were killed are not marked: {error}" in caplog.messages


def test_a_server_of_no_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_when_it_serves(monkeypatch)
    (tmp_path / "s.db").write_bytes(b"")
    with pytest.raises(NotAStore):
        serving.serve(tmp_path / "s.db", SETTINGS)
