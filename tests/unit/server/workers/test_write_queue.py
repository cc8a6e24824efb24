"""The one writer of a server: what waits together is one commit, and nothing hangs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simstore.errors import (
    DiskFull,
    DocumentNotFound,
    InvalidParameter,
    Overloaded,
    Stopping,
    Unavailable,
)
from simstore.index import tuning
from simstore.model import Document, RemoveRequest, WriteRequest
from simstore.server.workers import write_queue
from simstore.server.workers.write_queue import WriteQueue
from simstore.services.ingest import writer
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.db", create=True, resident=True) as opened:
        yield opened


def page(number: int, text: str | None = None) -> WriteRequest:
    return WriteRequest((Document(f"page {number}", text or f"river stone lamp {number}"),))


@contextmanager
def held_up(store: Store) -> Iterator[None]:
    """Let another writer hold the store meanwhile."""
    with Store.open(store._opened.database.path or "") as other, other._opened.write():
        yield


def test_what_waits_together_is_committed_together(store: Store) -> None:
    queue = WriteQueue(store)
    with held_up(store):
        futures = [queue.submit(page(number)) for number in range(40)]
        assert queue.depth == 40
    assert [one.result(60).outcomes[0].outcome for one in futures] == ["added"] * 40
    # One was being written, and the others waited.
    assert queue.counters.groups <= 2
    assert (queue.counters.requests, queue.counters.documents) == (40, 40)
    assert queue.drain(60)
    assert [run.added for run in store.runs.ingest()] == [40]


def test_groups_hold_no_more_than_they_may(store: Store) -> None:
    queue = WriteQueue(store, most_group=10)
    with held_up(store):
        futures = [queue.submit(page(number)) for number in range(40)]
        large = queue.submit(
            WriteRequest(tuple(Document(f"large {n}", f"bridge {n}") for n in range(25)))
        )
    assert len(large.result(60).outcomes) == 25
    assert all(one.result(60).outcomes for one in futures)
    assert queue.counters.groups >= 5
    assert queue.drain(60)


def test_a_full_queue_refuses_at_once_and_says_when_to_try_again(store: Store) -> None:
    queue = WriteQueue(store, most_documents=3)
    with held_up(store):
        futures = [queue.submit(page(number)) for number in range(3)]
        with pytest.raises(Overloaded) as refused:
            queue.submit(page(3))
        assert refused.value.retry_after is not None
        assert refused.value.retry_after >= 1
        assert queue.counters.refused == 1
    assert all(one.result(60) for one in futures)
    assert queue.submit(page(3)).result(60).outcomes[0].outcome == "added"
    assert queue.drain(60)
    small = WriteQueue(store, most_bytes=1_000)
    with held_up(store):
        # What is too large for any queue is taken by an empty one.
        large = small.submit(page(4, "long " * 1_000))
        with pytest.raises(Overloaded):
            small.submit(page(5))
    assert large.result(60).outcomes[0].outcome == "added"
    assert small.drain(60)


def test_a_request_that_fails_leaves_the_others(store: Store) -> None:
    store.add("page 0", "river stone lamp")
    queue = WriteQueue(store)
    with held_up(store):
        before = queue.submit(page(1))
        failing = queue.submit(RemoveRequest(("page 0", "none of this name")))
        after = queue.submit(page(2))
        removed = queue.submit(RemoveRequest(("page 1",)))
    assert before.result(60).outcomes[0].outcome == "added"
    with pytest.raises(DocumentNotFound):
        failing.result(60)
    assert after.result(60).outcomes[0].outcome == "added"
    assert removed.result(60).removed == 1
    assert queue.failure is None
    assert queue.counters.failed == 1
    assert queue.drain(60)
    assert [one.key for one in store] == ["page 0", "page 2"]


def test_what_cannot_be_stored_is_refused_before_it_waits(store: Store) -> None:
    for document in [
        Document("", "a text without a key"),
        Document("a", "\ud800"),
        Document("a", "text", metadata={"a": object()}),
        Document("a", "text", metadata={"a": float("nan")}),
        Document("a", "text", seen_at=1 << 80),
    ]:
        queue = WriteQueue(store)
        with pytest.raises(InvalidParameter):
            queue.submit(WriteRequest((document,)))
        with pytest.raises(InvalidParameter):
            queue.submit(WriteRequest((), "flag", 1.5))
        assert queue.depth == 0
        assert queue.drain(60)


@pytest.mark.slow
def test_drain_writes_what_waits_and_takes_nothing_more(store: Store) -> None:
    queue = WriteQueue(store)
    with held_up(store):
        futures = [queue.submit(page(number)) for number in range(5)]
        assert not queue.drain(0.05)
        with pytest.raises(Stopping):
            queue.submit(page(9))
    # What was being written is written; what waited was told that it is not.
    told = [one.exception(60) for one in futures]
    assert all(error is None or isinstance(error, Stopping) for error in told)
    assert queue.drain(60)
    written = [f"page {number}" for number, error in enumerate(told) if error is None]
    assert [one.key for one in store] == written


def test_a_full_disk_fails_the_group_and_the_next_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = WriteQueue(store)

    def full(_group: Any) -> Any:
        raise DiskFull("s.db")

    with monkeypatch.context() as patch:
        patch.setattr(queue._writer, "commit", full)
        with pytest.raises(DiskFull):
            queue.submit(page(1)).result(60)
        assert isinstance(queue.failure, DiskFull)
        # After a while it is tried again, though nobody has sent anything meanwhile.
        patch.setattr(write_queue, "_FAILED_SECONDS", 0.0)
        assert queue.failure is None
        patch.setattr(write_queue, "_FAILED_SECONDS", 30.0)
        assert isinstance(queue.failure, DiskFull)
    assert queue.submit(page(1)).result(60).outcomes[0].outcome == "added"
    assert queue.failure is None
    assert queue.drain(60)


@pytest.mark.parametrize("work", ["prepare", "commit"])
def test_a_thread_that_dies_fails_all_that_waits_and_is_told_of(
    store: Store, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    queue = WriteQueue(store)

    def dies(_group: Any) -> Any:
        raise SystemExit("no more")

    monkeypatch.setattr(queue._writer, work, dies)
    futures = [queue.submit(page(1))]
    assert isinstance(futures[0].exception(60), Unavailable)
    assert isinstance(queue.failure, SystemExit)
    with pytest.raises(Unavailable):
        queue.submit(page(2))
    assert not queue.drain(60)


def test_a_sender_that_has_gone_away_holds_nothing_up(store: Store) -> None:
    queue = WriteQueue(store)
    with held_up(store):
        first, gone, last = (queue.submit(page(number)) for number in range(3))
        assert gone.cancel()
    assert first.result(60).outcomes
    assert last.result(60).outcomes
    assert queue.drain(60)
    assert len(list(store)) == 3


@pytest.mark.slow
def test_the_store_is_tidied_up_while_it_is_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "TAIL_FINGERPRINTS", 8)
    monkeypatch.setattr(tuning, "TAIL_SKETCHES", 8)
    monkeypatch.setattr(writer, "_LOOKED_AT", 4)
    queue = WriteQueue(store, most_group=5)
    futures = [queue.submit(page(number)) for number in range(120)]
    is_written = False
    while not is_written:
        # Once more after the last commit, and once at least, however fast the queue was.
        is_written = all(future.done() for future in futures)
        assert queue._writer is not None
        queue._writer.tidy()
        for number in (3, 77):
            # What was acknowledged before the query is asked is found by it.
            is_stored = futures[number].done()
            found = store.query(f"river stone lamp {number}", radius=0)
            assert f"page {number}" in {one.key for one in found} or not is_stored
    assert queue.drain(60)
    assert store.stats().unpacked_sketches < 120
    assert store.maintenance.fsck() == []
    with Store.open(store._opened.database.path or "") as plain:
        for number in range(120):
            text = f"river stone lamp {number}"
            assert store.query(text) == plain.query(text)
            assert f"page {number}" in {one.key for one in store.query(text)}


def test_a_live_store_is_refreshed_between_its_groups(tmp_path: Path) -> None:
    scheme = SchemeChoice("web", bits=24, weights="tf-idf")
    with Store.create(tmp_path / "s.db", scheme=scheme) as made:
        queue = WriteQueue(made)
        for number in range(3):
            assert queue.submit(page(number)).result(60)
        assert queue._writer is not None
        queue._writer.tidy()
        assert made.stats().fresh
        assert made.query("river stone lamp 1")
        assert queue.drain(60)
