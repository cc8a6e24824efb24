"""Run campaigns in the folder of the first argument; ``python -m tests.torture`` calls this."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    os.chdir(sys.argv.pop(1))
    os.environ["NUMBA_CACHE_DIR"] = os.getcwd()
    # Campaigns keep what they share out of the rounds' folders.
    sys.dont_write_bytecode = True
    from tests.torture.__main__ import main

    main(prog_name="python -m tests.torture")
