"""Run a command where it can write to one folder only, as an unprivileged user, with no network.

Namespaces of Linux: every file system is mounted anew for reading only, but for the folder and a
fresh /dev/shm; the network has the loopback alone. Root becomes nobody; another user gets a user
namespace of its own, where the system allows it. Processes have a namespace too: when the command
ends, or the process that waits for it, whatever they left behind is killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

_NOBODY = 65534
# Set in the environment of what runs inside.
INSIDE = "SIMSTORE_TORTURE_INSIDE"
# File systems that are not files: what is written there is guarded by the user's rights.
_SHARED = "/dev/shm"  # noqa: S108
_KEPT = ("/proc", "/sys", "/dev")


def is_inside() -> bool:
    """Whether this process runs in a sandbox."""
    return INSIDE in os.environ


def cannot_seal() -> str | None:
    """Return why there can be no sandbox here; None where there can."""
    if not sys.platform.startswith("linux"):
        return "sandboxes are made of namespaces of Linux"
    for program in ("unshare", "mount", "setpriv"):
        if not shutil.which(program):
            return f"there is no {program}"
    tried = subprocess.run(
        [*_unshare(), "mount", "-t", "tmpfs", "tmpfs", _SHARED], capture_output=True, text=True
    )
    return None if not tried.returncode else f"namespaces are refused: {tried.stderr.strip()}"


def run_inside(words: Sequence[str], folder: Path) -> int:
    """Run a command in a sandbox; return its exit code.

    Args:
        words: The command.
        folder: The one folder that it can write to.
    """
    folder = folder.resolve()
    if os.geteuid() == 0:
        shutil.chown(folder, _NOBODY, _NOBODY)
        for path in folder.rglob("*"):
            shutil.chown(path, _NOBODY, _NOBODY)
    # This process holds the other end, which is closed when it ends, however it does.
    reading, writing = os.pipe()
    entered = [sys.executable, str(Path(__file__).resolve()), str(reading), str(folder), *words]
    try:
        return subprocess.run([*_unshare(), *entered], check=False, pass_fds=[reading]).returncode
    finally:
        os.close(reading)
        os.close(writing)


def _unshare() -> list[str]:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    spaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return ["unshare", *user, *spaces, "--propagation", "private"]


def _enter(alive: int, folder: str, words: list[str]) -> int:
    """Seal the namespaces that this process is in, run the command, and return its exit code.

    This process is the first of its namespace: it waits for all that lose their parents, and when
    it ends, all others are killed.

    Args:
        alive: A descriptor that comes to its end when nobody waits for this process.
        folder: What can be written to.
        words: The command.
    """
    _seal(folder)
    child = os.fork()
    if not child:
        os.close(alive)
        _become(words)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _end_with(alive: int) -> None:
    os.read(alive, 1)
    os._exit(128 + signal.SIGKILL)


def _seal(folder: str) -> None:
    _mount("-t", "tmpfs", "tmpfs", _SHARED)
    _open_ways((sys.base_prefix, sys.prefix, str(Path(__file__).resolve().parents[2]), folder))
    _mount("--bind", folder, folder)
    lines = Path("/proc/self/mounts").read_text().splitlines()
    for place in dict.fromkeys(line.split(" ")[1] for line in lines):
        place = place.encode().decode("unicode_escape")
        # A mount below another is there twice where it was covered; what is gone needs no guard.
        if place != folder and os.path.exists(place) and not place.startswith(_KEPT):
            _mount("-o", "remount,ro,bind", place)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
        # SIOCSIFFLAGS, IFF_UP: the loopback of a new network is down.
        fcntl.ioctl(some, 0x8914, struct.pack("16sh", b"lo", 1))
    os.environ[INSIDE] = "1"
    os.environ["HOME"] = os.environ["TMPDIR"] = os.environ["XDG_RUNTIME_DIR"] = folder


def _become(words: list[str]) -> NoReturn:
    """Become a command, with no rights left."""
    # In a user namespace of one's own, root is oneself.
    mapping = Path("/proc/self/uid_map").read_text().split()
    if mapping[1] == "0":
        user = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
        words = ["setpriv", *user, "--no-new-privs", *words]
    os.execvp(words[0], words)  # noqa: S606


def _open_ways(needed: Sequence[str]) -> None:
    """Let nobody reach folders that lie in others which only root can look into.

    A closed folder is covered by an empty one, with the needed folders at their places in it.
    """
    aside: dict[str, str] = {}
    covers: set[Path] = set()
    for path in sorted(set(needed)):
        closed = [one for one in reversed(Path(path).parents) if not one.stat().st_mode & 0o001]
        if closed:
            aside[path] = f"{_SHARED}/{len(aside)}"
            covers.add(closed[0])
            Path(aside[path]).mkdir()
            _mount("--bind", path, aside[path])
    for cover in covers:
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(cover))
    for path, place in aside.items():
        Path(path).mkdir(parents=True, exist_ok=True)
        _mount("--move", place, path)
        Path(place).rmdir()


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


if __name__ == "__main__":
    sys.exit(_enter(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
