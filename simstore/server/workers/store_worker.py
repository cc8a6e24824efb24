"""Workers of a server that have opened its store: a writer, readers, and those that check papers.

Threads of one process share its interpreter's lock, so the store's work would delay every request.
The writer and the readers are started again when they die. What one was asked then is reported as
unavailable: nobody knows how far it came, and what killed it must not be asked of another. The
pause before the next start grows while one dies again and again.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Literal

from simstore import version
from simstore.errors import SimstoreError, Unavailable
from simstore.model import (
    CheckedPaper,
    CheckOptions,
    Document,
    MutualCheck,
    QueryOptions,
    QueryRun,
)
from simstore.reports.log_lines import LogStyle, log_style, write_log
from simstore.services.ingest.write_groups import Reply, Request
from simstore.services.ingest.writer import Writer
from simstore.store import Store
from simstore.workers.process import OTHER_VERSION, Worker, WorkerEnded, WorkerPool

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
# A worker that lives so long is sound: its next end is counted as the first.
_STEADY_SECONDS = 60.0
# Time to start, about: imports, and reading the index into memory.
_START_SECONDS = 2.0
# Ends in a row from which on it is called a loop.
_LOOP = 3
# Seconds that the last request gets when the server ends.
_LAST_SECONDS = 5.0
# Seconds between two looks whether a reader that died is back.
_LOOK_SECONDS = 0.5
# With fewer processors than work, somebody who waits for a query comes first.
_NICE = 5

Place = str | os.PathLike[str]
Kind = Literal["writer", "reader", "checker"]
# Methods of the writer and the readers; each has a line of its own, so they run at once.
_METHODS: dict[Kind, tuple[str, ...]] = {
    "writer": ("write", "tidy"),
    "reader": ("query", "run", "warm"),
}

_log = logging.getLogger("simstore")


class OtherVersion(Unavailable):
    """Another version of simstore is installed in the place of the server's."""


