"""Worker processes give the same results in the same order, whatever becomes of them."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simstore import Store
from simstore.errors import InvalidParameter
from simstore.model import CheckedPaper, SampleResult
from simstore.processors import processor_count
from simstore.services.check import check
from simstore.services.query import query
from simstore.workers import shared_work
from simstore.workers.process import Worker
from simstore.workers.shared_work import (
    SharedWork,
    early_workers,
    in_order,
    worker_count,
)

from .worker_tasks import failing, squaring


class Watched:
    """The workers that were started, and whether one has answered.

    Attributes:
        started: All workers.
        answered: Is set when one has answered.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[Worker] = []
        self.answered = threading.Event()
        begin, call = Worker.__init__, Worker.call

        def noted(worker: Worker, **options: Any) -> None:
            begin(worker, **options)
            self.started.append(worker)

        def answer(worker: Worker, *asked: Any) -> Any:
            found = call(worker, *asked)
            self.answered.set()
            return found

        monkeypatch.setattr(Worker, "__init__", noted)
        monkeypatch.setattr(Worker, "call", answer)

    def have_ended(self) -> bool:
        return all(worker._process.returncode is not None for worker in self.started)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def pool(count: int = 2, least_items: int = 1, **others: Any) -> SharedWork:
    made = SharedWork(
        count=count,
        opening=squaring,
        arguments=lambda: (2,),
        is_valid=lambda: True,
        least_items=least_items,
        least_weight=1_000_000,
        weight=lambda _: 1,
    )
    return replace(made, **others)


def here(watched: Watched, alone: int = 1) -> Callable[[int], int]:
    """Return work of this process that waits for a worker, once workers are started."""
    done = 0

    def work(number: int) -> int:
        nonlocal done
        done += 1
        if done > alone:
            assert watched.answered.wait(60)
        if number == 113:
            raise InvalidParameter("113 is refused")
        return number**2

    return work


def gather(results: Iterator[int], found: list[int]) -> None:
    for result in results:
        found.append(result)  # noqa: PERF402 - what came before an error is kept


def test_results_come_in_the_order_of_the_items(watched: Watched) -> None:
    found = list(in_order(range(40), here(watched), pool(3)))
    assert found == [number**2 for number in range(40)]
    assert len(watched.started) == 2
    assert watched.answered.is_set()
    assert watched.have_ended()


@pytest.mark.parametrize(
    "chosen", [{"count": 1}, {"least_items": 39}, {"least_items": 40}, {"least_items": 41}]
)
def test_no_worker_is_started_where_there_is_not_enough_to_do(
    watched: Watched, chosen: dict[str, Any]
) -> None:
    assert len(list(in_order(range(40), lambda number: number, pool(**chosen)))) == 40
    assert not watched.started


def test_an_error_comes_after_the_results_before_its_item(watched: Watched) -> None:
    found: list[int] = []
    with pytest.raises(InvalidParameter, match="113 is refused"):
        gather(in_order(range(-100, 140), here(watched), pool()), found)
    assert found == [number**2 for number in range(-100, 113)]
    assert watched.have_ended()


def test_what_a_killed_worker_had_to_do_is_done_here(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    def work(number: int) -> int:
        # The worker takes one of the items, all of which it dies of.
        assert number == 0 or watched.started[0].wait() == -9
        return number

    with caplog.at_level(logging.WARNING):
        assert list(in_order([0, *[99] * 20], work, pool())) == [0, *[99] * 20]
    assert "a worker process has ended (signal 9)" in caplog.text


def test_a_worker_that_cannot_begin_leaves_the_work_to_others(watched: Watched) -> None:
    def work(number: int) -> int:
        # It ends when it has said so.
        assert number == 0 or watched.started[0].wait() == 0
        return number

    assert list(in_order(range(9), work, pool(opening=failing))) == list(range(9))
    assert not watched.answered.is_set()


def test_where_no_process_can_be_started_all_is_done_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert list(in_order(range(9), lambda number: number, pool())) == list(range(9))
    assert "no worker process can be started (No such file or directory)" in caplog.text
    with early_workers(2, "json") as none:
        assert none == []


def test_early_workers_are_used_from_the_first_item_on(watched: Watched) -> None:
    with early_workers(3, "json") as early:
        found = list(in_order(range(40), here(watched, 0), pool(3, 1_000, early=early)))
        assert found == [number**2 for number in range(40)]
        assert len(early) == 1
    assert len(watched.started) == 3
    assert watched.have_ended()


def test_workers_end_when_nobody_wants_more(watched: Watched) -> None:
    results = in_order(range(1_000), here(watched), pool())
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    results.close()  # type: ignore[attr-defined]
    assert watched.have_ended()


def test_a_number_of_threads_below_one_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="0 threads: there must be at least 1"):
        worker_count(0)
    assert worker_count(None) == processor_count() >= 1


