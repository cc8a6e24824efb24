"""The program of a worker process: see :mod:`~.workers`.

Its standard input is a socket, by which it takes what to do, then item after item, and answers. It
ends at once when the process that has started it has gone.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from simstore import compiled
from simstore.errors import SimstoreError


def main() -> None:
    """Answer until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # Meant for the process that wants the answers, which ends this one.
        signal.signal(number, signal.SIG_IGN)
    line: Connection[Any, Any] = Connection(os.dup(0))
    try:
        settings, duty, arguments = line.recv()
    except (EOFError, OSError):
        return
    compiled.set_up(settings)
    try:
        with duty(*arguments) as work:
            line.send((True, ""))
            _serve(line, work)
    except Exception as error:
        line.send((False, f"{type(error).__name__}: {error}"))


def _serve(line: Connection[Any, Any], work: Callable[[Any], Any]) -> None:
    asked: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(line, asked), daemon=True).start()
    while True:
        (item,) = asked.get()
        try:
            told, is_done = work(item), True
        except Exception as error:
            told, is_done = error, False
        try:
            line.send((is_done, told))
        except OSError:
            os._exit(1)
        except Exception:
            # An error of a library, with something in it that is no value.
            line.send((False, _plain(told)))


def _listen(line: Connection[Any, Any], asked: SimpleQueue[Any]) -> None:
    """Take what comes; end this process when nobody is there any more."""
    while True:
        try:
            asked.put(line.recv())
        except (EOFError, OSError):
            os._exit(0)


def _plain(told: Any) -> Exception:
    if isinstance(told, SimstoreError):
        return SimstoreError(str(told))
    return RuntimeError(f"{type(told).__name__}: {told}")


if __name__ == "__main__":
    main()
