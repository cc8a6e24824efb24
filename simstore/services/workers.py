"""Worker processes: work on many items, done by this process and others, in the order of the items.

Python computes in one thread at a time, so what computes in Python needs processes to use several
processors. A worker is a program of ours that this one starts; it opens the store for itself, reads
the same snapshot, and answers item by item. It takes most of a second to start, so a caller
begins alone, and has workers started once there is enough to do.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar, cast

from simstore import compiled
from simstore.errors import InvalidParameter
from simstore.services.processors import processor_count
from simstore.sources import bounded
from simstore.storage.engine import Database, SharedSnapshot

PROGRAM = "simstore.services.worker_process"
# A worker that is asked to end and computes is killed: nothing of it is wanted.
_END_SECONDS = 5.0
# Items that are taken ahead of the first that is not done, for each process.
_AHEAD = 4

Item = TypeVar("Item")
Result = TypeVar("Result")
# Opens what is needed, and yields what is done with an item; a function of a module.
Duty = Callable[..., AbstractContextManager[Callable[[Any], Any]]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Crew:
    """Which workers help, and from when on.

    Attributes:
        count: Processes that compute, with this one; 1: no workers are started.
        duty: What a worker does.
        arguments: Returns what it is called with, when workers are started.
        is_valid: Returns whether a worker that is ready may help: it sees the same snapshot.
        least_items: So many items are worked on here before workers are started.
        least_weight: Or fewer that weigh so much.
        weight: What an item weighs.
        expected_weight: What all items weigh, as far as is known. Where it is more than twice
            ``least_weight``, workers are started at once.
    """

    count: int
    duty: Duty
    arguments: Callable[[], tuple[Any, ...]]
    is_valid: Callable[[], bool]
    least_items: int
    least_weight: int
    weight: Callable[[Any], int]
    expected_weight: int = 0

    @property
    def starts_at_once(self) -> bool:
        """Return whether it is known from the first that workers repay their start."""
        return self.count > 1 and self.expected_weight > 2 * self.least_weight


def worker_count(threads: int | None) -> int:
    """Return how many processes compute, where so many threads are asked for; None: all that can.

    Raises:
        InvalidParameter: It is less than one.
    """
    if threads is None:
        return processor_count()
    if threads < 1:
        raise InvalidParameter(f"{threads} threads: there must be at least 1")
    return threads


@contextmanager
def snapshot_for(database: Database, count: int) -> Iterator[SharedSnapshot]:
    """Yield a snapshot for so many processes."""
    if count > 1:
        with database.share() as snapshot:
            yield snapshot
    else:
        with database.read() as connection:
            yield SharedSnapshot(connection, lambda: None, lambda: False)


def in_order(items: Iterable[Item], work: Callable[[Item], Result], crew: Crew) -> Iterator[Result]:
    """Yield the result of each item in the order of the items.

    Where a worker ends before it has answered, what it was asked is done here. An error is raised
    at its item, after the results before it.

    Args:
        items: Taken one by one, a few ahead of the results.
        work: What is done with an item in this process.
        crew: Who helps, and when.
    """
    failures: list[Exception] = []
    source = _until_failure(items, failures)
    weight = 0
    for done, item in enumerate(() if crew.starts_at_once else source, start=1):
        yield work(item)
        weight += crew.weight(item)
        if crew.count > 1 and (done >= crew.least_items or weight >= crew.least_weight):
            break
    for item in source:
        yield from _Shared(work, crew).results(item, source)
    if failures:
        raise failures[0]


def _until_failure(items: Iterable[Item], failures: list[Exception]) -> Iterator[Item]:
    """Yield items until no other can be had; what was had before comes first."""
    try:
        yield from items
    except Exception as error:
        failures.append(error)


@dataclass(slots=True, eq=False)
class _Slot(Generic[Item, Result]):
    """An item, and what came of it."""

    item: Item
    is_done: bool = False
    result: Result | None = None
    error: Exception | None = None


class _Shared(Generic[Item, Result]):
    """Items that are shared out between this process and workers."""

    def __init__(self, work: Callable[[Item], Result], crew: Crew) -> None:
        self._work = work
        self._crew = crew
        self._changed = threading.Condition()
        self._waiting: deque[_Slot[Item, Result]] = deque()
        self._is_over = False
        self._valid = threading.Lock()

    def results(self, first: Item, others: Iterator[Item]) -> Iterator[Result]:
        """Yield the results."""
        slots: deque[_Slot[Item, Result]] = deque()
        most = _AHEAD * self._crew.count
        with ExitStack() as stack:
            self._put(first, slots)
            for number, item in enumerate(others):
                if not number:
                    # There is more than this process does meanwhile.
                    arguments = self._crew.arguments()
                    for _ in range(self._crew.count - 1):
                        self._start(stack, arguments)
                self._put(item, slots)
                while len(slots) >= most:
                    yield self._result(slots)
            while slots:
                yield self._result(slots)

    def _put(self, item: Item, slots: deque[_Slot[Item, Result]]) -> None:
        slot: _Slot[Item, Result] = _Slot(item)
        slots.append(slot)
        with self._changed:
            self._waiting.append(slot)
            self._changed.notify_all()

    def _result(self, slots: deque[_Slot[Item, Result]]) -> Result:
        """Return the first result; while it is not there, work on what waits."""
        slot = slots[0]
        while True:
            with self._changed:
                if slot.is_done:
                    break
                mine = self._waiting.popleft() if self._waiting else None
                if mine is None:
                    self._changed.wait()
                    continue
            try:
                mine.result = self._work(mine.item)
            except Exception as error:
                mine.error = error
            mine.is_done = True
        slots.popleft()
        if slot.error is not None:
            raise slot.error
        return cast(Result, slot.result)

    # Workers

    def _start(self, stack: ExitStack, arguments: tuple[Any, ...]) -> None:
        """Start a worker, and a thread that gives it what waits; at the end of the stack both end.

        Where no process can be started, this one does it alone.
        """
        try:
            worker = Worker(self._crew.duty, arguments)
        except OSError as error:
            _log.warning("no worker process can be started (%s)", error.strerror or error)
            return
        thread = threading.Thread(target=self._serve, args=(worker,), name="simstore-worker")
        thread.start()
        # The last is called first.
        stack.callback(worker.close)
        stack.callback(thread.join)
        stack.callback(worker.end)
        stack.callback(self._end)

    def _end(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _serve(self, worker: Worker) -> None:
        """Give a worker what waits, until there is nothing more or it ends."""
        try:
            if not worker.wait_until_ready() or self._is_over:
                return
            with self._valid:
                if not self._crew.is_valid():
                    _log.debug("the store has changed since: a worker process cannot help")
                    return
            while (slot := self._taken()) is not None:
                try:
                    is_done, told = worker.ask(slot.item)
                except Exception:
                    # What cannot be sent, too, is done here.
                    with self._changed:
                        self._waiting.appendleft(slot)
                        self._changed.notify_all()
                    raise
                slot.result, slot.error = (told, None) if is_done else (None, told)
                with self._changed:
                    slot.is_done = True
                    self._changed.notify_all()
        except (EOFError, OSError):
            if not self._is_over:
                _log.warning(
                    "a worker process has ended (%s); the others go on with its work",
                    worker.ended(),
                )
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            _log.warning("a worker process cannot help (%s); the others do its work", reason)

    def _taken(self) -> _Slot[Item, Result] | None:
        with self._changed:
            while not self._waiting and not self._is_over:
                self._changed.wait()
            return None if self._is_over else self._waiting.popleft()


class Worker:
    """A worker process.

    Args:
        duty: What it does.
        arguments: What that is called with.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, duty: Duty, arguments: tuple[Any, ...]) -> None:
        near, far = socket.socketpair()
        with far:
            try:
                self._process = bounded.start(PROGRAM, standard_input=far.fileno())
            except BaseException:
                near.close()
                raise
        self._line: Connection[Any, Any] = Connection(near.detach())
        with suppress(OSError):
            # Where it has ended, it never becomes ready.
            self._line.send((compiled.settings(), duty, arguments))

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def wait_until_ready(self) -> bool:
        """Return whether it can work; False: it says why not, as this process would find too.

        Raises:
            EOFError: It has ended.
            OSError: It has ended.
        """
        is_ready, why = self._line.recv()
        if not is_ready:
            _log.debug("a worker process cannot help: %s", why)
        return bool(is_ready)

    def ask(self, item: Any) -> tuple[bool, Any]:
        """Return whether it did its work on an item, and the result or the error.

        Raises:
            EOFError: It has ended.
            OSError: It has ended.
        """
        self._line.send((item,))
        is_done, told = self._line.recv()
        return is_done, told

    def ended(self) -> str:
        """Return how it has ended."""
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return "it gives no answer"
        return f"signal {-status}" if status < 0 else f"status {status}"

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close what leads to it, when it has ended and nobody asks it."""
        self._line.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
