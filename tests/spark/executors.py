"""The processes of a cluster's executors."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = b"CoarseGrainedExecutorBackend"


def executors(spark: SparkSession) -> list[int]:
    """Return the processes of the executors of this application."""
    application = spark.sparkContext.applicationId.encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                if _NAME in command and application in command and b"java" in command:
                    found.append(int(entry.name))
    return sorted(found)


def kill_one(spark: SparkSession) -> int:
    """Kill an executor once it has work; return its process, 0 where there was none in time."""
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if tracker.getActiveStageIds():
            running = executors(spark)
            if running:
                os.kill(running[0], signal.SIGKILL)
                return running[0]
        time.sleep(0.05)
    return 0
