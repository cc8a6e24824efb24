"""The main program of a worker process: receive a task by a socket, and answer item by item.

Its standard input is a socket, by which it takes what to do, then item after item, and answers. It
ends at once when the process that has started it has gone.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from simstore import compiled
from simstore.errors import SimstoreError

# Meant for the process that wants the answers, which ends this one.
_FOR_OTHERS = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Import the named modules, and answer on the socket that is the standard input."""
    for number in _FOR_OTHERS:
        signal.signal(number, signal.SIG_IGN)
    line: Connection[Any, Any] = Connection(os.dup(0))
    # Modules are not garbage: to look for some among them takes a tenth of the start.
    gc.disable()
    for name in sys.argv[1:]:
        import_module(name)
    gc.freeze()
    gc.enable()
    answer(line)


def answer(line: Connection[Any, Any]) -> None:
    """Receive the task, and answer items until the connection ends."""
    for number in _FOR_OTHERS:
        signal.signal(number, signal.SIG_IGN)
    try:
        settings, task, arguments = line.recv()
    except (EOFError, OSError):
        return
    compiled.set_up(settings)
    try:
        with task(*arguments) as work:
            line.send((True, ""))
            _serve(line, work)
    except Exception as error:
        line.send((False, f"{type(error).__name__}: {error}"))


def _serve(line: Connection[Any, Any], work: Callable[[Any], Any]) -> None:
    queue: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(line, queue), daemon=True).start()
    while True:
        (item,) = queue.get()
        try:
            result, is_done = work(item), True
        except Exception as error:
            result, is_done = error, False
        try:
            line.send((is_done, result))
        except OSError:
            os._exit(1)
        except Exception:
            # An error of a library, with something in it that is no value.
            line.send((False, _plain(result)))


def _listen(line: Connection[Any, Any], queue: SimpleQueue[Any]) -> None:
    """Take what comes; end this process when nobody is there any more."""
    while True:
        try:
            queue.put(line.recv())
        except (EOFError, OSError):
            os._exit(0)


def _plain(error: Any) -> Exception:
    if isinstance(error, SimstoreError):
        return SimstoreError(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
