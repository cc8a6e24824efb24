"""A server that is killed and started again at one address, and what it must not leave behind."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from served import Served, children, serve

# Far above what a start takes on a busy machine.
_SOON_SECONDS = 45.0
_DRAIN_SECONDS = 10.0


class KeptServer:
    """A server at one address; used as a context manager, which ends it with all its processes.

    Args:
        store: The store, which there is.
        options: Of ``simstore serve``.
        log: Where what it says is kept.
    """

    def __init__(self, store: str, options: tuple[str, ...], log: Path) -> None:
        with socket.socket() as some:
            some.bind(("127.0.0.1", 0))
            self.port: int = some.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._words = ("--port", str(self.port), "--drain-seconds", f"{_DRAIN_SECONDS:g}", *options)
        self._store = store
        self._log = log
        self._stack = ExitStack()
        self._served: Served | None = None
        self._seen: set[int] = set()
        self.kills = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.workers()
        left = set(self._seen)
        self.thaw()
        self._gone()
        for pid in left:
            with suppress(ProcessLookupError):
                if _lives(pid):
                    os.kill(pid, signal.SIGKILL)

    def start(self) -> None:
        """Start it, or start it again."""
        with self._log.open("a") as log:
            log.write("-- started\n")
        self._served = self._stack.enter_context(serve(self._store, *self._words, create=False))
        self.workers()

    @property
    def pid(self) -> int:
        assert self._served is not None
        return self._served.process.pid

    def workers(self) -> list[int]:
        """Return the processes that it has started and that run, the writer last."""
        if self._served is None:
            return []
        found = [pid for pid in children(self.pid) if _lives(pid)]
        self._seen.update(found)
        nice = {}
        for pid in found:
            with suppress(ProcessLookupError):
                nice[pid] = os.getpriority(os.PRIO_PROCESS, pid)
        return sorted(nice, key=lambda pid: (nice[pid], pid))

    def signal_worker(self, place: int, number: int) -> int | None:
        """Send a signal to one of its processes; return which, None where there is none."""
        workers = self.workers()
        if not workers:
            return None
        pid = workers[place % len(workers)]
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        self.kills += number == signal.SIGKILL
        return pid

    def freeze(self) -> None:
        """Stop the process that listens."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let go on what was stopped."""
        own = [] if self._served is None else [self.pid]
        for pid in [*own, *self._seen]:
            with suppress(ProcessLookupError):
                if _lives(pid):
                    os.kill(pid, signal.SIGCONT)

    def kill(self, *, everything: bool) -> None:
        """Kill it at once, or all its processes with it, and start it again."""
        assert self._served is not None
        workers = self.workers()
        self._served.process.kill()
        self.kills += 1
        if everything:
            for pid in workers:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.kills += 1
        self._served.process.wait(_SOON_SECONDS)
        self._gone()
        self.await_end_of_workers()
        self.start()

    def stop(self, number: int = signal.SIGTERM, *, twice: bool = False) -> None:
        """End it by a signal, and see that it ends well."""
        assert self._served is not None
        self.workers()
        began = time.monotonic()
        process, lines = self._served.process, self._served.lines
        process.send_signal(number)
        if twice:
            time.sleep(0.05)
            process.send_signal(number)
        code = process.wait(_DRAIN_SECONDS + _SOON_SECONDS)
        took = time.monotonic() - began
        self._gone()
        if code not in ((0, 1, 130, 143, -number) if twice else (0,)):
            raise AssertionError(f"signal {number}: exit code {code} after {took:.1f} s: {lines}")
        self.await_end_of_workers()

    def await_end_of_workers(self) -> None:
        """See that no process of an ended server is left."""
        deadline = time.monotonic() + _SOON_SECONDS
        while left := [pid for pid in self._seen if _lives(pid)]:
            if time.monotonic() > deadline:
                raise AssertionError(f"the server has ended, its processes {left} have not")
            time.sleep(0.01)
        self._seen.clear()

    def await_ready(self) -> float:
        """Wait until it welcomes requests; return how many seconds that took."""
        began = time.monotonic()
        told = b"nothing"
        while time.monotonic() < began + _SOON_SECONDS:
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                try:
                    connection.request("GET", "/readyz")
                    reply = connection.getresponse()
                    told = reply.read()
                    if reply.status == 200:
                        return time.monotonic() - began
                finally:
                    connection.close()
            time.sleep(0.02)
        raise AssertionError(f"not ready after {_SOON_SECONDS:.0f} s: {told!r}")

    def _gone(self) -> None:
        """Keep what it said; it has ended, or ends now."""
        self._stack.close()
        if self._served is not None:
            with self._log.open("a") as log:
                log.writelines(f"{line}\n" for line in self._served.lines)
            odd = [line for line in self._served.lines if "Traceback" in line]
            self._served = None
            if odd:
                raise AssertionError(f"the server told a traceback; see {self._log}")


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
