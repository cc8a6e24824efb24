"""What worker processes do in tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simstore.errors import InvalidParameter


@contextmanager
def squaring(power: int) -> Iterator[Callable[[int], int]]:
    """Yield what raises numbers to a power; 113 is refused, 99 ends the process."""

    def work(number: int) -> int:
        if number == 113:
            raise InvalidParameter("113 is refused")
        if number == 99:
            os.kill(os.getpid(), signal.SIGKILL)
        return number**power

    yield work


@contextmanager
def failing(_power: int) -> Iterator[Callable[[int], int]]:
    """Fail before there is anything to do."""
    raise InvalidParameter("it cannot begin")
    yield lambda number: number
