"""End a PostgreSQL server when the tests that started it are gone, however they ended.

``postgres_servers.py`` runs this with the reading end of a pipe that nobody writes to: it is at
its end once the tests' process has closed the other one, or has died.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

# A restart that was under way may bring the server back meanwhile.
_LOOKS = 20
_LOOK_SECONDS = 0.5


def main(pipe: int, folder: Path, program: str, user: str) -> None:
    """Wait for the end of the tests, then stop the server and delete its folder.

    Args:
        pipe: The reading end.
        folder: Where the server's data and sockets are.
        program: Path of ``pg_ctl``.
        user: Whose the server is; empty: this one's.
    """
    while os.read(pipe, 1):
        pass
    data = folder / "data"
    for _ in range(_LOOKS):
        if not folder.exists():
            return
        if (data / "postmaster.pid").exists():
            subprocess.run(
                [program, "-w", "-D", str(data), "stop", "-m", "immediate"],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                user=user or None,
            )
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
