"""Threads have their turns in the order in which they came."""

from __future__ import annotations

import threading

import pytest

from simstore.services.open_store.open_store import FairLock, LongTurns


def test_who_came_first_is_first_though_another_asks_again_at_once() -> None:
    turns = FairLock()
    order: list[int] = []
    threads = []

    def take(number: int) -> None:
        with turns:
            order.append(number)

    with turns:
        for number in range(5):
            threads.append(threading.Thread(target=take, args=(number,)))
            threads[-1].start()
            while len(turns._gates) <= number:
                pass
    with turns:
        # It was free only after all that had waited.
        order.append(99)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4, 99]


def test_a_turn_is_passed_on_where_what_was_done_fails() -> None:
    turns = FairLock()
    with pytest.raises(KeyError), turns:
        raise KeyError
    with turns:
        pass


def test_a_thread_takes_a_long_turn_again_until_another_has_waited() -> None:
    turns = LongTurns(seconds=0)
    taken: list[str] = []

    def wait() -> None:
        with turns:
            taken.append("other")

    other = threading.Thread(target=wait)
    with turns:
        other.start()
        while not turns._is_wanted:
            pass
    with turns:
        taken.append("first")
    other.join()
    assert taken == ["other", "first"]


def test_long_turns_exclude_each_other() -> None:
    turns = LongTurns(seconds=0.0001)
    inside = 0
    most = 0
    done: list[int] = []

    def work(number: int) -> None:
        nonlocal inside, most
        for _ in range(200):
            with turns:
                inside += 1
                most = max(most, inside)
                sum(range(200))
                inside -= 1
        done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, sorted(done)) == (1, [0, 1, 2, 3])
