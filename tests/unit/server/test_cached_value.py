"""Values that are expensive to make are made once for all who ask, and may be old for a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from simstore.server import cached_value
from simstore.server.cached_value import CachedValue
from simstore.server.workers.bounded_executor import BoundedExecutor


@pytest.fixture
def lane() -> Iterator[BoundedExecutor]:
    made = BoundedExecutor("test", 1, 1)
    yield made
    made.close()


def test_all_who_ask_at_a_time_get_one_value(lane: BoundedExecutor) -> None:
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    async def ask() -> None:
        value = CachedValue(make, lane)
        assert await asyncio.gather(*(value.value() for _ in range(5))) == [0] * 5
        # It was soon made: nobody gets an old one.
        assert await value.value() == 1
        assert await CachedValue(make, lane, least_seconds=1_000).value() == 2

    asyncio.run(ask())


def test_who_has_no_patience_gets_the_older_value(lane: BoundedExecutor) -> None:
    free = threading.Event()
    free.set()
    made: list[int] = []

    def make() -> int:
        free.wait()
        made.append(len(made))
        return made[-1]

    async def ask() -> None:
        value = CachedValue(make, lane)
        # There is none yet: whoever asks waits.
        assert await value.value(patience=0) == 0
        free.clear()
        assert await value.value(patience=0) == 0
        free.set()
        assert await value.value() == 1

    asyncio.run(ask())


def test_a_value_that_cannot_be_made_is_tried_again(lane: BoundedExecutor) -> None:
    given = iter([ZeroDivisionError(), 1])

    def make() -> int:
        one = next(given)
        if isinstance(one, Exception):
            raise one
        return one

    async def ask() -> None:
        value = CachedValue(make, lane)
        with pytest.raises(ZeroDivisionError):
            await value.value()
        assert await value.value() == 1

    asyncio.run(ask())


def test_only_what_takes_time_may_be_old() -> None:
    assert cached_value.may_be_old(0.1) == 0
    assert cached_value.may_be_old(3) == 30
