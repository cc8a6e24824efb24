"""A child process that runs operations of the store, so that they delay no request.

Threads of one process share its interpreter's lock. Such a process is forked before the server has
threads or has opened the store; it opens the store for itself. Where the server is killed it ends
at once. One that is started later imports what is installed by then: of another version it refuses.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

from simstore import version
from simstore.errors import SimstoreError, StorageError, Unavailable
from simstore.reports.log_lines import LogStyle, log_style, write_log

# Seconds for what it is asked last when the server ends.
_LAST_SECONDS = 5.0

_log = logging.getLogger(__name__)

Place = str | os.PathLike[str]
# What is done for what is asked by each line; what was opened for it is closed with the stack.
Handlers = Callable[[Place, ExitStack], Mapping[str, Callable[[Any], Any]]]


class StoreProcess:
    """A child process that answers requests over several pipes, independently of one another.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        handlers: Opens the store there, and says what is done by each line.
        lines: The names of the lines.
        title: What it is called, as in "the writer".
        nice: How far it steps back for others where there are fewer processors than work.
        forks: Fork it, while this process has no threads yet: that takes no time. False: it
            imports everything anew, as it must where forking is not safe, or there is none.
        siblings: Those of this process that were forked before.

    Raises:
        OtherVersion: Another version than that of this process would be imported.
    """

    def __init__(
        self,
        place: Place,
        handlers: Handlers,
        *,
        lines: Sequence[str],
        title: str,
        nice: int = 0,
        forks: bool = sys.platform == "linux",
        siblings: Sequence[StoreProcess] = (),
    ) -> None:
        if not forks:
            refuse_other_version(installed_version())
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        pairs = {name: context.Pipe() for name in lines}
        self.title = title
        self._has_ended = False
        self._reaping = threading.Lock()
        self._lines = {name: near for name, (near, _) in pairs.items()}
        theirs = {name: far for name, (_, far) in pairs.items()}
        # Nothing is ever sent: it ends with this process.
        far, self._life = context.Pipe(duplex=False)
        theirs["life"] = far
        # A copy of these would keep them open when the server has gone.
        ours = [end for one in (self, *siblings) for end in (*one._lines.values(), one._life)]
        self._process = context.Process(
            target=_work,
            args=(
                version.__version__,
                place,
                handlers if forks else f"{handlers.__module__}:{handlers.__qualname__}",
                theirs,
                ours if forks else [],
                title,
                nice,
                _tuning(),
            ),
            name=f"simstore-{title}",
        )
        with nullcontext() if forks else _without_main():
            self._process.start()
        for line in theirs.values():
            line.close()

    @property
    def pid(self) -> int | None:
        """Number of the process."""
        number: int | None = self._process.pid
        return number

    @property
    def sentinel(self) -> int:
        """A descriptor that becomes readable when the process ends."""
        number: int = self._process.sentinel
        return number

    @property
    def has_ended(self) -> bool:
        """Return whether the process was found dead."""
        return self._has_ended

    @property
    def is_up(self) -> bool:
        """Return whether it can be asked, as far as is known."""
        return not self._has_ended

    def ended(self) -> int | None:
        """Return its exit code, once it has ended or is about to; minus the signal that did it."""
        self._has_ended = True
        with self._reaping:
            self._process.join(_LAST_SECONDS)
            code: int | None = self._process.exitcode
        return code

    def away(self) -> Unavailable:
        """Return the error to raise for a process that has died."""
        return Unavailable(f"the {self.title}'s process has ended ({self.ended()})")

    def wait_until_ready(self) -> None:
        """Wait until it has opened the store.

        Raises:
            SimstoreError: It cannot be opened.
        """
        self._answer(next(iter(self._lines)))

    def ask(self, line: str, given: Any) -> Any:
        """Ask something; one thread at a time by each line.

        Raises:
            Unavailable: The process has died.
        """
        try:
            self._lines[line].send((given,))
        except OSError:
            raise self.away() from None
        return self._answer(line)

    def close(self, seconds: float | None = None) -> None:
        """Let it end what it was asked last, and wait for it; after some seconds, end it.

        Args:
            seconds: How long it may take; None: five.
        """
        for line in self._lines.values():
            with suppress(OSError):
                line.send(None)
        with self._reaping:
            self._process.join(_LAST_SECONDS if seconds is None else seconds)
            # It ends by itself when its lines are closed, unless it cannot.
            self._process.kill()
            self._process.join()
        for line in (*self._lines.values(), self._life):
            line.close()

    def _answer(self, line: str) -> Any:
        try:
            is_done, result = self._lines[line].recv()
        except (EOFError, OSError):
            raise self.away() from None
        if is_done:
            return result
        raise result


_hiding = threading.Lock()


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the program of this process: another would run it anew, and it may not be made for that.

    A launcher that calls ``main()`` without asking for its name would start a server in each.
    """
    with _hiding:
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = program


