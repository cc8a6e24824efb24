"""A writer in a process of its own: the same replies, whole errors, and a death that is told of."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import simstore.errors
from simstore.errors import (
    DocumentNotFound,
    Overloaded,
    SimstoreError,
    StoreNotFound,
    Unavailable,
)
from simstore.model import Document, RemoveRequest, WriteRequest
from simstore.server.workers.write_queue import WriteQueue
from simstore.server.workers.writer_process import WriterProcess
from simstore.store import Store

TEXT = "the river carries stones past the old mill and the lamp above its door is lit"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    Store.create(tmp_path / "s.db").close()
    return tmp_path / "s.db"


@pytest.fixture
def process(place: Path) -> Iterator[WriterProcess]:
    # The tests' own process has threads.
    made = WriterProcess(place, forks=False)
    yield made
    made.close()


@pytest.mark.slow
def test_it_writes_as_a_thread_does(place: Path, process: WriterProcess) -> None:
    with Store.open(place, resident=True) as store:
        queue = WriteQueue(store, process)
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
        (run,) = store.runs.ingest()
        assert (run.added, run.flagged, run.state) == (1, 2, "finished")


@pytest.mark.slow
def test_a_death_is_told_of_and_loses_nothing(place: Path, process: WriterProcess) -> None:
    with Store.open(place, resident=True) as store:
        queue = WriteQueue(store, process)
        assert queue.submit(WriteRequest((Document("a", TEXT),))).result(60).outcomes
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(Unavailable, match="writer's process has ended"):
            queue.submit(WriteRequest((Document("b", TEXT),))).result(60)
        with pytest.raises(Unavailable):
            queue.submit(WriteRequest((Document("c", TEXT),)))
        assert queue.failure is not None
        # Whatever was taken is answered.
        assert queue.drain(1)
        assert [one.key for one in store] == ["a"]


@pytest.mark.slow
def test_it_says_why_it_cannot_open_the_store(tmp_path: Path) -> None:
    process = WriterProcess(tmp_path / "none.db", forks=False)
    with pytest.raises(StoreNotFound):
        process.wait_until_ready()
    process.close()


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
