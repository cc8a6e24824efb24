"""What programs did to the files of a folder: the log of record.c."""

from __future__ import annotations

import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

_HEAD = struct.Struct("=cQqqI")
_SOURCE = Path(__file__).with_name("record.c")
_KINDS = {
    b"c": "create", b"t": "resize", b"w": "write", b"a": "allocate", b"s": "sync",
    b"d": "sync folder", b"r": "rename", b"l": "link", b"u": "unlink", b"m": "make folder",
    b"x": "remove folder", b"!": "mark", b">": "told",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """One operation, or something that was said.

    Attributes:
        kind: What it was.
        inode: Number of its file; 0 where it has none.
        place: Of a write, where in the file.
        size: Of a resize or an allocation, the file's size after it.
        data: What was written, or said.
        paths: Of operations on names, relative to the folder.
    """

    kind: str
    inode: int = 0
    place: int = 0
    size: int = 0
    data: bytes = b""
    paths: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What a mark says."""
        return self.data.decode(errors="replace")


def build(folder: Path) -> Path:
    """Compile the library that records; return its path."""
    library = folder / "record.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl", "-lpthread"], check=True
    )
    return library


def events(log: Path) -> list[Event]:
    """Return what a log tells.

    Raises:
        ValueError: It is cut, or tells of an operation that is not understood.
    """
    data = log.read_bytes()
    found = []
    at = 0
    while at < len(data):
        if at + _HEAD.size > len(data):
            raise ValueError(f"{log} is cut")
        kind, inode, place, size, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        content = data[at : at + length]
        at += length
        if len(content) < length:
            raise ValueError(f"{log} is cut")
        if kind not in _KINDS:
            raise ValueError(f"an operation that is not recorded: {os.fsdecode(content)}")
        name = _KINDS[kind]
        if name in ("write", "mark", "told"):
            found.append(Event(name, inode, place, size, content))
            continue
        paths = tuple(os.path.normpath(os.fsdecode(one)) for one in content.split(b"\0") if one)
        if name == "sync folder":
            # The folder itself is the empty path.
            paths = paths or (".",)
        found.append(Event(name, inode, place, size, b"", paths))
    return found


def append_mark(log: Path, text: str) -> None:
    """Say something in a log from outside of the programs that write it."""
    data = text.encode()
    with log.open("ab", buffering=0) as file:
        file.write(_HEAD.pack(b"!", 0, 0, len(data), len(data)) + data)
