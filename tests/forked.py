"""Processes of their own for tests, each forked from one that has imported everything."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Far above what anything takes: a test that meets it has found a hang.
PATIENCE_SECONDS = 60.0
_LENGTH = struct.Struct(">I")
_PIPE_BYTES = 60_000


@dataclass(frozen=True)
class Finished:
    """What a command did."""

    code: int
    out: bytes
    err: bytes
    rss_bytes: int = 0

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def errors(self) -> str:
        return self.err.decode()

    @property
    def error_lines(self) -> list[str]:
        return self.err.decode().splitlines()


class Forked:
    """A process that a nursery forked, to be used as a :class:`subprocess.Popen`.

    Attributes:
        pid: Its number.
        returncode: Its exit code, or minus the signal that ended it; None until it was seen to
            have ended.
        rss_bytes: The most memory that it held, once it was seen to have ended.
    """

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid
        self.returncode: int | None = None
        self.rss_bytes = 0

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._reap(wait=False)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return the exit code.

        Raises:
            subprocess.TimeoutExpired: It runs on after ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        # The nursery serves others meanwhile.
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            time.sleep(0.005)
        return code

    def ended(self) -> int:
        """Return the exit code of one that is about to end, or has ended."""
        code = self._reap(wait=True)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _reap(self, *, wait: bool) -> int | None:
        with self._nursery.lock:
            if self.returncode is None:
                reply = self._nursery.ask({"reap": self.pid, "wait": wait})
                self.returncode = reply["code"]
                self.rss_bytes = reply["rss_bytes"]
            return self.returncode


class Child:
    """A process that runs; it ends with the test at the latest."""

    def __init__(self, process: Forked, messages: int, out: Any, err: Any) -> None:
        self.pid = process.pid
        self._process = process
        self._messages = messages
        self._out, self._err = out, err
        self._pending = b""
        self._finished: Finished | None = None

    def message(self) -> str | None:
        """Return the next line that the child wrote to the test; None when it has ended."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self._messages], [], [], deadline - time.monotonic())
            if not ready:
                self.kill()
                raise TimeoutError(f"the child said nothing for {PATIENCE_SECONDS:.0f} s")
            data = os.read(self._messages, 65_536)
            if not data:
                return None
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()

    def messages(self) -> Iterator[str]:
        """Yield the lines that the child writes to the test, until it ends."""
        while (line := self.message()) is not None:
            yield line

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> list[str]:
        """Kill it at once; return what it had said until then."""
        self.signal(signal.SIGKILL)
        said = list(self.messages())
        self.wait()
        return said

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end, for so long at most; return whether it came."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._messages], [], [], left)[0]:
                return False
            data = os.read(self._messages, 65_536)
            if not data:
                return True
            self._pending += data

    @property
    def is_running(self) -> bool:
        """Whether it holds its end of the pipe."""
        ready, _, _ = select.select([self._messages], [], [], 0)
        if ready and not self._pending:
            data = os.read(self._messages, 65_536)
            self._pending += data
            return bool(data)
        return True

    def wait(self) -> Finished:
        """Wait for its end."""
        if self._finished is None:
            for _ in self.messages():
                pass
            os.close(self._messages)
            code = self._process.ended()
            texts = []
            for file in (self._out, self._err):
                file.seek(0)
                texts.append(file.read())
                file.close()
            self._finished = Finished(code, texts[0], texts[1], self._process.rss_bytes)
        return self._finished

    def error_text(self) -> str:
        """Return what it has written to standard error so far."""
        return os.pread(self._err.fileno(), 1 << 20, 0).decode()


class Nursery:
    """Forks processes that have imported everything; see nursery.py.

    Its process starts at the first request, and at the first one after it was closed.

    Args:
        environment: What its environment has besides this process's.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.lock = threading.RLock()
        self._environment = dict(environment or {})
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """End its process, if there is one; it kills what still runs."""
        with self.lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None
                self._process.wait(PATIENCE_SECONDS)

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket, theirs = socket.socketpair()
            self._process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("nursery.py"), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # One thread: a process with more should not fork.
                env=os.environ
                | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
                | self._environment,
            )
            theirs.close()
            self._socket.settimeout(PATIENCE_SECONDS)
            self._reply(self._socket)
        return self._socket

    def start(
        self,
        job: str,
        folder: Path,
        *,
        stdin: bytes | int = b"",
        environment: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> Child:
        """Start a function of jobs.py in a process of its own.

        Args:
            job: Its name.
            folder: Its current directory.
            stdin: What it reads, or a descriptor to read from.
            environment: All of its environment; None: this process's, without SIMSTORE_DB.
            **arguments: Its arguments.
        """
        if environment is None:
            environment = {k: v for k, v in os.environ.items() if not k.startswith("SIMSTORE_")}
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        source = stdin if isinstance(stdin, int) else _readable(stdin)
        reading, writing = os.pipe()
        try:
            descriptors = [source, out.fileno(), err.fileno(), writing]
            process = self.fork(job, folder, environment, descriptors, **arguments)
        finally:
            os.close(writing)
            if source != stdin:
                os.close(source)
        return Child(process, reading, out, err)

    def fork(
        self,
        job: str,
        folder: Path,
        environment: Mapping[str, str],
        descriptors: Sequence[int],
        **arguments: Any,
    ) -> Forked:
        """Start a function of jobs.py in a process of its own.

        Args:
            job: Its name.
            folder: Its current directory.
            environment: All of its environment.
            descriptors: Its standard input, output and error, and if it has messages for the
                test, a pipe for them. They are copied; these may be closed.
            **arguments: Its arguments.
        """
        request = {
            "job": job,
            "arguments": arguments,
            "folder": str(folder),
            "environment": dict(environment),
        }
        return Forked(self, self.ask(request, descriptors)["pid"])

    def run(self, job: str, folder: Path, **arguments: Any) -> Finished:
        """Run a function of jobs.py to its end."""
        return self.start(job, folder, **arguments).wait()

    def simstore(self, folder: Path, *words: str | Path, **options: Any) -> Finished:
        """Run a command line to its end."""
        return self.run("simstore", folder, words=[str(word) for word in words], **options)

    def ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Return its reply to a request; see nursery.py."""
        data = json.dumps(request).encode()
        with self.lock:
            connection = self._connected()
            socket.send_fds(connection, [_LENGTH.pack(len(data))], descriptors)
            connection.sendall(data)
            return self._reply(connection)

    def _reply(self, connection: socket.socket) -> dict[str, Any]:
        size = _LENGTH.unpack(self._received(connection, _LENGTH.size))[0]
        reply: dict[str, Any] = json.loads(self._received(connection, size))
        return reply

    def _received(self, connection: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                raise EOFError("the nursery has gone")
            data += part
        return data


def _readable(data: bytes) -> int:
    """Return a descriptor that gives ``data``: a pipe where it fits into one."""
    if len(data) <= _PIPE_BYTES:
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        return reading
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())


_shared = Nursery()


def nursery() -> Nursery:
    """Return the nursery of all tests of this process."""
    return _shared


def close_nursery() -> None:
    """End the process of that nursery; the next request starts another."""
    _shared.close()
