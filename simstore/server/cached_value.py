"""A cached value, recomputed after a time that grows with the cost of computing it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from simstore.server.workers.bounded_executor import BoundedExecutor

T = TypeVar("T")
# What is made in less is made anew for everybody.
_SOON_SECONDS = 0.5
_TIMES = 10.0


def may_be_old(seconds: float) -> float:
    """Return how many seconds a value that took so long to compute stays valid.

    Ten times as long: so making it takes a tenth of a processor at most, however often it is asked
    for.
    """
    return _TIMES * seconds if seconds >= _SOON_SECONDS else 0.0


class CachedValue(Generic[T]):
    """A value computed on request, once for all requests that wait for it at the same time.

    Args:
        make: Makes it, in a thread.
        executor: Where.
        least_seconds: How old it may be at least.
    """

    def __init__(
        self,
        make: Callable[[], T],
        executor: BoundedExecutor,
        least_seconds: float = 0.0,
    ) -> None:
        self._make = make
        self._executor = executor
        self._least = least_seconds
        self._made: T | None = None
        self._good_until = 0.0
        self._making: asyncio.Task[T] | None = None

    async def value(self, patience: float | None = None) -> T:
        """Return the value.

        Args:
            patience: Seconds after which an older value will do, if there is one; None: wait for
                the new one.

        Raises:
            SimstoreError: It cannot be made.
        """
        if self._made is not None and time.monotonic() < self._good_until:
            return self._made
        if self._making is None:
            self._making = asyncio.create_task(self._made_anew())
        # Who asked may go away; the others still wait for it.
        making = asyncio.shield(self._making)
        if patience is not None and self._made is not None:
            with suppress(TimeoutError):
                return await asyncio.wait_for(making, patience)
            return self._made
        return await making

    async def _made_anew(self) -> T:
        try:
            begun = time.monotonic()
            self._made = await self._executor.go_on(self._make)
            ended = time.monotonic()
            self._good_until = ended + max(self._least, may_be_old(ended - begun))
            return self._made
        finally:
            self._making = None
