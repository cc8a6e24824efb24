"""Signal handlers that end a command within a second or two, whatever it is doing."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import Any

# A statement or a computation that Python cannot interrupt is given up after so long.
PATIENCE_SECONDS = 1.0
INTERRUPTED = "interrupted; what is committed stays, the same command again goes on"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt, with the signal's number.

    Python hears a signal between two of its own instructions, and some statements of SQLite take
    minutes. Where nothing is heard for a second, the process ends as if it were killed, which a
    store stands at any moment. A signal that is ignored (``nohup``) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handling = _Handling()
    handling.begin()
    token = _handling.set(handling)
    try:
        yield
    finally:
        _handling.reset(token)
        handling.end()


@contextmanager
def uninterruptible() -> Iterator[None]:
    """Leave signals to a command with its own handlers, which ends after it has cleaned up."""
    handling = _handling.get()
    if handling is None:
        yield
        return
    handling.end()
    try:
        yield
    finally:
        handling.begin()


class _Handling:
    """Handlers of both signals, and a thread that looks whether they are called."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def begin(self) -> None:
        """Set the handlers."""
        heard = threading.Event()

        def interrupt(number: int, _frame: Any) -> None:
            heard.set()
            raise KeyboardInterrupt(number)

        reading, writing = socket.socketpair()
        watcher = threading.Thread(target=_watch, args=(reading, heard), daemon=True)
        watcher.start()
        self._stack.callback(reading.close)
        self._stack.callback(watcher.join)
        self._stack.callback(writing.close)
        writing.setblocking(False)
        woken = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        self._stack.callback(signal.set_wakeup_fd, woken)
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                signal.signal(number, interrupt)
                self._stack.callback(signal.signal, number, before)

    def end(self) -> None:
        """Set the handlers that were there before."""
        self._stack.close()


_handling: ContextVar[_Handling | None] = ContextVar("handling", default=None)


def _watch(reading: socket.socket, heard: threading.Event) -> None:
    """End the process where a signal comes and is not heard; end with the other socket."""
    while numbers := reading.recv(64):
        for number in _SIGNALS:
            if number in numbers and not heard.wait(PATIENCE_SECONDS):
                with suppress(OSError):
                    os.write(2, f"Error: {INTERRUPTED}\n".encode())
                os._exit(128 + number)
