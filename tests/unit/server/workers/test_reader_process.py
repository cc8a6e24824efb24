"""Readers in processes of their own: the store's answers, whole errors, and deaths survived."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from simstore.errors import InvalidParameter, StoreNotFound, Unavailable
from simstore.model import Document, QueryOptions
from simstore.server.workers.read_batches import QueryBatcher
from simstore.server.workers.reader_process import AwayReader, ReaderProcess
from simstore.store import Store

TEXTS = [f"the lamp {n % 5} of the harbour bridge {n % 3} and river stone {n}" for n in range(30)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s.db") as made:
        made.add_many(Document(f"page {n}", text) for n, text in enumerate(TEXTS))
        yield made


@pytest.fixture
def processes(store: Store) -> Iterator[list[ReaderProcess]]:
    # The tests' own process has threads.
    made = [ReaderProcess(store.maintenance.path or "", forks=False) for _ in range(2)]
    for one in made:
        one.wait_until_ready()
    yield made
    for one in made:
        one.close()


@pytest.mark.slow
def test_they_answer_as_the_store_does_while_one_is_left(
    store: Store, processes: list[ReaderProcess]
) -> None:
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
        assert one.pid is not None
        os.kill(one.pid, signal.SIGKILL)
        # Who asks it first is told; what it died of is asked of no other.
        for line in (reader.query_few, reader.query_many):
            with suppress(Unavailable):
                for _ in processes:
                    line(samples, options)
        assert (one.has_ended, reader.up) == (True, 1 - left)
        if reader.up:
            assert all(answers() for _ in range(3))
    reader.warm()
    with pytest.raises(Unavailable, match="the reader's process has ended"):
        reader.query_few(samples, options)


@pytest.mark.slow
def test_a_batcher_asks_as_many_at_once_as_there_are(
    store: Store, processes: list[ReaderProcess]
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


@pytest.mark.slow
def test_one_says_why_it_cannot_open_the_store(tmp_path: Path) -> None:
    process = ReaderProcess(tmp_path / "none.db", forks=False)
    with pytest.raises(StoreNotFound):
        process.wait_until_ready()
    process.close()