class StoreWorker:
    """A writer or a reader, which is started again when it dies.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        kind: What it does; also its name in messages.

    Raises:
        OSError: No process can be started.
    """

    def __init__(self, place: Place, kind: Kind) -> None:
        self._place = place
        self.title = kind
        self._methods = _METHODS[kind]
        self._is_up = False
        self._ends = 0
        self._restarts = 0
        self._is_of_other_version = False
        self._began = self._expected = time.monotonic()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"watch-{kind}", daemon=True)
        self._worker = self.start()

    def start(self) -> Worker:
        """Return a new process, which may not be ready yet.

        Raises:
            OSError: None can be started.
        """
        worker = Worker(line_count=len(self._methods), errors=None)
        worker.begin(serving_store, os.fspath(self._place), self.title, _tuning())
        return worker

    @property
    def pid(self) -> int:
        """Number of the process that there is now."""
        return self._worker.pid

    @property
    def is_up(self) -> bool:
        """Return whether it can be asked."""
        return self._is_up

    @property
    def restarts(self) -> int:
        """Number of restarts."""
        return self._restarts

    @property
    def is_of_other_version(self) -> bool:
        """Return whether it was not restarted because another version is installed."""
        return self._is_of_other_version

    def wait_until_ready(self) -> None:
        """Wait until it has opened the store; from then on it is watched.

        Raises:
            SimstoreError: It cannot be opened.
        """
        self._wait_for(self._worker)
        self._is_up, self._began = True, time.monotonic()
        self._thread.start()

    def ask(self, method: str, *arguments: Any) -> Any:
        """Run a method there; one after the other of each.

        Raises:
            Unavailable: The process has died, and is started again.
        """
        worker = self._worker
        if not self._is_up:
            raise self.away()
        try:
            return worker.call(method, *arguments, line=self._methods.index(method))
        except WorkerEnded:
            self._fall(worker)
            raise self.away() from None

    def away(self) -> Unavailable:
        """Return the error to raise while there is no process."""
        left = max(self._expected - time.monotonic(), 0.0) + _START_SECONDS
        return Unavailable(
            f"the {self.title}'s process has ended, and is started again; what was under way may "
            f"be done or not: try again in {left:.0f} s",
            left,
        )

    def close(self, seconds: float = _LAST_SECONDS) -> None:
        """End it, and start none again.

        Args:
            seconds: How long it may take to end by itself.
        """
        with self._lock:
            self._is_up = False
            self._closing.set()
        self._worker.close(seconds)
        if self._thread.is_alive():
            self._thread.join()

    def _wait_for(self, worker: Worker) -> None:
        try:
            worker.wait_until_ready()
        except WorkerEnded as error:
            if error.status == OTHER_VERSION:
                raise OtherVersion(
                    f"this server is simstore {version.__version__}, and another version is "
                    "installed in its place: restart the server"
                ) from None
            raise Unavailable(f"the {self.title}'s process has ended ({error})") from None

    def _watch(self) -> None:
        while True:
            worker = self._worker
            status = worker.wait()
            if self._closing.is_set():
                return
            self._fall(worker)
            steady = time.monotonic() - self._began > _STEADY_SECONDS
            self._ends = 1 if steady else self._ends + 1
            pause = pause_after(self._ends)
            self._expected = time.monotonic() + pause
            in_a_row = f" {self._ends} times, each soon after its start"
            _log.error(
                "the %s's process has ended (%s)%s; it is started again in %g s",
                self.title, status, in_a_row if self._ends >= _LOOP else "", pause,
            )  # fmt: skip
            if self._closing.wait(pause):
                return
            self._start_again()

    def _start_again(self) -> None:
        """Start another process; the watcher will notice that it has exited."""
        try:
            worker = self.start()
            with self._lock:
                if self._closing.is_set():
                    worker.end()
                    return
                self._worker = worker
            self._began = time.monotonic()
            self._wait_for(worker)
        except (OSError, SimstoreError) as error:
            self._is_of_other_version = isinstance(error, OtherVersion)
            _log.error("the %s cannot be started: %s", self.title, error)
            return
        with self._lock:
            self._is_up = not self._closing.is_set()
            self._restarts += 1
            self._is_of_other_version = False
        _log.warning("the %s's process was started again", self.title)

    def _fall(self, worker: Worker) -> None:
        with self._lock:
            if self._worker is worker:
                self._is_up = False


def pause_after(ends: int) -> float:
    """Return the delay before a restart, after so many ends in a row."""
    return float(min(_FIRST_PAUSE * 2 ** min(ends - 1, 10), _LONGEST_PAUSE))


