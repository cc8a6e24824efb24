"""Reader processes, which answer queries outside the server's own process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from simstore.errors import Unavailable
from simstore.model import Document, QueryOptions, QueryRun
from simstore.server.workers.store_process import Place, StoreProcess
from simstore.server.workers.supervisor import Worker
from simstore.store import Store

_LINES = ("query", "run", "warm")
# Seconds between two looks whether one that died is back.
_LOOK_SECONDS = 0.5


class ReaderProcess(StoreProcess):
    """A process that answers queries.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        siblings: As of a :class:`StoreProcess`.
        forks: As of a :class:`StoreProcess`.
    """

    def __init__(
        self,
        place: Place,
        *,
        siblings: Sequence[StoreProcess] = (),
        forks: bool = sys.platform == "linux",
    ) -> None:
        super().__init__(
            place, _reading, lines=_LINES, title="reader", forks=forks, siblings=siblings
        )


class AwayReader:
    """A reader that delegates queries to reader processes; any thread may use it.

    What a process was asked when it died is asked of no other, and of this one least: it may be
    what killed it.

    Args:
        processes: At least one, each of which has opened the store.
    """

    def __init__(self, processes: Sequence[Worker]) -> None:
        self._processes = processes
        self._free = {line: list(processes) for line in ("query", "run")}
        self._changed = threading.Condition()

    def query_few(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> QueryRun:
        """Return the matches of few samples, and what they go by.

        Raises:
            Unavailable: The process that was asked has died, or there is none now.
        """
        found: QueryRun = self._asked("query", (tuple(samples), options))
        return found

    def query_many(
        self, samples: Sequence[Document], options: QueryOptions | None = None
    ) -> QueryRun:
        """Return the matches of each sample, and what they go by.

        For many samples, or long ones: few samples that are asked for meanwhile by
        :meth:`query_few` do not wait for them.

        Raises:
            Unavailable: The process that was asked has died, or there is none now.
        """
        found: QueryRun = self._asked("run", (tuple(samples), options))
        return found

    def warm(self) -> None:
        """Let each process read anew what its queries go by; one thread at a time."""
        for process in self._processes:
            # One that has died reads it when it is started again.
            with suppress(Unavailable):
                process.ask("warm", None)

    @property
    def up(self) -> int:
        """Return how many processes can be asked."""
        return sum(process.is_up for process in self._processes)

    def _asked(self, line: str, given: tuple[Any, ...]) -> Any:
        """Ask a process that is free."""
        process = self._taken(line)
        try:
            return process.ask(line, given)
        finally:
            with self._changed:
                self._free[line].append(process)
                self._changed.notify_all()

    def _taken(self, line: str) -> Worker:
        """Take a process that is free and can be asked; wait for one, while there is any."""
        free = self._free[line]
        with self._changed:
            while True:
                for place, process in enumerate(free):
                    if process.is_up:
                        return free.pop(place)
                if not self.up:
                    raise self._processes[0].away()
                self._changed.wait(_LOOK_SECONDS)


def _reading(place: Place, stack: ExitStack) -> Mapping[str, Callable[[Any], Any]]:
    store = stack.enter_context(Store.open(place, resident=True))
    store.maintenance.warm()
    return {
        "query": lambda given: store.query_many(*given),
        "run": lambda given: store.query_many(*given),
        "warm": lambda _: store.maintenance.warm(),
    }
