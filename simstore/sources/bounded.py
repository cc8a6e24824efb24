"""Start child processes with time and memory limits, to read untrusted files.

A small file can keep the library that reads it busy for ever, or let it ask for any memory; only a
process can be bounded. One that reaches a bound is ended by the system, and nothing else is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_OUT_OF_TIME = getattr(signal, "SIGXCPU", None)
_KILLED = {getattr(signal, name, None) for name in ("SIGKILL", "SIGALRM")} - {None}
_MOST_FILES = 256
_bounded = False


def start(
    module: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    standard_input: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Run a module of simstore in a child process, which limits itself by :func:`bound`.

    Args:
        module: Its name.
        arguments: What it is called with.
        environment: Its environment; None: that of this process.
        folder: Where it works; None: where this process does.
        standard_input: A descriptor; else a pipe.

    Raises:
        OSError: No process can be started.
    """
    # It is of another session: an interrupt from the keyboard is for this process, which reads a
    # file to its end.
    return subprocess.Popen(  # nothing in it is of a file  # noqa: S603  # nosec B603
        # -P: what lies in the working folder is no module.
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=standard_input,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={
            **(os.environ if environment is None else environment),
            # Absolute: what lies in the folder where it works is no module either.
            "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path),
        },
        start_new_session=True,
    )


def bound(seconds: int, memory_bytes: int, written_bytes: int | None = None) -> None:
    """Set the limits of this process from now on, where the system has such.

    Args:
        seconds: Processor time, besides what it took so far.
        memory_bytes: Address space.
        written_bytes: Size of a file that it writes; None: any, as with the number of open files.
    """
    global _bounded
    _bounded = True
    with suppress(ImportError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        limits = {
            resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + seconds,
            resource.RLIMIT_AS: memory_bytes,
            # No picture of its memory, where it crashes.
            resource.RLIMIT_CORE: 0,
        }
        if written_bytes is not None:
            limits |= {
                resource.RLIMIT_FSIZE: written_bytes,
                resource.RLIMIT_NOFILE: _MOST_FILES,
            }
        for kind, most in limits.items():
            with suppress(ValueError, OSError):
                hard = resource.getrlimit(kind)[1]
                if hard == resource.RLIM_INFINITY or hard >= most:
                    resource.setrlimit(kind, (most, hard))


def is_bounded() -> bool:
    """Return whether this process has limits, so that it need not start one that has."""
    return _bounded


def why_ended(status: int | None, seconds: int) -> str:
    """Return why a process ended without an answer.

    Args:
        status: With which it ended.
        seconds: Processor time that it had.
    """
    signalled = -status if status else None
    if signalled == _OUT_OF_TIME:
        return f"reading it takes more than {seconds:,} s of processor time"
    if signalled in _KILLED:
        return "reading it takes more time or memory than it may have"
    if signalled is not None and signalled > 0:
        what = (signal.strsignal(signalled) or f"signal {signalled}").lower()
        return f"the process that reads it ended: {what}"
    return f"the library that reads it ended by itself (status {status})"
