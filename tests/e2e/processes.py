"""Start, watch and kill real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forked import PATIENCE_SECONDS, Finished

REPOSITORY = Path(__file__).resolve().parents[2]


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
