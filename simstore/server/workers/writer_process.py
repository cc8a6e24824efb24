"""The writer of a server as a child process, so that writing delays no query.

Queries and commits would share one interpreter's lock otherwise, and a query wait for it at every
statement. Where the server is killed, a group that is being committed is there whole, or not at
all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from simstore.server.workers.store_process import Place, StoreProcess
from simstore.server.workers.supervisor import Worker
from simstore.services.ingest.write_groups import Reply, Request
from simstore.services.ingest.writer import Writer
from simstore.store import Store

# Where there are fewer processors than work, somebody who waits for a query comes first.
_NICE = 5


class WriterProcess(StoreProcess):
    """A process that writes to a store.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        forks: As of a :class:`StoreProcess`.
    """

    def __init__(self, place: Place, *, forks: bool = sys.platform == "linux") -> None:
        super().__init__(
            place, _writing, lines=("write", "tidy"), title="writer", nice=_NICE, forks=forks
        )


class AwayWriter:
    """A writer whose work is done by a process.

    Args:
        near: A writer of this process, which checks requests and does nothing else.
        process: The process, which has opened the store.
    """

    def __init__(self, near: Writer, process: Worker) -> None:
        self._near = near
        self._process = process

    def checked(self, request: Request) -> Request:
        """Return a request as :meth:`Writer.checked` does."""
        return self._near.checked(request)

    def write(self, requests: Sequence[Request]) -> list[Reply]:
        """Let requests be written; durable on return."""
        replies: list[Reply] = self._process.ask("write", tuple(requests))
        return replies

    def tidy(self, *, is_busy: bool = False) -> bool:
        """Let the store be tidied up; return whether queries are to read anew what they go by."""
        is_packed: bool = self._process.ask("tidy", is_busy)
        return is_packed


# What a queue writes by.
GroupWriter = Writer | AwayWriter


def _writing(place: Place, stack: ExitStack) -> Mapping[str, Callable[[Any], Any]]:
    store = stack.enter_context(Store.open(place, resident=True))
    store.maintenance.warm()
    writer = stack.enter_context(store.runs.writer())
    return {"write": writer.write, "tidy": lambda is_busy: writer.tidy(is_busy=is_busy)}
