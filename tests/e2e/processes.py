"""Start, watch and kill real processes."""

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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
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


class Child:
    """A process that runs; it ends with the test at the latest."""

    def __init__(self, nursery: Nursery, pid: int, messages: int, out: Any, err: Any) -> None:
        self.pid = pid
        self._nursery = nursery
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
            reply = self._nursery.ask({"reap": self.pid})
            self._nursery.children.discard(self)
            texts = []
            for file in (self._out, self._err):
                file.seek(0)
                texts.append(file.read())
                file.close()
            self._finished = Finished(reply["code"], texts[0], texts[1], reply["rss_bytes"])
        return self._finished

    def error_text(self) -> str:
        """Return what it has written to standard error so far."""
        return os.pread(self._err.fileno(), 1 << 20, 0).decode()


class Nursery:
    """Forks processes that have imported everything; see nursery.py."""

    def __init__(self) -> None:
        self.children: set[Child] = set()
        self._socket, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("nursery.py")), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # One thread: a process with more should not fork.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        theirs.close()
        self._socket.settimeout(PATIENCE_SECONDS)
        self._reply()

    def close(self) -> None:
        """Kill what still runs."""
        for child in list(self.children):
            child.kill()
        self._socket.close()
        self._process.wait(PATIENCE_SECONDS)

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
        request = {
            "job": job,
            "arguments": arguments,
            "folder": str(folder),
            "environment": dict(environment),
        }
        try:
            descriptors = [source, out.fileno(), err.fileno(), writing]
            pid = self.ask(request, descriptors)["pid"]
        finally:
            os.close(writing)
            if source != stdin:
                os.close(source)
        child = Child(self, pid, reading, out, err)
        self.children.add(child)
        return child

    def run(self, job: str, folder: Path, **arguments: Any) -> Finished:
        """Run a function of jobs.py to its end."""
        return self.start(job, folder, **arguments).wait()

    def simstore(self, folder: Path, *words: str | Path, **options: Any) -> Finished:
        """Run a command line to its end."""
        return self.run("simstore", folder, words=[str(word) for word in words], **options)

    def ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        data = json.dumps(request).encode()
        socket.send_fds(self._socket, [_LENGTH.pack(len(data))], descriptors)
        self._socket.sendall(data)
        return self._reply()

    def _reply(self) -> dict[str, Any]:
        size = _LENGTH.unpack(self._received(_LENGTH.size))[0]
        reply: dict[str, Any] = json.loads(self._received(size))
        return reply

    def _received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
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


def launch(
    folder: Path, *words: str | Path, launcher: str | None = "cli.py", **options: Any
) -> Finished:
    """Run ``python cli.py ...`` in a new interpreter; with no launcher, ``python ...``."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SIMSTORE_")}
    program = [] if launcher is None else [str(REPOSITORY / launcher)]
    defaults = {"input": b"", "env": environment}
    done = subprocess.run(
        [sys.executable, *program, *map(str, words)],
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        **(defaults | options),
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def until(condition: Callable[[], Any], what: str) -> Any:
    """Return the first true value of a condition; look again and again until a deadline."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.002)
    return value


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    """Mount a file system of this size; raise PermissionError where that is not allowed."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise PermissionError(done.stderr.decode().strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
