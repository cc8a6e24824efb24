"""The state of a run beside its output: files that grow, and a journal of how far they are true.

A checkpoint makes what was appended durable, then notes the sizes of all files. A run that goes on
cuts each file to the size that the last checkpoint tells; so it goes on after a whole batch,
wherever it was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from simstore.errors import Conflict, StorageError, printable
from simstore.outputs import sync_folder

_JOURNAL = "journal.jsonl"
# As often is what was read made durable.
_CHECKPOINT_SECONDS = 1.0


class Ledger:
    """The state folder of a run.

    Args:
        folder: Where it is; it is made where there is none.
        begun: What a run has in common with the one that it goes on with; JSON values.
        anew: Forget what another run left.
        files: Names of the files that grow.

    Attributes:
        is_new: Whether there is no run to go on with.
        last: What the last checkpoint noted; empty where there is none.
        is_publishing: Outputs are, or were before the run was interrupted, given their names.

    Raises:
        Conflict: Another run left its state there, or runs.
        StorageError: It cannot be written.
    """

    def __init__(
        self, folder: Path, begun: Mapping[str, Any], files: tuple[str, ...], *, anew: bool
    ) -> None:
        self.folder = folder
        self.is_new = True
        self.last: dict[str, Any] = {}
        self.is_publishing = False
        self._checked_at = time.monotonic()
        self._files: dict[str, BinaryIO] = {}
        with self.written():
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder, os.O_RDONLY)
            self._take()
            known = json.loads(json.dumps(begun))
            lines = [] if anew else self._read()
            if lines and lines[0] != known:
                self.close()
                raise Conflict(
                    f"{printable(str(folder))} is the state of an interrupted run with other "
                    "options or inputs, or inputs that have changed since; the same command goes "
                    "on with it, --force begins again"
                )
            if not lines:
                for left in folder.iterdir():
                    if not left.name.startswith("input-"):
                        shutil.rmtree(left) if left.is_dir() else left.unlink()
            self.is_new = not lines
            self.last = lines[-1] if len(lines) > 1 else {}
            self.is_publishing = bool(self.last.get("publishing"))
            self._journal = (folder / _JOURNAL).open("ab")
            if not lines:
                self._note(known)
            sizes = self.last.get("sizes", {})
            for name in files:
                file = (folder / name).open("ab")
                file.truncate(sizes.get(name, 0))
                file.seek(0, os.SEEK_END)
                self._files[name] = file

    def path(self, name: str) -> Path:
        """Return where a file of the state is."""
        return self.folder / name

    def append(self, name: str, data: bytes | memoryview) -> None:
        """Append bytes to a file."""
        with self.written():
            self._files[name].write(data)

    def flush(self) -> None:
        """Let what was appended be read."""
        with self.written():
            for file in self._files.values():
                file.flush()

    def checkpoint(self, facts: Mapping[str, Any], *, now: bool = False) -> None:
        """Note that all that was appended is true, at most once a second.

        Args:
            facts: What else is to be known by a run that goes on; JSON values.
            now: Note it in any case.
        """
        if not now and time.monotonic() - self._checked_at < _CHECKPOINT_SECONDS:
            return
        with self.written():
            for file in self._files.values():
                file.flush()
                os.fsync(file.fileno())
            sizes = {name: file.tell() for name, file in self._files.items()}
            self.last = {**facts, "sizes": sizes, "publishing": self.is_publishing}
            self._note(self.last)
        self._checked_at = time.monotonic()

    @contextmanager
    def written(self) -> Iterator[None]:
        """Tell an error of the system as one of the state, and that the run can go on."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or printable(str(error))
            raise StorageError(
                f"{printable(str(self.folder))} cannot be written: {reason}; once it can be, the "
                "same command goes on where it was"
            ) from error

    def close(self) -> None:
        """Close the files; what they hold stays."""
        for file in self._files.values():
            # What is not written stays unwritten: it is of no checkpoint.
            raw = file.detach() if hasattr(file, "detach") else file
            raw.close()
        self._files = {}
        if hasattr(self, "_journal"):
            self._journal.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def remove(self) -> None:
        """Delete the state of a run that is done."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            self._lock = -1
            raise Conflict(
                f"{printable(str(self.folder))} is the state of a run that is under way; wait for "
                "it, or name another output"
            ) from None

    def _read(self) -> list[dict[str, Any]]:
        """Return the lines of the journal that are whole."""
        path = self.folder / _JOURNAL
        if not path.exists():
            return []
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(path, len(whole))
        return [json.loads(line) for line in whole.splitlines()]

    def _note(self, facts: Mapping[str, Any]) -> None:
        self._journal.write(json.dumps(facts).encode() + b"\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())
        sync_folder(self.folder / _JOURNAL)
