"""Queries answered by processes of their own, so that HTTP and look-ups have a processor each."""

from __future__ import annotations

import logging
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Protocol

from simstore.errors import Unavailable
from simstore.model import Document, QueryOptions, QueryRun, SampleResult
from simstore.server.store_process import Place, StoreProcess
from simstore.store import Store

_LINES = ("query", "run", "warm")

_log = logging.getLogger(__name__)


class Reader(Protocol):
    """What answers queries: a :class:`Store`, or processes that have opened it."""

    def query_many(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> list[SampleResult]:
        """Return the matches of each sample, in the order of the samples."""

    def query_run(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> QueryRun:
        """Return the matches of each sample, and what they go by."""

    def warm(self) -> None:
        """Read anew what queries go by."""


class ReaderProcess(StoreProcess):
    """A process that answers queries.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        elder: As of a :class:`StoreProcess`.
        forks: As of a :class:`StoreProcess`.
    """

    def __init__(
        self,
        place: Place,
        *,
        elder: Sequence[StoreProcess] = (),
        forks: bool = sys.platform == "linux",
    ) -> None:
        super().__init__(place, _reading, lines=_LINES, title="reader", forks=forks, elder=elder)


class AwayReader:
    """A reader whose work is done by processes; any thread may ask.

    Where all have died, the store is asked here: the answers are the same, and come later.

    Args:
        store: The store, as the server has opened it; it stays the caller's.
        processes: At least one, each of which has opened the store.
    """

    def __init__(self, store: Store, processes: Sequence[ReaderProcess]) -> None:
        self._store = store
        self._processes = processes
        # None: there are no more.
        self._free: dict[str, queue.SimpleQueue[ReaderProcess | None]] = {}
        self._left = dict.fromkeys(("query", "run"), len(processes))
        for line in self._left:
            self._free[line] = queue.SimpleQueue()
            for process in processes:
                self._free[line].put(process)
        self._lock = threading.Lock()

    def query_many(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> list[SampleResult]:
        """Return the matches of each sample, in the order of the samples."""
        given = tuple(samples), options
        found: list[SampleResult] = self._asked("query", given, self._store.query_many)
        return found

    def query_run(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> QueryRun:
        """Return the matches of each sample, and what they go by.

        For many samples, or long ones: few samples that are asked for meanwhile by
        :meth:`query_many` do not wait for them.
        """
        found: QueryRun = self._asked("run", (tuple(samples), options), self._store.query_run)
        return found

    def warm(self) -> None:
        """Let each process read anew what its queries go by; one thread at a time."""
        for process in self._processes:
            # One that has died: who asks it something next says so.
            with suppress(Unavailable):
                process.ask("warm", None)

    @property
    def left(self) -> int:
        """Return how many have not been found dead."""
        return min(self._left.values())

    def _asked(self, line: str, given: tuple[Any, ...], here: Callable[..., Any]) -> Any:
        """Ask a process that is free; where there are no more, this one."""
        free = self._free[line]
        while (process := free.get()) is not None:
            try:
                told = process.ask(line, given)
            except Unavailable as error:
                if not process.has_ended:
                    free.put(process)
                    raise
                self._lose(line, error)
                continue
            except BaseException:
                free.put(process)
                raise
            free.put(process)
            return told
        free.put(None)
        return here(*given)

    def _lose(self, line: str, error: Unavailable) -> None:
        with self._lock:
            self._left[line] -= 1
            left = self._left[line]
        if not left:
            self._free[line].put(None)
        _log.error("%s; %d answer queries, start the server anew for more", error, left)


def _reading(place: Place, stack: ExitStack) -> Mapping[str, Callable[[Any], Any]]:
    store = stack.enter_context(Store.open(place, resident=True))
    store.warm()
    return {
        "query": lambda given: store.query_many(*given),
        "run": lambda given: store.query_run(*given),
        "warm": lambda _: store.warm(),
    }
