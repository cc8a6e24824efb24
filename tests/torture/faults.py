"""Commands whose disk fails at one operation, and the same commands again."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from forked import Child, Finished, Nursery

KINDS = {"killed": 0, "EIO": errno.EIO, "ENOSPC": errno.ENOSPC}
# Those, and what well-made code gets over without a word: a write of a part, and a signal.
ALL_KINDS = KINDS | {"torn": -1, "EINTR": errno.EINTR}
# Runs of a command with faults of a kind, spread over its operations; 0: one for each of them.
MOST = int(os.environ.get("SIMSTORE_TORTURE_RUNS", "5")) or None
_SOURCE = Path(__file__).with_name("faults.c")


def cannot_build() -> str | None:
    """Return why there can be no faults here; None where there can."""
    if not sys.platform.startswith("linux"):
        return "faults are made by LD_PRELOAD and /proc: Linux alone"
    return None if shutil.which("cc") else "no C compiler (cc) to build the library of faults with"


@dataclass(frozen=True)
class Faulted:
    """How a command ended.

    Attributes:
        done: Its exit code and what it printed.
        operation: Number, name and file of the operation that failed; None where it was over
            before.
    """

    done: Finished
    operation: str | None


class Faults:
    """Runs commands with a fault.

    Args:
        folder: Where the library is built.
    """

    def __init__(self, folder: Path) -> None:
        self._library = folder / "faults.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", self._library, _SOURCE, "-ldl", "-lpthread"],
            check=True,
        )
        self.nursery = Nursery({"LD_PRELOAD": str(self._library)})

    def close(self) -> None:
        """End the process that runs the commands."""
        self.nursery.close()

    def operations(self, words: list[str | Path], folder: Path, code: int = 0) -> list[str]:
        """Run a command line without a fault; return name and file of each operation.

        Args:
            words: Its words.
            folder: Operations on files in this folder are told.
            code: How it ends.
        """
        child = self._start(words, folder, -1, 0)
        told = [line.split(" ", 1)[1] for line in child.messages()]
        assert child.wait().code == code, child.wait()
        assert told, "no operation was counted"
        return told

    def run(self, words: list[str | Path], folder: Path, number: int, kind: str) -> Faulted:
        """Run a command line of which an operation on a file fails.

        Args:
            words: Its words.
            folder: Operations on files in this folder are counted; it is the current one.
            number: The one that fails, from 1.
            kind: How, one of ``ALL_KINDS``.
        """
        child = self._start(words, folder, number, ALL_KINDS[kind])
        operation = child.message()
        done = child.wait()
        assert (done.code == -signal.SIGKILL) == (operation is not None and kind == "killed"), done
        return Faulted(done, operation)

    def _start(self, words: list[str | Path], folder: Path, number: int, error: int) -> Child:
        return self.nursery.start(
            "simstore_with_a_fault",
            folder,
            words=[str(word) for word in words],
            library=str(self._library),
            folder_counted=os.path.realpath(folder),
            number=number,
            error=error,
        )

    def at_each(
        self,
        words: list[str | Path],
        folder: Path,
        kind: str,
        prepare: Callable[[], object],
        *,
        most: int | None = None,
    ) -> Iterator[Faulted]:
        """Run a command again and again, each time with another operation that fails.

        Args:
            words: Its words.
            folder: Operations on files in this folder are counted.
            kind: How they fail.
            prepare: Makes the folder anew before each run.
            most: At most so many runs; None: one for each operation.
        """
        prepare()
        operations = self.operations(words, folder)
        for number in chosen(operations, most):
            prepare()
            faulted = self.run(words, folder, number, kind)
            # The last ones may not come, as sizes differ from run to run.
            assert faulted.operation is not None or number > len(operations) * 0.9
            assert "Traceback" not in faulted.done.errors, (faulted.operation, faulted.done.errors)
            yield faulted


def chosen(operations: list[str], most: int | None) -> list[int]:
    """Return numbers of operations, from 1: first those unlike the one before.

    >>> chosen(["open a", "write a", "write a", "write a", "sync a"], 3)
    [1, 2, 5]
    """
    numbers = range(1, len(operations) + 1)
    if most is None or most >= len(operations):
        return list(numbers)
    unlike = [n for n in numbers if n == 1 or operations[n - 1] != operations[n - 2]]
    others = [n for n in numbers if n not in unlike]
    chance = random.Random(len(operations))
    if most <= len(unlike):
        # Beginning and end have the operations that come once.
        edge = max(1, most // 4)
        middle = chance.sample(unlike[edge:-edge], max(0, most - 2 * edge))
        return sorted({*unlike[:edge], *middle, *unlike[-edge:]})
    return sorted([*unlike, *chance.sample(others, most - len(unlike))])