def installed_version() -> str:
    """Return the version that a process would import that starts now; empty: none is there."""
    try:
        text = Path(version.__file__).read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    return found[1] if found else ""


class OtherVersion(Unavailable):
    """A process would be, or is, of another version than the server."""


def refuse_other_version(other: str) -> None:
    """Raise unless a version is that of this process.

    Args:
        other: The version; empty: none.

    Raises:
        OtherVersion: It is another.
    """
    if other != version.__version__:
        found = f"simstore {other} is" if other else "no simstore is"
        raise OtherVersion(
            f"this server is simstore {version.__version__}, and {found} installed in its place "
            "by now: restart the server"
        )


_Tuning = tuple[float, tuple[int, int, int], tuple[Any, ...] | None]


def _tuning() -> _Tuning:
    """Return how this process shares its interpreter's lock, collects garbage and writes its log.

    Plain values: a process of another version has to understand them.
    """
    style = log_style()
    plain = None if style is None else tuple(style)
    return sys.getswitchinterval(), gc.get_threshold(), plain


def _work(
    server_version: str,
    place: Place,
    handlers: Handlers | str,
    lines: dict[str, Connection],
    others: Sequence[Connection],
    title: str,
    nice: int,
    tuning: _Tuning,
) -> None:
    """Do what is asked until the server has gone.

    What comes before the version is compared has to be the same in all versions: the name of this
    function, its arguments, and how it answers.
    """
    sys.setswitchinterval(tuning[0])
    gc.set_threshold(*tuning[1])
    if tuning[2] is not None:
        write_log(LogStyle(*tuning[2]))
    # Ctrl-C and a service manager tell the whole group; the server says when to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if nice and hasattr(os, "nice"):
        os.nice(nice)
    for line in others:
        line.close()
    threading.Thread(target=_watch, args=(lines.pop("life"),), daemon=True).start()
    try:
        refuse_other_version(server_version)
    except OtherVersion as error:
        _send(next(iter(lines.values())), is_done=False, result=error)
        return
    try:
        _open_and_serve(place, _named(handlers), lines)
    except SimstoreError as error:
        # At the end: a run that cannot be said to be over, of a store that is gone.
        _log.error("the %s ended: %s", title, error)


def _named(handlers: Handlers | str) -> Handlers:
    """Return the function that is given, or named as ``module:name``."""
    if not isinstance(handlers, str):
        return handlers
    module, _, name = handlers.partition(":")
    found: Handlers = getattr(import_module(module), name)
    return found


def _open_and_serve(place: Place, handlers: Handlers, lines: Mapping[str, Connection]) -> None:
    first = next(iter(lines.values()))
    with ExitStack() as stack:
        try:
            work = handlers(place, stack)
        except Exception as error:
            _send(first, is_done=False, result=error)
            return
        _send(first, is_done=True, result=None)
        threads = [
            threading.Thread(target=_serve, args=(line, work[name]), name=name)
            for name, line in lines.items()
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
            request = line.recv()
        except (EOFError, OSError):
            os._exit(1)
        if request is None:
            return
        try:
            result, is_done = work(*request), True
        except Exception as error:
            if not isinstance(error, SimstoreError):
                _log.exception("what was asked could not be done")
            result, is_done = error, False
        with suppress(OSError):
            _send(line, is_done=is_done, result=result)


def _send(line: Connection, *, is_done: bool, result: Any) -> None:
    try:
        line.send((is_done, result))
    except OSError:
        raise
    except Exception:
        # An error of a library, with something in it that is no value.
        line.send((is_done, _plain(result)))


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(one) for one in result]
    if isinstance(result, StorageError):
        return StorageError(str(result))
    if isinstance(result, Exception) and not isinstance(result, SimstoreError):
        return RuntimeError(f"{type(result).__name__}: {result}")
    return result
