"""Fork worker processes from this one, where that is safe; a fork shares its imported modules.

A fork takes milliseconds where a new process takes a second to import what it needs. It is safe
in a program that has one thread, and nothing open that does not survive a fork, as connections to
databases do not. Only the program itself knows that: in others' programs, nothing is forked.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

_without_threads: Callable[[], AbstractContextManager[None]] | None = None


@contextmanager
def allowed(without_threads: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Allow this process to fork: it is simstore's own program.

    Args:
        without_threads: Returns a context in which the program runs no threads of its own.
    """
    global _without_threads
    before, _without_threads = _without_threads, without_threads
    try:
        yield
    finally:
        _without_threads = before


def are_allowed() -> bool:
    """Return whether this process may fork, as far as is known before it tries."""
    return _without_threads is not None and sys.platform == "linux"


class ForkedProcess:
    """A forked process, with methods to end it and wait as on ``subprocess.Popen``.

    Args:
        process: It.
    """

    stdout = None

    def __init__(self, process: Any) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The process number."""
        return int(self._process.pid)

    @property
    def returncode(self) -> int | None:
        """The exit status; minus the signal that ended it; None: it has not ended."""
        code: int | None = self._process.exitcode
        return code

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its status.

        Raises:
            subprocess.TimeoutExpired: It has not ended.
        """
        self._process.join(timeout)
        status = self.returncode
        if status is None:
            import subprocess

            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return status


def fork(run: Callable[[], None]) -> ForkedProcess | None:
    """Run a function in a fork of this process; None: this one may not fork, or has threads.

    The other process has no standard input and output, and is of another session: an interrupt
    from the keyboard is for this one.

    Raises:
        OSError: No process can be started.
    """
    if not are_allowed() or _without_threads is None:
        return None
    with _without_threads():
        if threading.active_count() > 1:
            return None
        import multiprocessing  # most commands fork nothing

        context: Any = multiprocessing.get_context("fork")
        process = context.Process(target=_work, args=(run,), name="simstore-worker", daemon=True)
        process.start()
    return ForkedProcess(process)


def _work(run: Callable[[], None]) -> None:
    # What the other process has made is never looked through here, nor taken apart.
    gc.freeze()
    signal.set_wakeup_fd(-1)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)
    run()
