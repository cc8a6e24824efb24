"""Supervise child processes, and restart them when they die.

What one was asked then is told as unavailable: nobody knows how far it came, and what killed it
must not be asked of another. It is started again after a pause, which grows where it dies again
and again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Pipe, wait
from typing import Any

from simstore.errors import SimstoreError, Unavailable
from simstore.server.workers.store_process import OtherVersion, StoreProcess

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
# Whoever lives so long is sound: its next end is counted as the first.
_STEADY_SECONDS = 60.0
# What starting takes, about: importing, and reading what is looked up by.
_START_SECONDS = 2.0
# Ends in a row from which on it is called a loop.
_LOOP = 3

_log = logging.getLogger("simstore")


def pause_after(ends: int) -> float:
    """Return the delay before a restart, after so many ends in a row."""
    return float(min(_FIRST_PAUSE * 2 ** min(ends - 1, 10), _LONGEST_PAUSE))


class Supervised:
    """A process that is restarted when it dies, with the interface of :class:`StoreProcess`.

    Args:
        process: The process, which may not be ready yet; it is ended with this object.
        again: Starts another in its place, in any thread.
    """

    def __init__(self, process: StoreProcess, again: Callable[[], StoreProcess]) -> None:
        self._process = process
        self._again = again
        self._is_up = False
        self._is_closed = False
        self._ends = 0
        self._restarts = 0
        self._is_of_other_version = False
        self._began = self._expected = time.monotonic()
        self._lock = threading.Lock()
        self._end, self._ending = Pipe(duplex=False)
        self._thread = threading.Thread(
            target=self._watch, name=f"watch-{process.title}", daemon=True
        )

    @property
    def pid(self) -> int | None:
        """Number of the process that there is now."""
        return self._process.pid

    @property
    def title(self) -> str:
        """Name of the process, as in "the writer"."""
        return self._process.title

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
        """Return whether it was not restarted because another version is installed by now."""
        return self._is_of_other_version

    def wait_until_ready(self) -> None:
        """Wait until it has opened the store; from then on it is watched.

        Raises:
            SimstoreError: It cannot be opened.
        """
        self._process.wait_until_ready()
        self._is_up, self._began = True, time.monotonic()
        self._thread.start()

    def ask(self, line: str, given: Any) -> Any:
        """Ask something; one thread at a time by each line.

        Raises:
            Unavailable: The process has died, and is started again.
        """
        process = self._process
        if not self._is_up:
            raise self.away()
        try:
            return process.ask(line, given)
        except Unavailable:
            if not process.has_ended:
                raise
            self._fall(process)
            raise self.away() from None

    def away(self) -> Unavailable:
        """Return the error to raise while there is no process."""
        left = max(self._expected - time.monotonic(), 0.0) + _START_SECONDS
        return Unavailable(
            f"the {self.title}'s process has ended, and is started again; what was under way may "
            f"be done or not: try again in {left:.0f} s",
            left,
        )

    def close(self, seconds: float | None = None) -> None:
        """End it, and start none again.

        Args:
            seconds: How long it may take to end by itself; None: as for a :class:`StoreProcess`.
        """
        with self._lock:
            is_first, self._is_closed, self._is_up = not self._is_closed, True, False
        if is_first:
            self._ending.send(None)
        self._process.close(seconds)
        if self._thread.is_alive():
            # It waits for nothing now, or for a process that is ended here.
            self._thread.join()
            self._process.close(seconds)

    def _watch(self) -> None:
        while True:
            process = self._process
            wait([process.sentinel, self._end])
            if self._is_closed:
                return
            code = process.ended()
            self._fall(process)
            steady = time.monotonic() - self._began > _STEADY_SECONDS
            self._ends = 1 if steady else self._ends + 1
            pause = pause_after(self._ends)
            self._expected = time.monotonic() + pause
            _log.error(
                "the %s's process has ended (%s)%s; it is started again in %g s",
                self.title, code, self._in_a_row(), pause,
            )  # fmt: skip
            if self._end.poll(pause) or not self._start():
                return

    def _start(self) -> bool:
        """Start another process; return whether there is one to watch."""
        try:
            process = self._again()
        except (OSError, OtherVersion) as error:
            # Of the one that has ended it is seen again that it has.
            return self._failed(error)
        with self._lock:
            if self._is_closed:
                process.close(0)
                return False
            self._process = process
        self._began = time.monotonic()
        try:
            process.wait_until_ready()
        except SimstoreError as error:
            # It ends, or has ended: whoever watches it sees that.
            return self._failed(error)
        with self._lock:
            self._is_up = not self._is_closed
            self._restarts += 1
            self._is_of_other_version = False
        _log.warning("the %s's process was started again", self.title)
        return True

    def _failed(self, error: Exception) -> bool:
        """Tell why there is no process; return that it is tried again."""
        self._is_of_other_version = isinstance(error, OtherVersion)
        _log.error("the %s cannot be started: %s", self.title, error)
        return True

    def _fall(self, process: StoreProcess) -> None:
        with self._lock:
            if self._process is process:
                self._is_up = False

    def _in_a_row(self) -> str:
        if self._ends < _LOOP:
            return ""
        return f" {self._ends} times, each soon after its start"


# A process that is watched, or one that nobody watches.
Worker = Supervised | StoreProcess
