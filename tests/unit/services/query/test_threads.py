"""Threads of one process that ask at once give up the interpreter's lock no more than they need."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simstore import Store, compiled
from simstore.compiled import Kernel
from simstore.search.sorted_tables import SortedTables
from simstore.services.open_store.fair_lock import LongTurns
from simstore.services.query.matching import Matcher

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Say of each call of a kernel whether it lets go of the interpreter's lock."""
    calls: list[bool] = []
    call = Kernel.__call__

    def noted(kernel: Kernel, *arguments: Any, **named: Any) -> Any:
        calls.append(kernel.lets_go)
        return call(kernel, *arguments, **named)

    monkeypatch.setattr(Kernel, "__call__", noted)
    compiled.enable(0)
    yield calls
    compiled.enable()


@needs_numba
def test_look_ups_of_one_and_of_few_keep_the_lock_and_those_of_many_let_go(
    released: list[bool],
) -> None:
    words = np.random.default_rng(1).integers(1 << 63, size=5_000, dtype=np.uint64)
    tables = SortedTables(words.reshape(-1, 1), 64)
    released.clear()
    assert tables.near(int(words[7]), 3) == [(int(words[7]), 0)]
    assert released == [False]
    few = tables.near_many(words[:10].reshape(-1, 1), 3)
    assert not any(released)
    many = tables.near_many(words[:1_000].reshape(-1, 1), 3)
    assert any(released)
    assert len(few.distances) == 10
    assert len(many.distances) == 1_000


@needs_numba
def test_a_kernel_that_keeps_the_lock_is_not_taken_from_disk_for_one_that_lets_go() -> None:
    def twice(number: int) -> int:
        return 2 * number

    kinds = [Kernel(twice, ["int64(int64)"], lets_go=lets_go) for lets_go in (True, False)]
    assert [kind(21) for kind in kinds] == [42, 42]
    compiled_forms: list[Any] = [kind._compiled for kind in kinds]
    assert [form.targetoptions["nogil"] for form in compiled_forms] == [True, False]
    assert len({form.py_func.__qualname__ for form in compiled_forms}) == 2


class Together:
    """Counts how many threads are inside of a method at once, at most."""

    def __init__(self) -> None:
        self.most = self._inside = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)

    def __exit__(self, *_raised: object) -> None:
        with self._lock:
            self._inside -= 1


def asked_at_once(
    store: Store, text: str, monkeypatch: pytest.MonkeyPatch, meet: Callable[[], object]
) -> int:
    """Return how many threads work on a question at once, where two ask, at most.

    Args:
        store: The store.
        text: What is asked.
        monkeypatch: For what is watched.
        meet: Waits, inside, for the other thread.
    """
    together = Together()
    answer = Matcher.answer

    def noted(matcher: Matcher, samples: Any) -> Any:
        with together:
            meet()
            return answer(matcher, samples)

    monkeypatch.setattr(Matcher, "answer", noted)
    threads = [threading.Thread(target=store.query, args=(text,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return together.most


@pytest.mark.sqlite("of a server, threads wait for what they ask it")
def test_short_questions_to_a_resident_store_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "s.db", create=True, resident=True) as store:
        store.add("one", "a text of a few words that is stored")
        turns = LongTurns(seconds=60)
        monkeypatch.setattr(store._opened, "_short_questions", turns)
        met = False

        def meet() -> None:
            nonlocal met
            while not met and not turns._line._is_taken:
                pass
            met = True

        assert asked_at_once(store, "some words that are asked", monkeypatch, meet) == 1
        assert met


@pytest.mark.parametrize(("resident", "size"), [(True, 100_000), (False, 10)])
def test_other_questions_do_not_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resident: bool, size: int
) -> None:
    text = ("some words of a text that is asked for " * (size // 39 + 1))[:size]
    with Store.open(tmp_path / "s.db", create=True, resident=resident) as store:
        store.add("one", "a text of a few words that is stored")
        meeting = threading.Barrier(2)
        assert asked_at_once(store, text, monkeypatch, lambda: meeting.wait(60)) == 2


@pytest.mark.sqlite("of a server, threads wait for what they ask it")
def test_a_short_question_to_a_resident_store_takes_one_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counted(LongTurns):
        taken = 0

        def __enter__(self) -> None:
            super().__enter__()
            self.taken += 1

    with Store.open(tmp_path / "s.db", create=True, resident=True) as store:
        store.add("one", "a text of a few words that is stored")
        turns = Counted()
        monkeypatch.setattr(store._opened, "_short_questions", turns)
        assert [match.key for match in store.query("a text of a few words that is stored")]
        assert turns.taken == 1
        # Samples that are still to come are waited for without the turn.
        taken_while_waiting = []

        def samples() -> Iterator[str]:
            taken_while_waiting.append(turns._lock.locked())
            yield "a text of a few words that is stored"

        (found,) = store.query_many(("sample", text) for text in samples())
        assert len(found.matches) == 1
        assert taken_while_waiting == [False]
