"""The command ``simstore`` for shell scripts, whose processes are forked; see nursery.py."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from forked import PATIENCE_SECONDS, nursery

# Asks for a process with its own descriptors, folder and environment; then passes signals to it,
# and ends as it does.
_LAUNCHER = """\
#!{python} -IS
import json, os, signal, socket, sys

asking = socket.socket(socket.AF_UNIX)
asking.connect({place!r})
asked = {{"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
data = json.dumps(asked).encode()
socket.send_fds(asking, [len(data).to_bytes(4, "big")], [0, 1, 2])
asking.sendall(data)
pid = int.from_bytes(asking.recv(4), "big")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code = int.from_bytes(asking.recv(4), "big", signed=True)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@contextmanager
def forked_command(folder: Path) -> Iterator[None]:
    """Make ``folder/simstore``, a command that works while the block lasts."""
    # Names of sockets are short.
    short = Path(tempfile.mkdtemp())
    place = short / "socket"
    script = folder / "simstore"
    script.write_text(_LAUNCHER.format(python=sys.executable, place=str(place)))
    script.chmod(0o755)
    nursery()
    serving: list[threading.Thread] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()
        accepting = threading.Thread(target=_accept, args=(listening, serving), daemon=True)
        accepting.start()
        try:
            yield
        finally:
            # Who waits to accept does not hear that a socket is closed.
            listening.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *serving):
                thread.join(PATIENCE_SECONDS)
                assert not thread.is_alive(), "a command has not ended"
            shutil.rmtree(short)


def _accept(listening: socket.socket, serving: list[threading.Thread]) -> None:
    with suppress(OSError):
        while True:
            asking, _ = listening.accept()
            thread = threading.Thread(target=_serve, args=(asking,), daemon=True)
            serving.append(thread)
            thread.start()


def _serve(asking: socket.socket) -> None:
    with asking:
        header, descriptors, _, _ = socket.recv_fds(asking, 4, 3)
        with asking.makefile("rb") as data:
            asked: dict[str, Any] = json.loads(data.read(int.from_bytes(header, "big")))
        try:
            process = nursery().fork(
                "simstore",
                Path(asked["folder"]),
                asked["environment"],
                descriptors,
                words=asked["words"],
            )
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        asking.sendall(process.pid.to_bytes(4, "big"))
        while (code := process.poll()) is None:
            if select.select([asking], [], [], 0.005)[0]:
                # Who asked was killed.
                process.kill()
                process.wait()
                return
        with suppress(BrokenPipeError):
            asking.sendall(code.to_bytes(4, "big", signed=True))
