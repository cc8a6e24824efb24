"""Share the work on many items with worker processes; results come in the items' order.

Python computes in one thread at a time, so what computes in Python needs processes to use several
processors. A worker opens the store for itself, reads the same snapshot, and answers item by item.
It takes half a second to start, so a caller begins alone and has help when there is enough to do.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from simstore.errors import InvalidParameter, SimstoreError
from simstore.processors import processor_count

if TYPE_CHECKING:
    # Most commands start no worker, and do without what one needs.
    from simstore.workers.process import Opening, Worker

# Items that are taken ahead of the first that is not done, for each process.
_AHEAD = 4

Item = TypeVar("Item")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedWork:
    """Options: how many processes work, on what, and from when on.

    Attributes:
        count: Processes that compute, with this one; 1: no workers are used.
        opening: What a worker opens; it yields a function, which is called with an item.
        arguments: Returns its arguments, when workers begin.
        is_valid: Returns whether a worker that is ready may help: it sees the same snapshot.
        least_items: So many items are worked on here before workers begin.
        least_weight: Or fewer that weigh so much.
        weight: Returns the weight of an item.
        early: Workers that wait already; they begin with the first item.
    """

    count: int
    opening: Opening
    arguments: Callable[[], tuple[Any, ...]]
    is_valid: Callable[[], bool]
    least_items: int
    least_weight: int
    weight: Callable[[Any], int]
    early: list[Worker] = field(default_factory=list)


def worker_count(threads: int | None) -> int:
    """Return the number of processes for the threads asked for; None: one for each processor.

    Raises:
        InvalidParameter: It is less than one.
    """
    if threads is None:
        return processor_count()
    if threads < 1:
        raise InvalidParameter(f"{threads} threads: there must be at least 1")
    return threads


@contextmanager
def early_workers(count: int, module: str) -> Iterator[list[Worker]]:
    """Yield workers that import a module meanwhile; those that nobody takes are ended.

    Args:
        count: How many; fewer if the system starts no more.
        module: Its name.
    """
    started: list[Worker] = []
    try:
        if count > 0:
            from simstore.workers.process import Worker

            # Reported when there is something to do.
            with suppress(OSError):
                started += [Worker(modules=[module]) for _ in range(count)]
        yield started
    finally:
        for worker in started:
            worker.end()


def in_order(
    items: Iterable[Item], work: Callable[[Item], Result], shared: SharedWork
) -> Iterator[Result]:
    """Yield the result of each item in the order of the items.

    The item of a worker that ends before it answers is worked on here. An error is raised at its
    item, after the results before it.

    Args:
        items: Taken one by one, a few ahead of the results.
        work: Returns the result of an item, in this process.
        shared: How it is shared.
    """
    failures: list[Exception] = []
    source = _until_failure(items, failures)
    weight = 0
    for done, item in enumerate(() if shared.early else source, start=1):
        yield work(item)
        weight += shared.weight(item)
        if shared.count > 1 and (done >= shared.least_items or weight >= shared.least_weight):
            break
    for item in source:
        yield from _Sharing(work, shared).results(item, source)
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
    """An item, and its result or error."""

    item: Item
    is_done: bool = False
    result: Result | None = None
    error: Exception | None = None


class _Sharing(Generic[Item, Result]):
    """Items that are shared out between this process and workers."""

    def __init__(self, work: Callable[[Item], Result], shared: SharedWork) -> None:
        self._work = work
        self._shared = shared
        self._changed = threading.Condition()
        self._waiting: deque[_Slot[Item, Result]] = deque()
        self._is_over = False
        self._validity = threading.Lock()

    def results(self, first: Item, others: Iterator[Item]) -> Iterator[Result]:
        """Yield the results."""
        slots: deque[_Slot[Item, Result]] = deque()
        most = _AHEAD * self._shared.count
        helpers: list[tuple[Worker, threading.Thread]] = []
        try:
            self._put(first, slots)
            for number, item in enumerate(others):
                if not number:
                    # There is more than this process does meanwhile.
                    self._start(helpers)
                self._put(item, slots)
                while len(slots) >= most:
                    yield self._result(slots)
            while slots:
                yield self._result(slots)
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()
            for worker, _ in helpers:
                worker.end()
            for _, thread in helpers:
                thread.join()

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

    def _start(self, helpers: list[tuple[Worker, threading.Thread]]) -> None:
        """Have workers begin, each with a thread that gives it what waits."""
        from simstore.workers.process import Worker

        arguments = self._shared.arguments()
        for _ in range(self._shared.count - 1):
            try:
                worker = self._shared.early.pop() if self._shared.early else Worker()
            except OSError as error:
                _log.warning("no worker process can be started (%s)", error.strerror or error)
                return
            worker.begin(self._shared.opening, *arguments)
            thread = threading.Thread(target=self._serve, args=(worker,), name="simstore-worker")
            helpers.append((worker, thread))
            thread.start()

    def _serve(self, worker: Worker) -> None:
        """Give a worker what waits, until there is nothing more or it ends."""
        from simstore.workers.process import WorkerEnded

        try:
            worker.wait_until_ready()
            with self._validity:
                if self._is_over or not self._shared.is_valid():
                    _log.debug("the store has changed since: a worker process cannot help")
                    return
            while (slot := self._taken()) is not None:
                try:
                    slot.result = worker.call("__call__", slot.item)
                except SimstoreError as error:
                    slot.error = error
                except Exception:
                    # Work that cannot be sent is done here, too.
                    with self._changed:
                        self._waiting.appendleft(slot)
                        self._changed.notify_all()
                    raise
                with self._changed:
                    slot.is_done = True
                    self._changed.notify_all()
        except WorkerEnded as error:
            if not self._is_over:
                _log.warning(
                    "a worker process has ended (%s); the others go on with its work", error
                )
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            _log.warning("a worker process cannot help (%s); the others do its work", reason)

    def _taken(self) -> _Slot[Item, Result] | None:
        with self._changed:
            while not self._waiting and not self._is_over:
                self._changed.wait()
            return None if self._is_over else self._waiting.popleft()
