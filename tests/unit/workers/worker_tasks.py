"""What worker processes do in tests."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simstore import compiled
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


class OddError(Exception):
    """An error that cannot be made again of its arguments."""

    def __init__(self, one: str, _other: object) -> None:
        super().__init__(one)


class Counter:
    """Has methods of every kind."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.released = threading.Event()

    def add(self, number: int) -> int:
        if number == 113:
            raise InvalidParameter("113 is refused")
        if number == 99:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += number
        return self.count

    def wait(self) -> str:
        self.released.wait()
        return "released"

    def release(self) -> None:
        self.released.set()

    def raise_odd(self) -> None:
        raise OddError("odd", threading.Lock())

    def no_value(self) -> object:
        return threading.Lock()

    def pieces(self, count: int, descriptor: int) -> Iterator[bytes]:
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
        for _ in range(count):
            yield data

    def broken(self) -> Iterator[bytes]:
        yield b"one"
        raise KeyError("no such part")

    def hang(self) -> Iterator[bytes]:
        self.released.wait()
        yield b""

    def session(self) -> int:
        return os.getsid(0)

    def open_files(self) -> list[str]:
        found = []
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                found.append(os.readlink(f"/proc/self/fd/{name}"))
        return found

    def threshold(self) -> float | None:
        return compiled.settings()[0]


@contextmanager
def counting(count: int, closed: Path | None = None) -> Iterator[Counter]:
    """Yield a counter; at the end write its count."""
    counter = Counter(count)
    yield counter
    if closed is not None:
        closed.write_text(str(counter.count))
