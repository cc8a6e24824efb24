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

# Lines that wait to be written; more are counted and dropped.
_MOST_LINES = 10_000
# Seconds for the last lines.
_LAST_SECONDS = 2.0

log = logging.getLogger("simstore")


class BackgroundHandler(logging.Handler):
    """Formats lines at once, and writes them in a thread of its own.

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
        # May be put into by a signal's handler that has interrupted a put.
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._dropped = 0
        self._write = write or _write
        self._thread = threading.Thread(target=self._write_on, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line; where too many wait, count it."""
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        if self._lines.qsize() >= _MOST_LINES:
            self._dropped += 1
            return
        self._lines.put(line.encode("utf-8", "backslashreplace") + b"\n")

    def settle(self, seconds: float = _LAST_SECONDS) -> None:
        """Wait until what was taken is written, for so many seconds at most; take nothing more."""
        self._lines.put(None)
        self._thread.join(seconds)

    def _write_on(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError, ValueError):
                self._write(line)
                if self._dropped:
                    dropped, self._dropped = self._dropped, 0
                    self._write(self._told(dropped))

    def _told(self, dropped: int) -> bytes:
        """Return the line that tells of lines that were dropped."""
        text = f"{dropped} lines of the log were dropped: standard error is read too slowly"
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
