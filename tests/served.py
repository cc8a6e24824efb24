"""Real servers for tests: a process each, on a port that is free."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from forked import PATIENCE_SECONDS, Forked, nursery

REPOSITORY = Path(__file__).resolve().parent.parent
_SERVING = re.compile(r"serving .* at (http://\S+?)(?:;|$)")


@dataclass
class Served:
    """A server that runs.

    Attributes:
        url: Where.
        process: The process.
        lines: What it said on standard error so far.
    """

    url: str
    process: subprocess.Popen[str] | Forked
    lines: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def serve(
    store: Path | str,
    *options: str,
    create: bool = True,
    env: dict[str, str] | None = None,
    fresh: bool = False,
) -> Iterator[Served]:
    """Serve a store in a process of its own; it ends with the block at the latest.

    Args:
        store: The store.
        options: Further options of ``simstore serve``.
        create: Make a store of the default scheme where there is none.
        env: Further variables of its environment.
        fresh: Start a new interpreter, as a user does; else, to save what its imports take, fork
            a process that has imported everything.
    """
    if create and "://" not in str(store) and not Path(store).exists():
        from simstore import Store

        Store.create(store).close()
    words = ["serve", "--db", str(store), "--port", "0", *options]
    # A test may have modules of its own that each process imports at its start.
    paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(env or {})}
    process, said = (_launched if fresh else _forked)(words, environment)
    served = Served("", process)
    ready = threading.Event()

    def listen() -> None:
        for line in said:
            served.lines.append(line.rstrip("\n"))
            found = _SERVING.search(line)
            if found and not served.url:
                served.url = found[1]
                ready.set()
        ready.set()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        if not ready.wait(PATIENCE_SECONDS) or not served.url:
            process.kill()
            process.wait()
            raise RuntimeError("the server did not start: " + "\n".join(served.lines))
        yield served
    except BaseException:
        # What it said may tell why.
        print(*served.lines, sep="\n", file=sys.stderr)
        raise
    finally:
        process.kill()
        process.wait()
        listener.join()
        said.close()


def _launched(
    words: list[str], environment: dict[str, str]
) -> tuple[subprocess.Popen[str], IO[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", "from simstore.cli import main; main()", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    return process, process.stderr


def _forked(words: list[str], environment: dict[str, str]) -> tuple[Forked, IO[str]]:
    reading, writing = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        descriptors = [nothing, nothing, writing]
        process = nursery().fork("simstore", Path.cwd(), environment, descriptors, words=words)
    finally:
        os.close(nothing)
        os.close(writing)
    return process, open(reading, encoding="utf-8")


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]
