"""What threads and processes may do with one store."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simstore import Store
from simstore.errors import ForkedStore
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage.dialects import sqlite_file
from simstore.storage.dialects.sqlite_file import LogPages

SIMTOOL = SchemeChoice("simtool", bits=32, features=5)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "s.db", synchronous="normal") as made:
        yield made


def in_threads(*work: Callable[[], object]) -> list[BaseException]:
    """Run all at once; return what they raised."""
    raised: list[BaseException] = []
    together = threading.Barrier(len(work))

    def run(one: Callable[[], object]) -> None:
        together.wait()
        try:
            one()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.parametrize("scheme", [SchemeChoice("web"), SIMTOOL])
def test_threads_may_add_and_query_together(tmp_path: Path, scheme: SchemeChoice) -> None:
    with Store.create(tmp_path / "s.db", scheme=scheme, synchronous="normal") as store:
        store.add("first", "river stone lamp")

        def add(name: str) -> None:
            for number in range(3):
                store.add(f"{name} {number}", f"river stone {'lamp ' * number}")

        def ask() -> None:
            for _ in range(6):
                assert "first" in [
                    match.key for match in store.query("river stone lamp", radius=32)
                ]
                assert store.stats().waiting >= 0
                assert len(list(store)) >= 1

        assert in_threads(lambda: add("a"), lambda: add("b"), ask, ask, ask) == []
        assert len(store) == 7
        assert sorted(one.key for one in store) == sorted(
            ["first", *(f"{name} {number}" for name in "ab" for number in range(3))]
        )
        assert store.maintenance.fsck() == []
        assert store.stats().fresh


def test_readers_are_not_limited_in_number(store: Store) -> None:
    store.add("a", "river")

    def ask(depth: int) -> int:
        """Hold a snapshot while as many others are taken."""
        deeper: list[int] = []

        def samples() -> Any:
            if depth:
                deeper.append(ask(depth - 1))
            yield ("sample", "river")

        (result,) = store.query_many(samples())
        return sum(deeper) + len(result.matches)

    assert ask(24) == 25


def test_reader_keeps_its_snapshot_while_another_thread_writes(store: Store) -> None:
    store.add_many([(f"k{n}", "river") for n in range(5)])
    asked: list[str] = []

    def samples() -> Any:
        for number in range(3):
            yield (f"s{number}", "river")
            if number == 0:
                raised = in_threads(lambda: store.add("late", "river"))
                asked.extend(map(repr, raised))

    results = store.query_many(samples())
    assert asked == []
    assert [len(one.matches) for one in results] == [5, 5, 5]
    assert len(store.query("river")) == 6


def test_snapshot_of_a_generation_is_whole_while_it_is_switched(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", scheme=SIMTOOL, synchronous="normal") as store:
        store.add_many([(f"k{n}", f"river {'stone ' * n}") for n in range(4)])

        def samples() -> Any:
            for number in range(2):
                yield (f"s{number}", "river")
                assert in_threads(lambda: store.add("new", "lamp lamp lamp bridge")) == []

        first, second = store.query_many(samples())
        assert first.fingerprint == second.fingerprint
        assert first.matches == second.matches
        assert store.maintenance.fsck() == []


def exit_code_of_child(work: Callable[[], object]) -> int:
    """Run in a forked child; return 0, or 77 where it raised ForkedStore."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            work()
            code = 0
        except ForkedStore:
            code = 77
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_store_cannot_be_used_in_a_forked_child(store: Store) -> None:
    for use in [
        lambda store: store.add("b", "x"),
        lambda store: store.query("river"),
        lambda store: list(store),
        lambda store: len(store),
        lambda store: store.vocabulary.refresh(),
        lambda store: store.maintenance.compact(),
        lambda store: store.maintenance.fsck(),
    ]:
        store.add("a", "river")
        assert exit_code_of_child(partial(use, store)) == 77
        assert [one.key for one in store] == ["a"]
        assert store.maintenance.fsck() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_may_close_the_store_and_open_it_again(tmp_path: Path, store: Store) -> None:
    store.add("a", "river")

    def work() -> None:
        store.close()
        with Store.open(tmp_path / "s.db", synchronous="normal") as own:
            own.add("b", "river")

    assert exit_code_of_child(work) == 0
    assert [match.key for match in store.query("river")] == ["a", "b"]
    store.add("c", "river")
    assert store.maintenance.fsck() == []


@pytest.mark.sqlite("speaks of the log of a file")
@pytest.mark.parametrize("resident", [False, True])
def test_the_log_of_a_resident_store_is_short_after_much_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resident: bool
) -> None:
    monkeypatch.setattr(sqlite_file, "_LARGE_ROWS", 10)
    monkeypatch.setattr(sqlite_file, "_LOG", LogPages(large=400, small=40))
    with Store.open(tmp_path / "s.db", create=True, resident=resident) as store:
        sizes = []
        for turn in range(12):
            store.add_many((f"{turn} {n}", f"river stone {turn} {n}") for n in range(40))
            sizes.append((tmp_path / "s.db-wal").stat().st_size)
        # A log that was copied is written from its start again.
        assert (max(sizes) < 100 * 8_192) == resident
