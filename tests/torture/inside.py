"""Run campaigns in the folder of the first argument; ``python -m tests.torture`` calls this."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Let this process be killed with the one that has started it, where the system can do so."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    end_with_parent()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    os.chdir(sys.argv.pop(1))
    os.environ["NUMBA_CACHE_DIR"] = os.getcwd()
    # Campaigns keep what they share out of the rounds' folders.
    sys.dont_write_bytecode = True
    from tests.torture.__main__ import main

    main(prog_name="python -m tests.torture")
