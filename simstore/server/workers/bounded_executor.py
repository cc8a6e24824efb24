"""A thread pool with a bounded queue: it refuses work when too much is waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from simstore.errors import Overloaded

P = ParamSpec("P")
Step = Callable[[], None]
R = TypeVar("R")
_RETRY_SECONDS = 1.0


class RequestAbandoned(Exception):
    """Raised in a thread whose request has ended, at its time limit or otherwise."""


@contextmanager
def while_wanted() -> Iterator[Step]:
    """Yield a function to call between pieces of work, which raises once this context has ended.

    Yields:
        A function that raises RequestAbandoned, so that the thread gives up and its place is free.
    """
    ended = threading.Event()

    def step() -> None:
        if ended.is_set():
            raise RequestAbandoned

    try:
        yield step
    finally:
        ended.set()


class BoundedExecutor:
    """A thread pool with a bounded queue.

    A thread cannot be stopped: what took too long for its request goes on to its end, and has its
    place until then, unless it asks now and then whether it is wanted (:func:`while_wanted`).
    """

    def __init__(self, name: str, threads: int, most_waiting: int) -> None:
        """Make a thread pool.

        Args:
            name: Name of its threads.
            threads: How many.
            most_waiting: How many may wait besides those that run.
        """
        self._pool = ThreadPoolExecutor(threads, f"simstore-{name}")
        self._room = threads + most_waiting
        self._changed = threading.Condition()
        self._taken = 0

    @property
    def taken(self) -> int:
        """Number of functions that run or wait."""
        return self._taken

    async def run(self, function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
        """Return what a function returns; raise what it raises.

        Raises:
            Overloaded: As many as may wait do so.
        """
        if self._taken >= self._room:
            raise Overloaded(_RETRY_SECONDS)
        return await self.go_on(function, *given, **named)

    async def go_on(self, function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
        """Return what a function returns, however many wait: for what has begun already."""
        with self._changed:
            self._taken += 1
        future = self._pool.submit(function, *given, **named)
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def forget(self, function: Callable[..., Any], *given: Any) -> None:
        """Run a function some time, and hear no more of it."""
        with suppress(RuntimeError):
            self._pool.submit(function, *given)

    def close(self, timeout: float | None = None) -> bool:
        """Drop what waits, and wait for what runs.

        Args:
            timeout: For so many seconds; None: as long as it takes.

        Returns:
            Whether nothing runs any more.
        """
        self._pool.shutdown(wait=timeout is None, cancel_futures=True)
        with self._changed:
            return self._changed.wait_for(lambda: self._taken == 0, timeout)

    def _leave(self, _done: Future[Any]) -> None:
        with self._changed:
            self._taken -= 1
            self._changed.notify_all()
