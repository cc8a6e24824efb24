"""Two locks for threads: a fair (FIFO) lock, and one that its holder may retake for a few ms."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class FairLock:
    """A fair lock: threads get it in the order in which they asked for it (FIFO).

    A plain one goes to whoever asks at the right moment: a thread that writes transaction after
    transaction would keep all others waiting. Not to be taken by a thread that has it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gates: deque[threading.Lock] = deque()
        self._is_taken = False

    def __enter__(self) -> None:
        gate = threading.Lock()
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            gate.acquire()
            self._gates.append(gate)
        try:
            gate.acquire()
        except BaseException:
            # Interrupted: it goes without its turn, or passes it on where it was given meanwhile.
            with self._lock:
                was_given = gate not in self._gates
                if not was_given:
                    self._gates.remove(gate)
            if was_given:
                self._pass_on()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            if self._gates:
                self._gates.popleft().release()
            else:
                self._is_taken = False


class LongTurns:
    """A lock for short work that is done again and again: a thread keeps it for a while.

    Threads that compute in turns of a millisecond lose a tenth of the time or more by waiting for
    each other. Here the thread that has the lock may take it again and again, until another has
    waited for some milliseconds: then that one is next. Not to be taken by a thread that has it.

    Args:
        seconds: How long the first that waits lets others go before it.
    """

    def __init__(self, seconds: float = 0.005) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        # Those that wait, but for the first of them.
        self._line = FairLock()
        self._is_wanted = False

    def __enter__(self) -> None:
        if not self._is_wanted and self._lock.acquire(blocking=False):
            return
        with self._line:
            if self._lock.acquire(timeout=self._seconds):
                return
            self._is_wanted = True
            try:
                self._lock.acquire()
            finally:
                self._is_wanted = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()
