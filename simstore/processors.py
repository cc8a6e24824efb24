"""Count the processors that this process may use, by its CPU affinity and container limits."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_LOOK_SECONDS = 60


def usual_processor_count() -> int:
    """Return :func:`processor_count` of this process, as it was within the last minute."""
    # The allowed number may change while a server runs; each look takes as long as a comparison.
    return _count_at(int(time.monotonic()) // _LOOK_SECONDS)


@lru_cache(1)
def _count_at(_minute: int) -> int:
    return processor_count()


def processor_count(groups: Path = _GROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Return how many processors this process may keep busy, at least 1.

    Its CPU affinity (``taskset``) and the limits of its control groups, as in a container, count.

    Args:
        groups: The folder of the control groups of Linux, version 2.
        own: The file that names the group of this process.
    """
    # Not every system has an affinity.
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(bound or 1, *_allowed(groups, own)))


def _allowed(groups: Path, own: Path) -> list[int]:
    """Return the limits of the control groups around this process."""
    found = [1 << 16]
    with suppress(OSError, ValueError):
        lines = own.read_text("ascii", "replace").splitlines()
        group = next((line[3:] for line in lines if line.startswith("0::")), "/")
        folder = groups / group.lstrip("/")
        for one in (folder, *folder.parents):
            with suppress(OSError, ValueError):
                quota, period = (one / "cpu.max").read_text("ascii").split()
                found.append(max(1, round(int(quota) / int(period))))
            if one == groups:
                break
    return found
