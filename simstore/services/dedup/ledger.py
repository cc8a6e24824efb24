"""The state of a run: files that grow, and a journal of how far they are true.

A checkpoint makes what was appended durable, then notes sizes and checksums of all files. A run
that resumes compares the files with the last checkpoint and cuts each to the size noted there; so
it resumes after a whole batch, wherever it was killed.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, BinaryIO, Self

from simstore.errors import Conflict, StorageError, printable
from simstore.outputs import StateFolder, sync_folder

_JOURNAL = "journal.jsonl"
# Seconds between two checkpoints.
_CHECKPOINT_SECONDS = 1.0
_PIECE = 1 << 20


class Ledger:
    """The state of a run.

    Args:
        state: The folder; closed with this object.
        begun: What a run has in common with the one that it goes on with; JSON values.
        files: Names of the files that grow.
        anew: Forget what another run left.
        force: Forget it if it is of another run, or damaged.

    Attributes:
        last: What the last checkpoint noted; empty where there is none.
        is_publishing: Outputs are, or were before the run was interrupted, given their names.

    Raises:
        Conflict: Another run left its state there.
        StorageError: It is damaged, or cannot be read or written.
    """

    def __init__(
        self,
        state: StateFolder,
        begun: Mapping[str, Any],
        files: tuple[str, ...],
        *,
        anew: bool,
        force: bool,
    ) -> None:
        self.state = state
        self.last: dict[str, Any] = {}
        self._checked_at = time.monotonic()
        self._files: dict[str, BinaryIO] = {}
        self._sums = dict.fromkeys(files, 0)
        with self.written():
            known = json.loads(json.dumps(begun))
            lines = [] if anew else self._resumable(known, files, force=force)
            state.is_new = not lines
            if not lines:
                state.clear(but="input-")
            self.last = lines[-1] if len(lines) > 1 else {}
            self.is_publishing = bool(self.last.get("publishing"))
            self._journal = state.open_to_append(_JOURNAL)
            if not lines:
                self._note(known)
            for name in files:
                file = self._files[name] = state.open_to_append(name)
                size, self._sums[name] = self.last.get("written", {}).get(name, (0, 0))
                file.truncate(size)
                file.seek(0, os.SEEK_END)

    def append(self, name: str, data: bytes | memoryview) -> None:
        """Append bytes to a file."""
        with self.written():
            self._files[name].write(data)
        self._sums[name] = zlib.crc32(data, self._sums[name])

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """Yield a file to read all that was appended to it."""
        with self.written():
            self._files[name].flush()
        with self._translated("read"), self.state.open_to_read(name) as file:
            if os.fstat(file.fileno()).st_size != self._files[name].tell():
                raise self._damaged(name)
            yield file

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
            files = {name: [file.tell(), self._sums[name]] for name, file in self._files.items()}
            self.last = {**facts, "written": files, "publishing": self.is_publishing}
            self._note(self.last)
        self._checked_at = time.monotonic()

    @contextmanager
    def written(self) -> Iterator[None]:
        """Tell an error of the system as one of the state, and that the run can go on."""
        with self._translated("written"):
            yield

    def close(self) -> None:
        """Close the files; what they hold stays."""
        for file in self._files.values():
            # Buffered bytes stay unwritten: no checkpoint has them.
            raw = file.detach() if hasattr(file, "detach") else file
            raw.close()
        self._files = {}
        if hasattr(self, "_journal"):
            self._journal.close()
        self.state.close()

    def remove(self) -> None:
        """Delete the state of a run that is done."""
        with self.written():
            # A run that is killed while it deletes files leaves no damaged state.
            self._note({"done": True})
        self.state.remove()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _resumable(
        self, known: Any, files: tuple[str, ...], *, force: bool
    ) -> list[dict[str, Any]]:
        """Return the lines of the journal of a run that can be resumed; none: there is no run."""
        try:
            lines = self._read()
            if not lines or lines[-1].get("done"):
                return []
            if lines[0] != known:
                raise Conflict(
                    f"{printable(str(self.state.path))} is the state of an interrupted run with "
                    "other options or inputs, or inputs that have changed since; the same command "
                    "goes on with it, --force begins again"
                )
            for name in files:
                self._check(name, *lines[-1].get("written", {}).get(name, (0, 0)))
        except (Conflict, StorageError):
            if not force:
                raise
            return []
        return lines

    def _read(self) -> list[dict[str, Any]]:
        """Return the lines of the journal that are whole; a last one may be torn."""
        with self._translated("read"):
            data = b""
            with suppress(FileNotFoundError), self.state.open_to_read(_JOURNAL) as file:
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            others = {name for name in self.state.names() if not name.startswith("input-")}
            if not whole and others - {_JOURNAL}:
                raise self._damaged(_JOURNAL)
            if len(whole) < len(data):
                os.truncate(self.state.path / _JOURNAL, len(whole))
        lines = []
        for line in whole.splitlines():
            checksum, _, content = line.partition(b" ")
            if checksum != b"%08x" % zlib.crc32(content):
                raise self._damaged(_JOURNAL)
            lines.append(json.loads(content))
        return lines

    def _check(self, name: str, size: int, checksum: int) -> None:
        """Raise StorageError unless a file begins with what a checkpoint noted."""
        found, left = 0, size
        if not size:
            return
        with (
            self._translated("read"),
            suppress(FileNotFoundError),
            self.state.open_to_read(name) as file,
        ):
            while left and (data := file.read(min(left, _PIECE))):
                found, left = zlib.crc32(data, found), left - len(data)
        if left or found != checksum:
            raise self._damaged(name)

    def _damaged(self, name: str) -> StorageError:
        return StorageError(
            f"{printable(str(self.state.path))} is damaged: its file {name} is not as the "
            "interrupted run wrote it; --force begins again"
        )

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or printable(str(error))
            raise StorageError(
                f"{printable(str(self.state.path))} cannot be {what}: {reason}; once it can be, "
                "the same command goes on where it was"
            ) from error

    def _note(self, facts: Mapping[str, Any]) -> None:
        content = json.dumps(facts).encode()
        self._journal.write(b"%08x %b\n" % (zlib.crc32(content), content))
        self._journal.flush()
        os.fsync(self._journal.fileno())
        sync_folder(self.state.path / _JOURNAL)
