"""Processes that are started again when they die."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simstore import version
from simstore.errors import StorageError, StoreNotFound, Unavailable
from simstore.model import Document, WriteRequest
from simstore.server.workers import store_process, supervisor
from simstore.server.workers.reader_process import ReaderProcess
from simstore.server.workers.store_process import (
    OtherVersion,
    StoreProcess,
    refuse_other_version,
)
from simstore.server.workers.supervisor import Supervised, pause_after
from simstore.server.workers.write_queue import WriteQueue
from simstore.server.workers.writer_process import WriterProcess
from simstore.store import Store

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 60.0


class Came:
    """Starts processes in the place of those that died, and says when."""

    def __init__(self, make: Callable[[], StoreProcess]) -> None:
        self.make = make
        self.made: list[StoreProcess] = []
        self.came = threading.Semaphore(0)

    def __call__(self) -> StoreProcess:
        self.made.append(self.make())
        self.came.release()
        return self.made[-1]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "s.db") as store:
        store.add("a", "a lamp above the door of the old mill")
    return tmp_path / "s.db"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_FIRST_PAUSE", 0.01)


@pytest.fixture
def again(place: Path) -> Came:
    return Came(lambda: ReaderProcess(place, forks=False))


@pytest.fixture
def process(place: Path, again: Came) -> Iterator[Supervised]:
    made = Supervised(ReaderProcess(place, forks=False), again)
    made.wait_until_ready()
    yield made
    made.close()


def kill(process: Supervised) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    waiting = threading.Event()
    for _ in range(int(PATIENCE_SECONDS / 0.01)):
        if condition():
            return
        waiting.wait(0.01)
    raise TimeoutError


def test_one_that_dies_comes_back_and_answers(
    process: Supervised, again: Came, caplog: pytest.LogCaptureFixture
) -> None:
    sample = (Document("", "a lamp above the door of the old mill"),)
    before = process.pid
    assert process.ask("query", (sample, None)).samples[0].matches
    with caplog.at_level(logging.WARNING, "simstore"):
        kill(process)
        until(lambda: not process.is_up)
        until(lambda: process.is_up)
    assert process.ask("query", (sample, None)).samples[0].matches
    assert (process.pid != before, process.restarts, len(again.made)) == (True, 1, 1)
    assert "the reader's process has ended (-9); it is started again in 0.01 s" in caplog.text
    assert "was started again" in caplog.text


def test_who_asks_while_there_is_none_hears_when_to_try_again(
    process: Supervised, again: Came
) -> None:
    held = threading.Event()
    make, again.make = again.make, lambda: (held.wait(PATIENCE_SECONDS), make())[1]
    kill(process)
    until(lambda: not process.is_up)
    with pytest.raises(Unavailable, match="started again") as told:
        process.ask("warm", None)
    assert told.value.retry_after is not None
    assert told.value.retry_after > 0
    held.set()
    until(lambda: process.is_up)


def test_one_that_dies_again_and_again_is_told_and_waits_longer(
    process: Supervised, again: Came, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    assert [pause_after(ends) * 50 for ends in (1, 2, 3, 4)] == [0.5, 1, 2, 4]
    assert pause_after(1_000) <= 30
    good, again.make = again.make, lambda: ReaderProcess(tmp_path / "none.db", forks=False)
    with caplog.at_level(logging.ERROR, "simstore"):
        kill(process)
        for _ in range(3):
            assert again.came.acquire(timeout=PATIENCE_SECONDS)
        again.make = good
        until(lambda: process.is_up)
    assert "the reader cannot be started: no store at" in caplog.text
    assert "has ended (0) 3 times, each soon after its start" in caplog.text
    process.ask("warm", None)


def test_one_of_another_version_says_so_and_is_tried_again(
    process: Supervised, again: Came, caplog: pytest.LogCaptureFixture, place: Path
) -> None:
    def another() -> StoreProcess:
        refuse_other_version("99.1")
        raise AssertionError

    good, again.make = again.make, another
    with caplog.at_level(logging.ERROR, "simstore"):
        kill(process)
        until(lambda: process.is_of_other_version)
        again.make = good
        until(lambda: process.is_up)
    assert "the reader cannot be started: this server is simstore" in caplog.text
    assert "simstore 99.1 is installed in its place by now: restart the server" in caplog.text
    assert not process.is_of_other_version


def test_a_process_compares_its_version_with_the_servers_before_all_else(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server believed that the version was its own, and the process found another."""
    monkeypatch.setattr(version, "__version__", "99.1")
    monkeypatch.setattr(store_process, "installed_version", lambda: "99.1")
    process = ReaderProcess(place, forks=False)
    with pytest.raises(OtherVersion, match=r"restart the server"):
        process.wait_until_ready()
    process.close()


def test_closing_ends_it_whatever_it_does(process: Supervised, again: Came) -> None:
    held = threading.Event()
    make, again.make = again.make, lambda: (held.wait(PATIENCE_SECONDS), make())[1]
    kill(process)
    until(lambda: not process.is_up)
    closing = threading.Thread(target=process.close)
    closing.start()
    held.set()
    closing.join(PATIENCE_SECONDS)
    assert not closing.is_alive()
    assert not process.is_up
    process.close()


def test_one_that_cannot_open_the_store_at_first_says_why(tmp_path: Path) -> None:
    def never() -> StoreProcess:
        raise StorageError("not to be started")

    made = Supervised(ReaderProcess(tmp_path / "none.db", forks=False), never)
    with pytest.raises(StoreNotFound):
        made.wait_until_ready()
    made.close()


def test_a_queue_goes_on_when_its_writer_is_back(place: Path) -> None:
    again = Came(lambda: WriterProcess(place, forks=False))
    process = Supervised(WriterProcess(place, forks=False), again)
    with Store.open(place) as store:
        queue = WriteQueue(store, process)
        assert queue.submit(WriteRequest((Document("b", "bread"),))).result(60).outcomes
        kill(process)
        until(lambda: queue.failure is not None)
        with pytest.raises(Unavailable, match="writer's process has ended"):
            queue.submit(WriteRequest((Document("c", "stone"),)))
        until(lambda: queue.failure is None)
        assert queue.submit(WriteRequest((Document("d", "river"),))).result(60).outcomes
        assert queue.drain(60)
        assert {one.key for one in store} == {"a", "b", "d"}


def test_what_was_under_way_is_refused_and_so_is_what_waits(place: Path) -> None:
    again = Came(lambda: WriterProcess(place, forks=False))
    process = Supervised(WriterProcess(place, forks=False), again)
    with Store.open(place) as store:
        queue = WriteQueue(store, process, most_group=1)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        futures = [queue.submit(WriteRequest((Document(key, key),))) for key in "bcd"]
        kill(process)
        for future in futures:
            assert isinstance(future.exception(60), Unavailable)
        until(lambda: queue.failure is None)
        assert queue.submit(WriteRequest((Document("e", "river"),))).result(60).outcomes
        assert queue.drain(60)
        assert {one.key for one in store} >= {"a", "e"}
