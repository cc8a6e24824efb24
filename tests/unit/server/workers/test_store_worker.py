"""Workers that have opened the store: the answers of the store, and a death that is survived."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import simstore.errors
from simstore.errors import (
    DocumentNotFound,
    InvalidParameter,
    NotFound,
    Overloaded,
    SimstoreError,
    StoreNotFound,
    Unavailable,
)
from simstore.model import CheckOptions, Document, QueryOptions, RemoveRequest, WriteRequest
from simstore.server.workers import store_worker
from simstore.server.workers.read_batches import QueryBatcher
from simstore.server.workers.store_worker import (
    AwayChecker,
    AwayReader,
    StoreWorker,
    pause_after,
)
from simstore.server.workers.write_queue import WriteQueue
from simstore.store import Store
from simstore.workers.process import Worker

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 60.0
TEXT = "the river carries stones past the old mill and the lamp above its door is lit"
TEXTS = [f"the lamp {n % 5} of the harbour bridge {n % 3} and river stone {n}" for n in range(30)]
SAMPLE = (Document("", "a lamp above the door of the old mill"),)


class Starting:
    """Stands in for :meth:`StoreWorker.start`, and notes what is started again.

    Attributes:
        before: Called before another is started.
        came: Is released for each.
    """

    def __init__(self, start: Callable[[], Worker]) -> None:
        self._start = start
        self.before: Callable[[], object] = lambda: None
        self.came = threading.Semaphore(0)

    def __call__(self) -> Worker:
        self.came.release()
        self.before()
        return self._start()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "s.db") as store:
        store.add("lamp", "a lamp above the door of the old mill")
    return tmp_path / "s.db"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_worker, "_FIRST_PAUSE", 0.01)


@pytest.fixture
def process(place: Path) -> Iterator[StoreWorker]:
    made = StoreWorker(place, "reader")
    made.wait_until_ready()
    yield made
    made.close()


@pytest.fixture
def again(process: StoreWorker, monkeypatch: pytest.MonkeyPatch) -> Starting:
    made = Starting(process.start)
    monkeypatch.setattr(process, "start", made)
    return made


def kill(process: StoreWorker) -> None:
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
    process: StoreWorker, caplog: pytest.LogCaptureFixture
) -> None:
    before = process.pid
    assert process.ask("query", SAMPLE, None).samples[0].matches
    with caplog.at_level(logging.WARNING, "simstore"):
        kill(process)
        until(lambda: not process.is_up)
        until(lambda: process.is_up)
    assert process.ask("query", SAMPLE, None).samples[0].matches
    assert (process.pid != before, process.restarts) == (True, 1)
    assert "the reader's process has ended (-9); it is started again in 0.01 s" in caplog.text
    assert "was started again" in caplog.text


def test_who_asks_while_there_is_none_hears_when_to_try_again(
    process: StoreWorker, again: Starting
) -> None:
    held = threading.Event()
    again.before = lambda: held.wait(PATIENCE_SECONDS)
    kill(process)
    until(lambda: not process.is_up)
    with pytest.raises(Unavailable, match="started again") as told:
        process.ask("warm")
    assert told.value.retry_after is not None
    assert told.value.retry_after > 0
    held.set()
    until(lambda: process.is_up)


def test_one_that_dies_again_and_again_is_told_and_waits_longer(
    process: StoreWorker, again: Starting, caplog: pytest.LogCaptureFixture, place: Path
) -> None:
    assert [pause_after(ends) * 50 for ends in (1, 2, 3, 4)] == [0.5, 1, 2, 4]
    assert pause_after(1_000) <= 30
    away = place.rename(place.with_name("away.db"))
    with caplog.at_level(logging.ERROR, "simstore"):
        kill(process)
        for _ in range(4):
            assert again.came.acquire(timeout=PATIENCE_SECONDS)
        away.rename(place)
        until(lambda: process.is_up)
    assert "the reader cannot be started: no store at" in caplog.text
    assert "has ended (0) 3 times, each soon after its start" in caplog.text
    process.ask("warm")


def test_closing_ends_it_whatever_it_does(process: StoreWorker, again: Starting) -> None:
    held = threading.Event()
    again.before = lambda: held.wait(PATIENCE_SECONDS)
    kill(process)
    until(lambda: not process.is_up)
    closing = threading.Thread(target=process.close)
    closing.start()
    held.set()
    closing.join(PATIENCE_SECONDS)
    assert not closing.is_alive()
    assert not process.is_up
    process.close()


@pytest.mark.parametrize("kind", ["reader", "writer"])
def test_one_that_cannot_open_the_store_at_first_says_why(
    tmp_path: Path, kind: store_worker.Kind
) -> None:
    made = StoreWorker(tmp_path / "none.db", kind)
    with pytest.raises(StoreNotFound):
        made.wait_until_ready()
    made.close()


# The writer


@pytest.fixture
def writer(place: Path) -> Iterator[StoreWorker]:
    made = StoreWorker(place, "writer")
    yield made
    made.close()


def test_it_writes_as_a_thread_does(place: Path, writer: StoreWorker) -> None:
    with Store.open(place, resident=True) as store:
        queue = WriteQueue(store, writer)
        first = queue.submit(WriteRequest((Document("a", TEXT),))).result(60)
        second = queue.submit(
            WriteRequest((Document("b", TEXT + " tonight"), Document("c", TEXT)), "flag")
        ).result(60)
        assert [one.outcome for one in first.outcomes] == ["added"]
        assert [one.outcome for one in second.outcomes] == ["flagged", "flagged"]
        duplicate = second.outcomes[0].duplicate
        assert duplicate is not None
        assert duplicate.original == "a"
        # What it wrote is found here.
        assert {one.key for one in store.query(TEXT)} == {"a", "b", "c"}
        with pytest.raises(DocumentNotFound) as missing:
            queue.submit(RemoveRequest(("a", "none"))).result(60)
        assert missing.value.key == "none"
        assert queue.submit(RemoveRequest(("a",))).result(60).removed == 1
        assert queue.drain(60)
        run = store.runs.ingest()[0]
        assert (run.added, run.flagged, run.state) == (1, 2, "finished")


def test_a_queue_goes_on_when_its_writer_is_back(place: Path, writer: StoreWorker) -> None:
    with Store.open(place) as store:
        queue = WriteQueue(store, writer)
        assert queue.submit(WriteRequest((Document("b", "bread"),))).result(60).outcomes
        kill(writer)
        until(lambda: queue.failure is not None)
        with pytest.raises(Unavailable, match="writer's process has ended"):
            queue.submit(WriteRequest((Document("c", "stone"),)))
        until(lambda: queue.failure is None)
        assert queue.submit(WriteRequest((Document("d", "river"),))).result(60).outcomes
        assert queue.drain(60)
        assert {one.key for one in store} == {"lamp", "b", "d"}


def test_what_was_under_way_is_refused_and_so_is_what_waits(
    place: Path, writer: StoreWorker
) -> None:
    with Store.open(place) as store:
        queue = WriteQueue(store, writer, most_group=1)
        os.kill(writer.pid, signal.SIGSTOP)
        futures = [queue.submit(WriteRequest((Document(key, key),))) for key in "bcd"]
        kill(writer)
        for future in futures:
            assert isinstance(future.exception(60), Unavailable)
        until(lambda: queue.failure is None)
        assert queue.submit(WriteRequest((Document("e", "river"),))).result(60).outcomes
        assert queue.drain(60)
        assert {one.key for one in store} >= {"lamp", "e"}


# Readers


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "library.db") as made:
        made.add_many(Document(f"page {n}", text) for n, text in enumerate(TEXTS))
        yield made


@pytest.fixture
def processes(store: Store) -> Iterator[list[StoreWorker]]:
    made = [StoreWorker(store.maintenance.path or "", "reader") for _ in range(2)]
    for one in made:
        one.wait_until_ready()
    yield made
    for one in made:
        one.close()


def test_they_answer_as_the_store_does_while_one_is_left(
    store: Store, processes: list[StoreWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    # None comes back.
    monkeypatch.setattr(store_worker, "_FIRST_PAUSE", 30.0)
    reader = AwayReader(processes)
    samples = [Document(f"sample {n}", text + " tonight") for n, text in enumerate(TEXTS)]
    options = QueryOptions(radius=12)
    expected = store.query_many(samples, options)
    assert any(one.matches for one in expected.samples)

    def answers() -> bool:
        run = reader.query_many(samples, options)
        assert (run.radius, run.bits, run.scheme) == (12, expected.bits, expected.scheme)
        return all(
            [(one.key, one.matches) for one in found]
            == [(one.key, one.matches) for one in expected.samples]
            for found in (reader.query_few(samples, options).samples, run.samples)
        )

    assert answers()
    with pytest.raises(InvalidParameter, match="radius"):
        reader.query_few(samples, QueryOptions(radius=65))
    # What is stored since is found, tidied up or not.
    store.add("new", TEXTS[0] + " new")
    (found,) = reader.query_few([Document("", TEXTS[0] + " new")]).samples
    assert "new" in {one.key for one in found.matches}
    store.remove("new")
    store.maintenance.compact()
    reader.warm()
    assert answers()
    for left, one in enumerate(reversed(processes)):
        os.kill(one.pid, signal.SIGKILL)
        # Who asks it first is told; what it died of is asked of no other.
        for line in (reader.query_few, reader.query_many):
            with suppress(Unavailable):
                for _ in processes:
                    line(samples, options)
        assert (one.is_up, reader.up) == (False, 1 - left)
        if reader.up:
            assert all(answers() for _ in range(3))
    reader.warm()
    with pytest.raises(Unavailable, match="the reader's process has ended"):
        reader.query_few(samples, options)


def test_a_batcher_asks_as_many_at_once_as_there_are(
    store: Store, processes: list[StoreWorker]
) -> None:
    batcher = QueryBatcher(AwayReader(processes).query_few, threads=2)
    options = QueryOptions()
    futures = [batcher.submit(Document(f"{n}", text), options) for n, text in enumerate(TEXTS)]
    half = batcher.submit(Document("", "\ud800"), options)
    for number, future in enumerate(futures):
        result = future.result(60).samples[0]
        assert result.key == str(number)
        assert f"page {number}" in {one.key for one in result.matches}
    assert isinstance(half.exception(60), InvalidParameter)
    batcher.close()


# Checks


def test_a_check_is_the_stores_and_one_that_hangs_is_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
    papers, options = [Document("p", " ".join(TEXTS[3:5])), Document("q", TEXTS[3])], CheckOptions()
    checker = AwayChecker(store.maintenance.path or "", most_idle=1)

    def step() -> None:
        pass

    def abandon() -> None:
        raise ZeroDivisionError

    with pytest.raises(NotFound):
        checker.check_many(papers, options, step)
    store.passages.build()
    assert checker.check_many(papers, options, step) == list(store.check_many(papers, options))
    assert checker.check_mutual(papers, options, step) == store.check_mutual(papers, options)
    with checker._pool.worker() as worker:
        os.kill(worker.pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        # It hangs in the middle of its work.
        patch.setattr(Worker, "is_alive", lambda _: True)
        with pytest.raises(ZeroDivisionError):
            checker.check_many(papers, options, abandon)
    assert worker.wait() == -signal.SIGKILL
    assert len(checker.check_many(papers, options, step)) == 2
    checker.end()


# Errors


@pytest.mark.parametrize("error", [Overloaded(3.5), DocumentNotFound("a key")])
def test_errors_cross_processes_whole(error: SimstoreError) -> None:
    came = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(came) is type(error)
    assert str(came) == str(error)
    assert vars(came) == vars(error)


def test_every_error_can_be_pickled() -> None:
    kinds = [
        kind
        for kind in vars(simstore.errors).values()
        if isinstance(kind, type) and issubclass(kind, SimstoreError)
    ]
    assert len(kinds) > 40
    for kind in kinds:
        error = kind.__new__(kind, "what it says")
        error.args = ("what it says",)
        error.reason = "why"  # type: ignore[attr-defined]
        came = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert (type(came), str(came), came.reason) == (kind, "what it says", "why")