# In a store


TEXTS = [
    (f"document {number}", f"the {number} boats of harbour {number % 7} came in before the night "
     f"of the {number % 11} storms and nobody counted the {number * 3} lamps on the quay")
    for number in range(30)
]  # fmt: skip


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Store]:
    pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        store.passages.build()
        store.add_many(TEXTS)
        yield store


def without_times(found: list[SampleResult]) -> list[SampleResult]:
    return [
        replace(one, explanation=replace(one.explanation, seconds=0)) if one.explanation else one
        for one in found
    ]


def waiting(monkeypatch: pytest.MonkeyPatch, wait: Callable[[], object]) -> None:
    """Have this process wait in its second piece of work and later ones."""
    shared = shared_work.in_order

    def in_order(items: Any, work: Any, pool: SharedWork) -> Any:
        done = 0

        def slowly(item: Any) -> Any:
            nonlocal done
            done += 1
            if done > 1 and pool.count > 1:
                wait()
            return work(item)

        return shared(items, slowly, pool)

    monkeypatch.setattr(query, "in_order", in_order)
    monkeypatch.setattr(check, "in_order", in_order)
    monkeypatch.setattr(query, "BATCH_SAMPLES", 3)
    monkeypatch.setattr(query, "ALONE_BATCHES", 1)
    monkeypatch.setattr(check, "ALONE_PAPERS", 1)


@pytest.mark.slow
def test_queries_by_two_processes_are_those_of_one(
    shelf: Store, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(monkeypatch, lambda: watched.answered.wait(60))
    alone = shelf.query_many(TEXTS)
    assert not watched.started
    assert without_times([*shelf.query_many(TEXTS, threads=2)]) == without_times([*alone])
    assert watched.answered.is_set()
    assert sum(len(one.matches) for one in alone) >= len(TEXTS)


@pytest.mark.slow
def test_papers_checked_by_two_processes_are_those_of_one(
    shelf: Store, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(monkeypatch, lambda: watched.answered.wait(60))
    alone: list[CheckedPaper] = list(shelf.check_many(TEXTS))
    assert not watched.started
    assert list(shelf.check_many(TEXTS, threads=2)) == alone
    assert watched.answered.is_set()
    assert any(one.copies for one in alone)


@pytest.mark.slow
def test_workers_read_the_same_snapshot_or_nothing(
    shelf: Store, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Something is committed when this process has its snapshot, and a worker begins.
    text = TEXTS[0][1]
    begun = []
    was_checked = threading.Event()
    ready = Worker.wait_until_ready
    serve = shared_work._Sharing._serve

    def write_first(worker: Worker) -> None:
        if not begun:
            begun.append(shelf.add("the new one", text))
        ready(worker)

    def served(shared: Any, worker: Worker) -> None:
        serve(shared, worker)
        was_checked.set()

    monkeypatch.setattr(Worker, "wait_until_ready", write_first)
    monkeypatch.setattr(shared_work._Sharing, "_serve", served)
    begin = Worker.__init__

    def after_a_commit(worker: Worker, **options: Any) -> None:
        with Store.open(shelf.maintenance.path or shelf._opened.database.place) as other:
            other.add("the other new one", text)
        begin(worker, **options)

    monkeypatch.setattr(Worker, "__init__", after_a_commit)
    waiting(monkeypatch, lambda: watched.answered.is_set() or was_checked.wait(60))
    samples = [(f"sample {number}", text) for number in range(12)]
    found = shelf.query_many(samples, threads=2)
    assert begun == ["added"]
    keys = {match.key for one in found for match in one.matches}
    assert "document 0" in keys
    assert not keys & {"the new one", "the other new one"}
    # A server names its snapshots; of a file's nobody can say that it is the same.
    is_file = shelf._opened.database.is_file
    assert watched.answered.is_set() == (not is_file)
    later = {match.key for match in shelf.query(text)}
    assert {"the new one", "the other new one"} <= later


# Processors


def test_processors_are_those_that_a_control_group_allows(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/box/inner\n")
    inner = tmp_path / "groups" / "box" / "inner"
    inner.mkdir(parents=True)
    all_of_them = processor_count(tmp_path / "none", own)
    assert processor_count(tmp_path / "groups", own) == all_of_them
    (inner / "cpu.max").write_text("max 100000\n")
    assert processor_count(tmp_path / "groups", own) == all_of_them
    (inner.parent / "cpu.max").write_text("100000 100000\n")
    assert processor_count(tmp_path / "groups", own) == 1
    (inner / "cpu.max").write_text("10000 100000\n")
    assert processor_count(tmp_path / "groups", own) == 1
    own.write_text("no such line\n")
    assert processor_count(tmp_path / "groups", own) == all_of_them
