"""The writer of a server in a process of its own: what it computes holds up no query.

Queries and commits would share one interpreter's lock otherwise, and a query wait for it at every
statement. The process is forked before the server has threads or has opened the store; it opens
the store for itself. Where the server is killed it ends at once: a group that is being committed
then is there whole, or not at all.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol

from simstore.errors import SimstoreError, StorageError, Unavailable
from simstore.services.arriving.write_groups import Reply, Request
from simstore.services.arriving.writer import Writer
from simstore.store import Store

# What the process is asked by a line of its own each, so that none waits for another.
_LINES = ("write", "tidy")
_NICE = 5
# Seconds for its last commit when the server ends.
_LAST_SECONDS = 5.0

_log = logging.getLogger(__name__)


class GroupWriter(Protocol):
    """What a queue writes by: a :class:`Writer`, or one in a process of its own."""

    def checked(self, request: Request) -> Request:
        """Return a request with its documents as they will be stored."""

    def write(self, requests: Sequence[Request]) -> list[Reply]:
        """Prepare requests and commit them; durable on return."""

    def tidy(self) -> bool:
        """Tidy the store up; return whether what readers have read is to be read anew."""


class WriterProcess:
    """A process that writes to a store.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        forks: Fork it, while this process has no threads yet: that takes no time. False: it
            imports everything anew, as it must where forking is not safe, or there is none.
    """

    def __init__(
        self, place: str | os.PathLike[str], *, forks: bool = sys.platform == "linux"
    ) -> None:
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        pairs = {name: context.Pipe() for name in _LINES}
        self._lines = {name: near for name, (near, _) in pairs.items()}
        theirs = {name: far for name, (_, far) in pairs.items()}
        # Nothing is ever sent: it ends with this process.
        far, self._life = context.Pipe(duplex=False)
        theirs["life"] = far
        # A copy of these would keep them open when the server has gone.
        ours = [*self._lines.values(), self._life] if forks else []
        self._process = context.Process(
            target=_work, args=(place, theirs, ours), name="simstore-writer"
        )
        self._process.start()
        for line in theirs.values():
            line.close()

    @property
    def pid(self) -> int | None:
        """Number of the process."""
        number: int | None = self._process.pid
        return number

    def wait_until_ready(self) -> None:
        """Wait until it has opened the store.

        Raises:
            SimstoreError: It cannot be opened.
        """
        self._answer("write")

    def ask(self, line: str, given: Any) -> Any:
        """Ask something; one thread at a time by each line.

        Raises:
            Unavailable: The process has died.
        """
        try:
            self._lines[line].send((given,))
        except OSError:
            raise self._gone() from None
        return self._answer(line)

    def close(self) -> None:
        """Let it end its last commit, and wait for it; after some seconds, end it."""
        for line in self._lines.values():
            with suppress(OSError):
                line.send(None)
        self._process.join(_LAST_SECONDS)
        for line in (*self._lines.values(), self._life):
            line.close()
        # It ends by itself now, unless it cannot.
        self._process.kill()
        self._process.join()

    def _answer(self, line: str) -> Any:
        try:
            is_done, told = self._lines[line].recv()
        except (EOFError, OSError):
            raise self._gone() from None
        if is_done:
            return told
        raise told

    def _gone(self) -> Unavailable:
        self._process.join(_LAST_SECONDS)
        return Unavailable(f"the writer's process has ended ({self._process.exitcode})")


class AwayWriter:
    """A writer whose work is done by a process.

    Args:
        store: The store, as the server has opened it; it stays the caller's.
        near: Its writer, which checks requests and does nothing else.
        process: The process, which has opened the store.
    """

    def __init__(self, store: Store, near: Writer, process: WriterProcess) -> None:
        self._store = store
        self._near = near
        self._process = process

    def checked(self, request: Request) -> Request:
        """Return a request as :meth:`Writer.checked` does."""
        return self._near.checked(request)

    def write(self, requests: Sequence[Request]) -> list[Reply]:
        """Let requests be written; durable on return."""
        replies: list[Reply] = self._process.ask("write", tuple(requests))
        return replies

    def tidy(self) -> bool:
        """Let the store be tidied up, and read anew what queries go by."""
        if not self._process.ask("tidy", None):
            return False
        self._store.warm()
        return True


def _work(
    place: str | os.PathLike[str], lines: dict[str, Connection], others: Sequence[Connection]
) -> None:
    """Write until the server has gone."""
    # Ctrl-C and a service manager tell the whole group; the server says when to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "nice"):
        # Where there are fewer processors than work, somebody who waits for a query comes first.
        os.nice(_NICE)
    for line in others:
        line.close()
    threading.Thread(target=_watch, args=(lines["life"],), daemon=True).start()
    try:
        _open_and_serve(place, lines)
    except SimstoreError as error:
        # At the end: a run that cannot be said to be over, of a store that is gone.
        _log.error("the writer ended: %s", error)


def _open_and_serve(place: str | os.PathLike[str], lines: dict[str, Connection]) -> None:
    with ExitStack() as stack:
        try:
            store = stack.enter_context(Store.open(place, resident=True))
            store.warm()
            writer = stack.enter_context(store.writer())
        except Exception as error:
            _tell(lines["write"], is_done=False, told=error)
            return
        _tell(lines["write"], is_done=True, told=None)
        work: dict[str, Callable[[Any], Any]] = {
            "write": writer.write,
            "tidy": lambda _: writer.tidy(),
        }
        threads = [
            threading.Thread(target=_serve, args=(lines[name], work[name]), name=name)
            for name in _LINES
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _watch(life: Connection) -> None:
    """End this process at once when the server has gone."""
    with suppress(EOFError, OSError):
        life.recv()
    os._exit(1)


def _serve(line: Connection, work: Callable[[Any], Any]) -> None:
    """Answer what comes by a line, until the server says that it is the end, or has gone."""
    while True:
        try:
            asked = line.recv()
        except (EOFError, OSError):
            os._exit(1)
        if asked is None:
            return
        try:
            told, is_done = work(*asked), True
        except Exception as error:
            if not isinstance(error, SimstoreError):
                _log.exception("the writer could not do what it was asked")
            told, is_done = error, False
        with suppress(OSError):
            _tell(line, is_done=is_done, told=told)


def _tell(line: Connection, *, is_done: bool, told: Any) -> None:
    try:
        line.send((is_done, told))
    except OSError:
        raise
    except Exception:
        # An error of a library, with something in it that is no value.
        line.send((is_done, _plain(told)))


def _plain(told: Any) -> Any:
    if isinstance(told, list):
        return [_plain(one) for one in told]
    if isinstance(told, StorageError):
        return StorageError(str(told))
    if isinstance(told, Exception) and not isinstance(told, SimstoreError):
        return RuntimeError(f"{type(told).__name__}: {told}")
    return told