class AwayReader:
    """A reader that delegates queries to reader processes; any thread may use it.

    What a process was asked when it died is asked of no other, and of this one least: it may be
    what killed it.

    Args:
        processes: At least one, each of which has opened the store.
    """

    def __init__(self, processes: Sequence[StoreWorker]) -> None:
        self._processes = processes
        self._free = {method: list(processes) for method in ("query", "run")}
        self._changed = threading.Condition()

    def query_few(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> QueryRun:
        """Return the matches of few samples, and what they go by.

        Raises:
            Unavailable: The process that was asked has died, or there is none now.
        """
        return self._asked("query", samples, options)

    def query_many(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> QueryRun:
        """Return the matches of each sample, and what they go by.

        For many samples, or long ones: few samples that are asked for meanwhile by
        :meth:`query_few` do not wait for them.

        Raises:
            Unavailable: The process that was asked has died, or there is none now.
        """
        return self._asked("run", samples, options)

    def warm(self) -> None:
        """Have each process read again what its queries go by; one thread at a time."""
        for process in self._processes:
            # One that has died reads it when it is started again.
            with suppress(Unavailable):
                process.ask("warm")

    @property
    def up(self) -> int:
        """Return how many processes can be asked."""
        return sum(process.is_up for process in self._processes)

    def _asked(
        self, method: str, samples: Sequence[Document], options: QueryOptions | None
    ) -> QueryRun:
        """Ask a process that is free."""
        process = self._taken(method)
        try:
            run: QueryRun = process.ask(method, tuple(samples), options)
            return run
        finally:
            with self._changed:
                self._free[method].append(process)
                self._changed.notify_all()

    def _taken(self, method: str) -> StoreWorker:
        """Take a process that is free and can be asked; wait for one, while there is any."""
        free = self._free[method]
        with self._changed:
            while True:
                for place, process in enumerate(free):
                    if process.is_up:
                        return free.pop(place)
                if not self.up:
                    raise self._processes[0].away()
                self._changed.wait(_LOOK_SECONDS)


class AwayChecker:
    """Checks papers in workers, which are started when they are needed.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        most_idle: So many wait for papers.
    """

    def __init__(self, place: Place, most_idle: int) -> None:
        self._pool = WorkerPool(
            serving_store, os.fspath(place), "checker", _tuning(), most_idle=most_idle
        )

    def check_many(
        self, papers: Sequence[Document], options: CheckOptions, on_step: Callable[[], None]
    ) -> list[CheckedPaper]:
        """Return the result of each paper.

        Args:
            papers: The papers.
            options: How to check them.
            on_step: Called now and then; what it raises ends the worker.

        Raises:
            Unavailable: The worker has ended.
        """
        found: list[CheckedPaper] = self._asked("check_many", papers, options, on_step)
        return found

    def check_mutual(
        self, papers: Sequence[Document], options: CheckOptions, on_step: Callable[[], None]
    ) -> MutualCheck:
        """Return what papers have in common; as :meth:`check_many`."""
        found: MutualCheck = self._asked("check_mutual", papers, options, on_step)
        return found

    def end(self) -> None:
        """End the workers that wait."""
        self._pool.end()

    def _asked(
        self,
        method: str,
        papers: Sequence[Document],
        options: CheckOptions,
        on_step: Callable[[], None],
    ) -> Any:
        try:
            with self._pool.worker() as worker:
                return worker.call(method, list(papers), options, on_wait=on_step)
        except WorkerEnded as error:
            raise Unavailable(f"the process that checked has ended ({error})") from None
        except SimstoreError:
            raise
        except OSError as error:
            raise Unavailable(f"no process can be started ({error.strerror})") from None


# The worker's side


class _Writing:
    """Writes to the store."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def write(self, requests: Sequence[Request]) -> list[Reply]:
        return self._writer.write(requests)

    def tidy(self) -> bool:
        return self._writer.tidy()


class _Reading:
    """Reads the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def query(self, samples: Sequence[Document], options: QueryOptions | None) -> QueryRun:
        return self._store.query_many(samples, options)

    run = query

    def warm(self) -> None:
        self._store.maintenance.warm()

    def check_many(self, papers: Sequence[Document], options: CheckOptions) -> list[CheckedPaper]:
        return list(self._store.check_many(papers, options))

    def check_mutual(self, papers: Sequence[Document], options: CheckOptions) -> MutualCheck:
        return self._store.check_mutual(papers, options)


_Tuning = tuple[float, tuple[int, int, int], tuple[Any, ...] | None]


def _tuning() -> _Tuning:
    """Return how this process shares its lock, collects garbage and writes its log."""
    style = log_style()
    return sys.getswitchinterval(), gc.get_threshold(), None if style is None else tuple(style)


@contextmanager
def serving_store(place: str, kind: Kind, tuning: _Tuning) -> Iterator[_Writing | _Reading]:
    """Open a store, and yield what serves it."""
    sys.setswitchinterval(tuning[0])
    gc.set_threshold(*tuning[1])
    if tuning[2] is not None:
        write_log(LogStyle(*tuning[2]))
    if kind == "writer" and hasattr(os, "nice"):
        os.nice(_NICE)
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(place, resident=kind != "checker"))
        if kind != "checker":
            store.maintenance.warm()
        serving: _Writing | _Reading = _Reading(store)
        if kind == "writer":
            serving = _Writing(stack.enter_context(store.runs.writer()))
        closing = stack.pop_all()
    yield serving
    try:
        closing.close()
    except SimstoreError as error:
        # A run whose end cannot be recorded, of a store that is gone.
        _log.error("the %s ended: %s", kind, error)
