"""Threads with few places: what finds none is refused at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from simstore.errors import Overloaded
from simstore.server.workers.bounded_executor import BoundedExecutor


@pytest.fixture
def lane() -> Iterator[BoundedExecutor]:
    made = BoundedExecutor("test", 1, 1)
    yield made
    made.close()


def test_what_finds_no_place_is_refused_at_once(lane: BoundedExecutor) -> None:
    free = threading.Event()

    async def ask() -> None:
        running = [asyncio.create_task(lane.run(free.wait)) for _ in range(2)]
        await asyncio.sleep(0)
        assert lane.taken == 2
        with pytest.raises(Overloaded) as refused:
            await lane.run(print)
        assert refused.value.retry_after == 1
        # What has begun already goes on.
        going_on = asyncio.create_task(lane.go_on(free.is_set))
        free.set()
        assert await asyncio.gather(*running, going_on) == [True, True, True]
        assert lane.taken == 0

    asyncio.run(ask())


def test_what_nobody_waits_for_has_its_place_until_its_end(lane: BoundedExecutor) -> None:
    free, begun = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        free.wait()

    async def ask() -> None:
        task = asyncio.create_task(lane.run(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert lane.taken == 1
        free.set()
        await lane.run(int)

    asyncio.run(ask())
    assert lane.taken == 0


def test_a_lane_that_is_closed_waits_as_long_as_it_may() -> None:
    lane = BoundedExecutor("test", 1, 1)
    free = threading.Event()

    async def ask() -> None:
        running = asyncio.create_task(lane.run(free.wait))
        waiting = asyncio.create_task(lane.run(print))
        await asyncio.sleep(0)
        assert lane.close(timeout=0) is False
        with pytest.raises(asyncio.CancelledError):
            await waiting
        free.set()
        assert await running

    asyncio.run(ask())
    assert lane.close() is True
    assert lane.taken == 0


def test_errors_come_back(lane: BoundedExecutor) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(lane.run(divmod, 1, 0))
    assert lane.taken == 0
