"""A pool of worker processes that share many items and return results in the items' order.

Python computes in one thread at a time, so what computes in Python needs processes to use several
processors. A worker opens the store for itself, reads the same snapshot, and answers item by item.
A program of ours that knows from the first that there is much to do forks its workers
(:class:`EarlyStart`). Else a worker is a program that this process starts. It takes most of a
second to start, so a caller begins alone, and has workers started once there is enough to do.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from simstore import compiled
from simstore.errors import InvalidParameter
from simstore.services.workers import forks
from simstore.services.workers.forks import ForkedProcess
from simstore.services.workers.processors import processor_count
from simstore.storage.engine import Database, SharedSnapshot

PROGRAM = "simstore.services.workers.worker_process"
# A worker that is asked to end and computes is killed: nothing of it is wanted.
_END_SECONDS = 5.0
# Items that are taken ahead of the first that is not done, for each process.
_AHEAD = 4

Item = TypeVar("Item")
Result = TypeVar("Result")
# Opens what is needed, and yields what is done with an item; a function of a module.
Task = Callable[..., AbstractContextManager[Callable[[Any], Any]]]

if TYPE_CHECKING:
    import socket
    import subprocess
    from multiprocessing.connection import Connection

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPool:
    """The options of a worker pool: how many workers help, and from when on.

    Attributes:
        count: Processes that compute, with this one; 1: no workers are started.
        task: What a worker does.
        arguments: Returns what it is called with, when workers are started.
        is_valid: Returns whether a worker that is ready may help: it sees the same snapshot.
        least_items: So many items are worked on here before workers are started.
        least_weight: Or fewer that weigh so much.
        weight: What an item weighs.
        early: Workers that were started already, and wait. They are used from the first item on,
            and others are started where they are fewer than ``count`` asks for.
    """

    count: int
    task: Task
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
def snapshot_for(database: Database, count: int) -> Iterator[SharedSnapshot]:
    """Yield a snapshot that a number of processes can share."""
    if count > 1:
        with database.share() as snapshot:
            yield snapshot
    else:
        with database.read() as connection:
            yield SharedSnapshot(connection, lambda: None, lambda: False)


def in_order(
    items: Iterable[Item], work: Callable[[Item], Result], pool: WorkerPool
) -> Iterator[Result]:
    """Yield the result of each item in the order of the items.

    Where a worker ends before it has answered, what it was asked is done here. An error is raised
    at its item, after the results before it.

    Args:
        items: Taken one by one, a few ahead of the results.
        work: What is done with an item in this process.
        pool: Who helps, and when.
    """
    failures: list[Exception] = []
    source = _until_failure(items, failures)
    weight = 0
    for done, item in enumerate(() if pool.early else source, start=1):
        yield work(item)
        weight += pool.weight(item)
        if pool.count > 1 and (done >= pool.least_items or weight >= pool.least_weight):
            break
    for item in source:
        yield from _Shared(work, pool).results(item, source)
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


class _Shared(Generic[Item, Result]):
    """Items that are shared out between this process and workers."""

    def __init__(self, work: Callable[[Item], Result], pool: WorkerPool) -> None:
        self._work = work
        self._pool = pool
        self._changed = threading.Condition()
        self._waiting: deque[_Slot[Item, Result]] = deque()
        self._is_over = False
        self._valid = threading.Lock()

    def results(self, first: Item, others: Iterator[Item]) -> Iterator[Result]:
        """Yield the results."""
        slots: deque[_Slot[Item, Result]] = deque()
        most = _AHEAD * self._pool.count
        with ExitStack() as stack:
            self._put(first, slots)
            for number, item in enumerate(others):
                if not number:
                    # There is more than this process does meanwhile.
                    arguments = self._pool.arguments()
                    for _ in range(self._pool.count - 1):
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
            worker = self._pool.early.pop() if self._pool.early else Worker()
        except OSError as error:
            _log.warning("no worker process can be started (%s)", error.strerror or error)
            return
        worker.begin(self._pool.task, arguments)
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
                if not self._pool.is_valid():
                    _log.debug("the store has changed since: a worker process cannot help")
                    return
            while (slot := self._taken()) is not None:
                try:
                    is_done, result = worker.ask(slot.item)
                except Exception:
                    # What cannot be sent, too, is done here.
                    with self._changed:
                        self._waiting.appendleft(slot)
                        self._changed.notify_all()
                    raise
                slot.result, slot.error = (result, None) if is_done else (None, result)
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
    """A worker process, which imports the modules it needs and waits for a task.

    Args:
        modules: What it imports meanwhile.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        # Most commands start no worker.
        import socket
        from multiprocessing.connection import Connection

        near, far = socket.socketpair()
        with far:
            try:
                self._process = self._started(near, far, modules)
            except BaseException:
                near.close()
                raise
        self._line: Connection[Any, Any] = Connection(near.detach())

    def _started(
        self,
        near: socket.socket,  # noqa: ARG002 - what is not forked does not have it
        far: socket.socket,
        modules: Sequence[str],
    ) -> subprocess.Popen[bytes] | ForkedProcess:
        from simstore.sources import bounded

        return bounded.start(PROGRAM, *modules, standard_input=far.fileno())

    def begin(self, task: Task, arguments: tuple[Any, ...]) -> None:
        """Send the worker its task.

        Args:
            task: What it does.
            arguments: What that is called with.
        """
        with suppress(OSError):
            # Where it has ended, it never becomes ready.
            self._line.send((compiled.settings(), task, arguments))

    @property
    def pid(self) -> int:
        """The process number."""
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
        is_done, result = self._line.recv()
        return is_done, result

    def ended(self) -> str:
        """Return how the process has ended."""
        import subprocess

        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return "it gives no answer"
        return f"signal {-status}" if status < 0 else f"status {status}"

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the connection and output of a worker that has ended."""
        self._line.close()
        if self._process.stdout is not None:
            self._process.stdout.close()


class _ForkedWorker(Worker):
    """A worker process that is a fork of this one.

    Args:
        siblings: Those that were forked before.

    Raises:
        OSError: It cannot be started, or this process may not fork.
    """

    def __init__(self, siblings: Sequence[Worker]) -> None:
        self._siblings = siblings
        super().__init__()

    def _started(
        self,
        near: socket.socket,
        far: socket.socket,
        modules: Sequence[str],  # noqa: ARG002 - it has them already
    ) -> subprocess.Popen[bytes] | ForkedProcess:
        from multiprocessing.connection import Connection

        from simstore.services.workers import worker_process

        def run() -> None:
            # With a copy of these it would never find that the other process has gone.
            near.close()
            for worker in self._siblings:
                worker._line.close()
            worker_process.answer(Connection(far.detach()))

        process = forks.fork(run)
        if process is None:
            raise OSError("this process has other threads")
        return process


@dataclass(frozen=True, slots=True)
class EarlyStart:
    """Starts workers before there is a snapshot, where they repay their start.

    Attributes:
        database: The store. Its connections are closed, as none may be carried through a fork.
        count: Processes that compute, with this one.
        expected_weight: What all items weigh, as far as is known.
        least_weight: What is worked on here while a program starts.
        warm_up: Has this process import and compile what workers need, so that forks have it.
        module: What programs import as soon as they are started.
    """

    database: Database
    count: int
    expected_weight: int
    least_weight: int
    warm_up: Callable[[], object]
    module: str

    @contextmanager
    def workers(self) -> Iterator[list[Worker]]:
        """Yield worker processes; none where there is too little to do. End those that are left.

        They are forks where this process may fork, else programs of their own.
        """
        started: list[Worker] = []
        try:
            if self.count > 1 and 2 * self.expected_weight > self.least_weight:
                self._fork(started)
            if self.expected_weight > 2 * self.least_weight:
                self._start(started)
            yield started
        finally:
            for worker in started:
                worker.end()
                worker.close()

    def _fork(self, started: list[Worker]) -> None:
        if not (forks.are_allowed() and self.database.is_file):
            return
        self.warm_up()
        self.database.close()
        if self.database.is_open:
            return
        with suppress(OSError):
            while len(started) < self.count - 1:
                started.append(_ForkedWorker(started))

    def _start(self, started: list[Worker]) -> None:
        # What cannot be started is told of when there is something to do for it.
        with suppress(OSError):
            while len(started) < self.count - 1:
                started.append(Worker([self.module]))
