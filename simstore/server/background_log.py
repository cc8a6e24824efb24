"""Write the log of a server in a thread, so that no request waits for who reads standard error.

A pipe that nobody reads is full after some hundred lines; what writes to it then waits for ever.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from simstore.errors import counted

# Lines that wait to be written; more are counted and dropped.
_MOST_LINES = 10_000
# Seconds for the last lines.
_LAST_SECONDS = 2.0

log = logging.getLogger("simstore")


class BackgroundHandler(logging.Handler):
    """Formats lines at once, and writes them in a thread of its own.

    The standard library's ``QueueListener`` waits for its thread without a limit, and a bounded
    ``queue.Queue`` must not be put into by a signal's handler; so neither is used.

    Args:
        target: The handler whose formatter and stream are used: standard error.
        write: Writes a line with its end; for tests.
    """

    def __init__(
        self, target: logging.Handler, write: Callable[[bytes], None] | None = None
    ) -> None:
        super().__init__(target.level)
        self.setFormatter(target.formatter)
        # Processes that are started write theirs alike.
        self.style = getattr(target, "style", None)
        self._target = target
        # May be put into by a signal's handler that has interrupted a put.
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # Ever dropped: written by who holds the lock of the handler, and only read by the thread.
        self._dropped = 0
        self._is_settled = self._has_ended = False
        self._write = write or _write
        self._thread = threading.Thread(target=self._write_on, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line; where too many wait, count it. After the end it is written at once.

        Called with the handler's lock, as by :meth:`logging.Handler.handle`.
        """
        if self._has_ended:
            self._target.handle(record)
            return
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        if self._is_settled or self._lines.qsize() >= _MOST_LINES:
            self._dropped += 1
            return
        self._lines.put(line.encode("utf-8", "backslashreplace") + b"\n")

    def settle(self, seconds: float = _LAST_SECONDS) -> None:
        """Wait until what was taken is written, for so many seconds at most.

        A line that comes later is written by who logs it; where the thread still waits for who
        reads standard error, it is dropped.
        """
        with self._locked():
            # No line is put behind the end.
            self._is_settled = True
            self._lines.put(None)
        self._thread.join(seconds)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def _write_on(self) -> None:
        told = failed = 0
        reason = ""
        while True:
            line = self._lines.get()
            if line is None:
                with self._locked():
                    # No line is dropped after the count of them is told.
                    self._has_ended = True
            try:
                if line is not None:
                    self._write(line)
            except Exception as error:
                # Whatever it is: nobody else writes the log.
                failed += 1
                reason = str(error) or type(error).__name__
                continue
            with suppress(Exception):
                if failed:
                    self._write(self._lost(failed, f"standard error cannot be written ({reason})"))
                    failed = 0
                dropped = self._dropped - told
                if dropped:
                    self._write(self._lost(dropped, "standard error is read too slowly"))
                    told += dropped
            if line is None:
                return

    def _lost(self, count: int, why: str) -> bytes:
        """Return the line that tells of lines that were dropped."""
        text = (
            f"{counted(count, 'line')} of the log {'was' if count == 1 else 'were'} dropped: {why}"
        )
        told = logging.makeLogRecord(
            {"name": log.name, "levelno": logging.WARNING, "levelname": "WARNING", "msg": text}
        )
        return self.format(told).encode() + b"\n"


@contextmanager
def log_in_background() -> Iterator[Callable[[], None]]:
    """Write the log of this process in a thread while the block runs; nothing where there is none.

    Yields:
        A function that waits for what is not written yet, for a process that ends at once.
    """
    before = list(log.handlers)
    if not before:
        yield lambda: None
        return
    background = BackgroundHandler(before[0])
    log.handlers = [background]
    try:
        yield background.settle
    finally:
        log.handlers = before
        background.settle()


def _write(line: bytes) -> None:
    descriptor = sys.stderr.fileno()
    while line:
        line = line[os.write(descriptor, line) :]
