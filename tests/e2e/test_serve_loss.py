"""A server whose store or version is taken away says so, and writes nothing where it is lost."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest
from served import PATIENCE_SECONDS, REPOSITORY, Served, children, serve

from simstore import Store

from .processes import until
from .service.asked import OTHER, TEXT, add, refused

pytestmark = pytest.mark.slow


def put_another(place: Path) -> None:
    with Store.create(place.with_name("other.db")) as other:
        other.add_many([(f"other {number}", f"{TEXT} {number}") for number in range(50)])
    place.with_name("other.db").replace(place)


def move(place: Path) -> None:
    place.rename(place.with_name("moved.db"))


def not_ready(ask: httpx.Client) -> str:
    """Wait until the server says that it is not ready; return why."""
    until(lambda: ask.get("/readyz").status_code == 503, "the server to say so")
    return str(refused(ask.get("/readyz"), 503, "Unavailable")["detail"])


@pytest.mark.parametrize(
    ("lose", "reason", "writer"),
    [
        (put_another, "another file has the name of the store's file", "--writer-process"),
        (put_another, "another file has the name of the store's file", "--no-writer-process"),
        (Path.unlink, "the store's file was moved or deleted", "--writer-process"),
    ],
    ids=["replaced", "replaced, one process", "deleted"],
)
def test_a_server_that_lost_its_file_refuses_all_and_says_why(
    tmp_path: Path, lose: Callable[[Path], None], reason: str, writer: str
) -> None:
    place = tmp_path / "s.db"
    with (
        serve(place, writer) as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
    ):
        add(ask, ("a", TEXT))
        lose(place)
        told = not_ready(ask)
        assert told.startswith(reason)
        # Whoever asks without a token is told of no path.
        assert str(tmp_path) not in told
        for reply in (
            ask.post("/v1/documents", json={"key": "b", "text": OTHER}),
            ask.post("/v1/query", json={"text": TEXT}),
            ask.get("/v1/stats"),
        ):
            assert refused(reply, 503, "Unavailable")["detail"].startswith(reason)
            assert int(reply.headers["retry-after"]) >= 1
        assert ask.get("/healthz").status_code == 200
        assert "\nsimstore_ready 0\n" in ask.get("/metrics").text
        (line,) = (line for line in served.lines if f"ERROR {reason}" in line)
        assert "restart the server" in line
        assert served.stop() == 0
        until(lambda: f"ERROR stopped; {reason}" in served.lines[-1], "the last line to be read")
        assert not any("Traceback" in line for line in served.lines)
    if lose is put_another:
        # Nothing of the old file's log came into this one.
        with serve(place) as served, httpx.Client(base_url=served.url) as ask:
            assert ask.get("/v1/stats").json()["document_count"] == 50
            served.stop()
        with Store.open(place) as store:
            assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_a_server_goes_on_when_its_file_is_back(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with (
        serve(place) as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
    ):
        add(ask, ("a", TEXT))
        move(place)
        not_ready(ask)
        place.with_name("moved.db").rename(place)
        until(lambda: ask.get("/readyz").status_code == 200, "the server to be ready again")
        add(ask, ("b", OTHER))
        assert any("WARNING the store's file is back" in line for line in served.lines)
        assert "\nsimstore_ready 1\n" in ask.get("/metrics").text
        assert served.stop() == 0
    with Store.open(place) as store:
        assert {one.key for one in store} == {"a", "b"}
        assert store.maintenance.fsck() == []


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder in which simstore is installed, for its own version to be changed."""
    folder = tmp_path / "installed"
    for name in ("simstore", "migrations"):
        shutil.copytree(
            REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def kill_writer(served: Served) -> None:
    # It steps back for who answers queries.
    writer = max(children(served.process.pid), key=partial(os.getpriority, os.PRIO_PROCESS))
    os.kill(writer, signal.SIGKILL)


@pytest.mark.slow
def test_a_process_of_another_version_is_not_started_and_the_log_says_so(
    tmp_path: Path, installed: Path
) -> None:
    path = installed / "simstore" / "version.py"
    ours = path.read_text("utf-8")
    # Not from the folder in which the tests run.
    environment = {"PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    with (
        serve(tmp_path / "s.db", fresh=True, env=environment) as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
    ):
        add(ask, ("a", TEXT))
        path.write_text('"""Another."""\n\n__version__ = "99.1.0"\n', "utf-8")
        kill_writer(served)
        told = "ERROR the writer cannot be started: this server is simstore "
        until(lambda: any(told in line for line in served.lines), "the log to say so")
        (line, *_) = (line for line in served.lines if told in line)
        assert "another version is installed in its place: restart the server" in line
        assert "restart the server" in not_ready(ask)
        path.write_text(ours, "utf-8")
        until(lambda: ask.get("/readyz").status_code == 200, "it to be started again")
        add(ask, ("b", OTHER))
        assert served.stop() == 0
        assert not any("Traceback" in line for line in served.lines)


def test_runs_of_a_server_that_was_killed_are_marked_when_it_starts_again(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with serve(place) as served, httpx.Client(base_url=served.url) as ask:
        add(ask, ("a", TEXT))
        served.process.kill()
        served.process.wait(PATIENCE_SECONDS)
    with Store.open(place) as store:
        assert [run.state for run in store.runs.ingest()] == ["running"]
        # While somebody has the store open, nobody knows whose run it is.
        with serve(place) as served:
            served.stop()
        assert [run.state for run in store.runs.ingest()] == ["running"]
    with serve(place) as served, httpx.Client(base_url=served.url) as ask:
        add(ask, ("b", OTHER))
        assert any("1 run that ended by a kill: marked" in line for line in served.lines)
        states = [run["state"] for run in ask.get("/v1/runs").json()["runs"]]
        assert states == ["running", "interrupted"]
        assert served.stop() == 0
    with Store.open(place) as store:
        found = store.runs.ingest()
        assert [(run.state, run.added) for run in found] == [("finished", 1), ("interrupted", 1)]
        assert [run.finished_at is None for run in found] == [False, True]
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_the_run_of_a_writer_that_was_killed_is_marked_when_the_server_stops(
    tmp_path: Path,
) -> None:
    place = tmp_path / "s.db"
    with (
        serve(place) as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
    ):
        add(ask, ("a", TEXT))
        kill_writer(served)
        until(lambda: ask.get("/readyz").status_code == 503, "the writer to be missed")
        until(lambda: ask.get("/readyz").status_code == 200, "it to be started again")
        add(ask, ("b", OTHER))
        assert served.stop() == 0
    with Store.open(place) as store:
        assert [run.state for run in store.runs.ingest()] == ["finished", "interrupted"]
