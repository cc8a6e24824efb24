"""Turns of threads that want the same, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class Turns:
    """A lock that who came first gets first.

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
