"""A process that has imported everything, and forks: a fresh process in milliseconds.

Most of a short command's time is the interpreter's start. Children of this process skip that;
everything else about them is real: own process, own descriptors, own signals, own exit code.
Each request on the socket of descriptor ``sys.argv[1]`` is a length, a JSON object and, to fork,
three or four descriptors: standard input, output, error, and a pipe for messages to the test. When
the socket is closed, whatever still runs is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import struct
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

HERE = Path(__file__).resolve().parent
LENGTH = struct.Struct(">I")
# What functions import when they are called. Not Numba: whether it is imported decides which form
# of a function works.
LATE = (
    "alembic.command", "click.shell_completion", "difflib", "numpy.ma", "rich._emoji_codes",
    "rich.console", "rich.table",
)  # fmt: skip
LATE_OF_EXTRAS = (
    "httpx", "opencc", "rapidfuzz.distance", "rjieba", "snowballstemmer", "stopwordsiso", "uvloop",
    "zstandard",
)  # fmt: skip


def main() -> int:
    """Serve until the test has gone; in a child, do its job and return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[:0] = [str(HERE.parent), str(HERE)]
    jobs = _import_everything()
    _make_tables()
    threads = Path("/proc/self/task")
    if threads.is_dir() and len(list(threads.iterdir())) > 1:
        raise RuntimeError("a process with threads should not fork")
    gc.freeze()
    connection = socket.socket(fileno=int(sys.argv[1]))
    _send(connection, {"ready": True})
    running: set[int] = set()
    while True:
        header, descriptors, _, _ = socket.recv_fds(connection, LENGTH.size, 4)
        if not header:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            return 0
        request = json.loads(_receive(connection, LENGTH.unpack(header)[0]))
        if "reap" in request:
            pid, status, usage = os.wait4(request["reap"], 0 if request["wait"] else os.WNOHANG)
            running.discard(pid)
            code = os.waitstatus_to_exitcode(status) if pid else None
            _send(connection, {"code": code, "rss_bytes": usage.ru_maxrss * 1024})
            continue
        pid = os.fork()
        if not pid:
            connection.close()
            _end(_work(jobs, request, list(descriptors)))
        running.add(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        _send(connection, {"pid": pid})


def _work(jobs: Any, request: dict[str, Any], descriptors: list[int]) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # Anew, as those there are know another kind of file.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    if descriptors[3:]:
        jobs.messages = descriptors[3]
    try:
        getattr(jobs, request["job"])(**request["arguments"])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """End a child as the interpreter does, but for taking down all that was imported."""
    # Waits for threads that are no daemons.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        traceback.print_exc()
        code = 120
    os._exit(code)


def _import_everything() -> Any:
    import encodings

    import simstore

    # Also those that are loaded late, which a child that became another user might not be able to.
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name.startswith(("utf", "ascii", "latin", "idna")):
            importlib.import_module(f"encodings.{module.name}")
    for module in pkgutil.walk_packages(simstore.__path__, "simstore."):
        # An integration needs the program that it is for.
        if not module.name.startswith(("simstore.migrations", "simstore.integrations.")):
            importlib.import_module(module.name)
    for name in (*LATE, "jobs"):
        importlib.import_module(name)
    for name in LATE_OF_EXTRAS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    return sys.modules["jobs"]


def _make_tables() -> None:
    """Make what each child would make anew: tables of characters, the statements of a new store."""
    from simstore.fingerprint.passage_recipe import PassageRecipe
    from simstore.fingerprint.web import WebScheme
    from simstore.storage import migrate
    from simstore.text.normalization import FOLDED

    migrate.sqlite_statements()
    WebScheme().known_answers()
    PassageRecipe(normalization=FOLDED, sentences=True).record()


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        parts += connection.recv(size - len(parts))
    return parts


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    connection.sendall(LENGTH.pack(len(data)) + data)


if __name__ == "__main__":
    sys.exit(main())
