"""A disk that loses power: what may be left of files after any part of a recorded history.

What POSIX promises, and no more. A sync of a file makes its data and size durable, not its name;
a sync of a folder makes durable what was done to the names in it. Whatever was not synced may be
there or not, each operation for itself and in any order; a write may be torn at sectors of 512
bytes, and a file that became longer may hold zeros or anything where the data is missing. A rename
is done or not. Bytes beside those that were written stay as they are, as SQLite takes for granted.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from .record import Event

SECTOR = 512
# Shared memory of SQLite: of no account after a loss of power.
MEMORY = "-shm"


@dataclass(eq=False)
class File:
    """What a file has on the disk, and what was done to it since its last sync.

    Attributes:
        durable: Its content that cannot be lost.
        pending: What was done since: a place and data, or a new size and None.
    """

    durable: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    @property
    def content(self) -> bytes:
        """What a program that reads it sees."""
        made = bytearray(self.durable)
        for place, data in self.pending:
            _apply(made, place, data)
        return bytes(made)

    def sync(self) -> None:
        """Make all of it durable."""
        self.durable = self.content
        self.pending.clear()

    def after_cut(self, chance: random.Random) -> bytes:
        """Return what may be left of it."""
        if not self.pending:
            return self.durable
        how = chance.random()
        if how < 0.15:
            return self.durable
        if how < 0.3:
            return self.content
        made = bytearray(self.durable)
        pending = self.pending
        if how < 0.5:
            # The disk went on in order, and stopped within a write.
            pending = pending[: chance.randint(1, len(pending))]
            share = 0.0
        else:
            share = chance.choice((0.1, 0.5, 0.9))
        garbage = chance.random() < 0.3
        for number, (place, data) in enumerate(pending):
            if chance.random() < share:
                if data is not None and place + len(data) > len(made) and chance.random() < 0.5:
                    # The size came to the disk, the data did not.
                    size = place + len(data) - len(made)
                    made += chance.randbytes(size) if garbage else bytes(size)
                continue
            last = share == 0.0 and number == len(pending) - 1
            if data is not None and (last or (share and chance.random() < 0.3)):
                _tear(made, place, data, chance, garbage=garbage)
            else:
                _apply(made, place, data)
        return bytes(made)


def _apply(made: bytearray, place: int, data: bytes | None) -> None:
    """Write data at a place, or give a file a size."""
    end = place + len(data or b"")
    if len(made) < end:
        made += bytes(end - len(made))
    if data is None:
        del made[place:]
    else:
        made[place:end] = data


def _tear(
    made: bytearray, place: int, data: bytes, chance: random.Random, *, garbage: bool
) -> None:
    """Write some of the sectors of a write."""
    end = place + len(data)
    if len(made) < end and chance.random() < 0.5:
        size = end - len(made)
        made += chance.randbytes(size) if garbage else bytes(size)
    cuts = [place, *range(place - place % SECTOR + SECTOR, end, SECTOR), end]
    for start, stop in pairwise(cuts):
        if chance.random() < 0.5:
            _apply(made, start, data[start - place : stop - place])


@dataclass(frozen=True)
class _Change:
    """What was done to names of one folder: the file that each has now, None: none any more."""

    folder: str
    names: tuple[tuple[str, File | None], ...]


def files_of(folder: Path) -> list[str]:
    """Return the paths of all files of a folder, at any depth, but for what is memory."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(MEMORY)
    )


class Disk:
    """The files of a folder, as operations change them. Folders in it neither come nor go.

    Args:
        before: What is there and durable when they begin.
    """

    def __init__(self, before: Path) -> None:
        self._names: dict[str, File] = {}
        # Numbers of files are used again; each file is what has its number at the time.
        self._files: dict[int, File] = {}
        self._pending: list[_Change] = []
        self._durable_names: dict[str, File] = {}
        for name in files_of(before):
            file = File((before / name).read_bytes())
            self._files[(before / name).stat().st_ino] = file
            self._names[name] = self._durable_names[name] = file

    def apply(self, event: Event) -> None:
        """Do an operation of a log; marks are none."""
        match event.kind:
            case "write" | "resize" | "allocate" | "sync":
                # What was opened and is no file of the folder any more, nor ever was: memory.
                file = self._files.setdefault(event.inode, File())
                self._change_file(file, event)
            case "create":
                file = self._files[event.inode] = File()
                self._name(event.paths[0], file)
            case "unlink":
                self._name(event.paths[0], None)
            case "rename":
                self._rename(*event.paths)
            case "sync folder":
                self._sync_names(event.paths[0])
            case "mark" | "told":
                pass
            case _:
                raise ValueError(f"the model of a disk knows no {event.kind}")

    @property
    def contents(self) -> dict[str, bytes]:
        """What a program that reads the folder sees."""
        return {name: file.content for name, file in sorted(self._names.items())}

    def after_cut(self, chance: random.Random) -> dict[str, bytes]:
        """Return what may be left if power is lost now.

        Args:
            chance: Chooses among all that may be.
        """
        names = dict(self._durable_names)
        how = chance.random()
        share = chance.choice((0.2, 0.5, 0.8))
        upto = chance.randint(0, len(self._pending))
        for number, change in enumerate(self._pending):
            if how < 0.2:
                done = False
            elif how < 0.45:
                done = True
            elif how < 0.65:
                done = number < upto
            else:
                done = chance.random() < share
            if done:
                _put(names, change.names)
        left = {}
        # A file of two names has one content.
        contents: dict[int, bytes] = {}
        for name, file in sorted(names.items()):
            if id(file) not in contents:
                contents[id(file)] = file.after_cut(chance)
            left[name] = contents[id(file)]
        return left

    def _change_file(self, file: File, event: Event) -> None:
        if event.kind == "sync":
            file.sync()
        elif event.kind == "write":
            file.pending.append((event.place, event.data))
        elif event.kind == "resize" or len(file.content) < event.size:
            file.pending.append((event.size, None))

    def _rename(self, before: str, after: str) -> None:
        file = self._names[before]
        if posixpath.dirname(before) != posixpath.dirname(after):
            raise ValueError("the model of a disk knows no rename across folders")
        changes = (before, None), (after, file)
        _put(self._names, changes)
        self._pending.append(_Change(_folder(after), changes))

    def _name(self, path: str, file: File | None) -> None:
        if path.endswith(MEMORY):
            return
        changes = ((path, file),)
        _put(self._names, changes)
        self._pending.append(_Change(_folder(path), changes))

    def _sync_names(self, folder: str) -> None:
        for change in self._pending:
            if change.folder == folder:
                _put(self._durable_names, change.names)
        self._pending = [change for change in self._pending if change.folder != folder]


def _folder(path: str) -> str:
    return posixpath.dirname(path) or "."


def _put(names: dict[str, File], changes: Iterable[tuple[str, File | None]]) -> None:
    for name, file in changes:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file
