"""Threads have their turns in the order in which they came."""

from __future__ import annotations

import threading

import pytest

from simstore.services.turns import Turns


def test_who_came_first_is_first_though_another_asks_again_at_once() -> None:
    turns = Turns()
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
    turns = Turns()
    with pytest.raises(KeyError), turns:
        raise KeyError
    with turns:
        pass
