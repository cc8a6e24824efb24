"""Worker processes are forked only where it is safe, and answer as others do."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simstore import Files, Store
from simstore.model import SampleResult
from simstore.services.check import check
from simstore.services.query import query
from simstore.services.workers import forks, worker_pool
from simstore.services.workers.worker_pool import EarlyStart, Worker, WorkerPool
from simstore.storage.dialects.sqlite_file import has_open

from .worker_tasks import squaring

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked"),
    pytest.mark.sqlite("connections to a server are not closed for a fork"),
]
TEXTS = [
    (f"document {number}", f"the {number} boats of harbour {number % 7} came in before the night "
     f"of the {number % 11} storms and nobody counted the {number * 3} lamps on the quay")
    for number in range(30)
]  # fmt: skip


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Libraries that earlier tests have loaded may have left threads.
    count, before = threading.active_count, threading.active_count() - 1
    monkeypatch.setattr(threading, "active_count", lambda: count() - before)
    with forks.allowed(nullcontext):
        yield


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tell how each worker was started."""
    kinds: list[str] = []
    for kind, made in (("forked", worker_pool._ForkedWorker), ("program", Worker)):

        def noted(
            worker: Worker, *arguments: Any, kind: str = kind, begin: Any = made._started
        ) -> Any:
            process = begin(worker, *arguments)
            kinds.append(kind)
            return process

        monkeypatch.setattr(made, "_started", noted)
    return kinds


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Store]:
    pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        store.passages.build()
        store.add_many(TEXTS)
        yield store


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Write a file of samples that is long enough for early workers; wait for these to answer."""
    path = tmp_path / "samples.jsonl"
    with path.open("w") as file:
        for number in range(4):
            for key, text in TEXTS:
                file.write(json.dumps({"key": f"{key}, {number}", "text": text}) + "\n")
    return str(path)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Have small work be shared out, and this process wait until a worker has answered."""
    event = threading.Event()
    ask, shared = Worker.ask, worker_pool.in_order

    def answer(worker: Worker, item: Any) -> tuple[bool, Any]:
        found = ask(worker, item)
        event.set()
        return found

    def waiting(items: Any, work: Callable[[Any], Any], pool: WorkerPool) -> Any:
        done = 0

        def slowly(item: Any) -> Any:
            nonlocal done
            done += 1
            if done > 1 and pool.count > 1:
                assert event.wait(60)
            return work(item)

        return shared(items, slowly, pool)

    monkeypatch.setattr(Worker, "ask", answer)
    for module in (query, check):
        monkeypatch.setattr(module, "in_order", waiting)
        monkeypatch.setattr(module, "ALONE_CHARACTERS", 1_000)
    monkeypatch.setattr(query, "BATCH_SAMPLES", 3)
    return event


def test_a_process_does_not_fork_unless_it_is_a_program_of_ours() -> None:
    assert not forks.are_allowed()
    assert forks.fork(lambda: None) is None


@pytest.mark.usefixtures("allowed")
def test_a_fork_runs_a_function_without_input_and_output() -> None:
    reading, writing = os.pipe()

    def run() -> None:
        print("nobody reads this", flush=True)
        os.write(writing, f"{os.getsid(0) == os.getpid()} {sys.stdin.read()!r}".encode())

    process = forks.fork(run)
    assert process is not None
    os.close(writing)
    with open(reading, "rb") as file:
        assert file.read() == b"True ''"
    assert process.wait(60) == process.returncode == 0


@pytest.mark.usefixtures("allowed")
def test_a_process_with_another_thread_does_not_fork() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert forks.fork(lambda: None) is None
    finally:
        over.set()
        thread.join()


@pytest.mark.usefixtures("allowed")
def test_forked_workers_end_when_the_process_that_forked_them_has_gone() -> None:
    elder = worker_pool._ForkedWorker([])
    younger = worker_pool._ForkedWorker([elder])
    try:
        elder.begin(squaring, (3,))
        assert elder.wait_until_ready()
        assert elder.ask(4) == (True, 64)
        # As where this process ends; the younger has no copy of this end.
        elder.close()
        assert elder._process.wait(60) == 0
        younger.close()
        assert younger._process.wait(60) == 0
    finally:
        elder.end()
        younger.end()


def without_times(found: tuple[SampleResult, ...]) -> list[SampleResult]:
    return [
        replace(one, explanation=replace(one.explanation, seconds=0)) if one.explanation else one
        for one in found
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("allowed")
def test_queries_shared_with_forks_are_those_of_one_process(
    shelf: Store, source: str, started: list[str], answered: threading.Event
) -> None:
    alone = shelf.query_many(Files(source)).samples
    assert started == []
    shared = shelf.query_many(Files(source), threads=3, record=True).samples
    assert started == ["forked"] * 2
    assert answered.is_set()
    assert without_times(shared) == without_times(alone)
    assert sum(len(one.matches) for one in alone) >= len(TEXTS)
    # The store goes on: its connections are opened again.
    assert shelf.add("one more", "a text that comes afterwards") == "added"


@pytest.mark.slow
@pytest.mark.usefixtures("allowed", "answered")
def test_nothing_is_forked_while_the_store_is_being_read(
    shelf: Store, source: str, started: list[str]
) -> None:
    with shelf.fingerprints.reader():
        assert len(list(shelf.check_many(Files(source), threads=2))) == 120
    assert started == ["program"]


@pytest.mark.usefixtures("allowed")
def test_early_workers_that_nobody_needed_are_ended(shelf: Store, started: list[str]) -> None:
    warmed = []
    early = EarlyStart(
        shelf._opened.database, 2, 1_000, 1_000, lambda: warmed.append(True), query.__name__
    )
    with early.workers() as made:
        (worker,) = made
        assert worker._process.returncode is None
    assert worker._process.returncode == -signal.SIGKILL
    assert (started, warmed) == (["forked"], [True])
    with replace(early, expected_weight=400).workers() as none:
        assert none == []


def test_a_file_that_this_process_has_open_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(Store.create(path)) as store:
        with store.fingerprints.reader():
            assert has_open(path)
        other = tmp_path / "other"
        other.write_text("of no account")
        assert not has_open(other)
    assert not has_open(path)
    # What cannot be told is taken for open.
    assert has_open(path, tmp_path / "no such folder")
    assert has_open(tmp_path / "gone")
