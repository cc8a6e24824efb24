"""Byte streams of files, pipes and standard input, decompressed while they are read."""

from __future__ import annotations

import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from simstore.errors import SourceNotFound, UnreadableSource, printable
from simstore.sources.source import MAX_EXPANSION
from simstore.sources.unpacking import (
    BUFFER_BYTES,
    COMPRESSED_SUFFIXES,
    Expansion,
    buffered,
    decompressed,
)

STANDARD_INPUT = "-"
# Paths by which the system names the same.
_INPUT_PATHS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
# Between the name of an archive and that of a member of it.
SEPARATOR = "!/"


def base_name(path: str) -> str:
    """Return the last part of a path, without endings of compression."""
    base = os.path.basename(path)
    stripped = True
    while stripped:
        stem, suffix = os.path.splitext(base)
        stripped = suffix.lower() in COMPRESSED_SUFFIXES
        base = stem if stripped else base
    return base


def is_standard_input(path: str) -> bool:
    """Return whether a path is ``-``, or what the system calls standard input.

    >>> is_standard_input("/dev/stdin")
    True
    """
    return path == STANDARD_INPUT or path in _INPUT_PATHS


def is_read_once(path: str) -> bool:
    """Return whether a path is standard input or a pipe, whose bytes come once."""
    if is_standard_input(path):
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_special(path: str) -> bool:
    """Return whether a path is a pipe, a device or a socket; links are followed."""
    return os.path.exists(path) and not os.path.isfile(path)


def open_bytes(path: str) -> io.RawIOBase:
    """Open a file, a pipe, standard input or the null device to read its bytes.

    A pipe without a writer is waited for.

    >>> with open_bytes("/dev/null") as file:
    ...     file.read()
    b''

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It is another device or a socket, or cannot be opened.
    """
    if is_standard_input(path):
        if sys.stdin is None:
            raise UnreadableSource(path, "standard input is closed")
        return _Unowned(cast(io.BufferedIOBase, sys.stdin.buffer))
    with reading(path):
        status = os.stat(path)
        if stat.S_ISSOCK(status.st_mode):
            raise UnreadableSource(path, "it is a socket, not a file")
        is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
        if is_device and not os.path.samestat(status, os.stat(os.devnull)):
            raise UnreadableSource(path, "it is a device, not a file")
        return cast(io.RawIOBase, Path(path).open("rb", buffering=0))


class ByteStream:
    """A file, a pipe or standard input, read from its start, decompressed by its first bytes.

    Args:
        name: Its name in errors; bytes that are not UTF-8 are escaped.
        max_expansion: Most decompressed bytes a compressed one; None: no limit.
        path: Where it is; None: at its name.
    """

    def __init__(
        self, name: str, max_expansion: int | None = MAX_EXPANSION, path: str | None = None
    ) -> None:
        self.name = name
        self._path = name if path is None else path
        self._max_expansion = max_expansion
        self._raw: CountingReader | None = None

    @property
    def total_bytes(self) -> int | None:
        """Size of the file in bytes; None for a pipe, standard input, and what is not there."""
        if is_read_once(self._path):
            return None
        try:
            return Path(self._path).stat().st_size
        except OSError:
            # Why it cannot be read is told where it is.
            return None

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, before decompression."""
        return self._raw.count if self._raw else 0

    @contextmanager
    def open(self, offset: int = 0) -> Iterator[io.BufferedReader]:
        """Yield the decompressed bytes from ``offset`` on.

        Reading raises DamagedStream where the stream breaks off; ``read1`` first gives all that
        comes before. The stream of a file that is not compressed can be sought.

        Raises:
            SourceNotFound: There is no such file.
            UnreadableSource: It cannot be opened.
        """
        raw = CountingReader(open_bytes(self._path))
        self._raw = raw
        expansion = Expansion(self.name, self._max_expansion, lambda: raw.count)
        opened = buffered(raw)
        try:
            with reading(self.name):
                stream = decompressed(opened, self.name, expansion)
                if not offset:
                    pass
                elif stream.seekable():
                    stream.seek(offset)
                    raw.count = raw.tell()
                else:
                    skip(stream, offset)
            yield stream
        finally:
            opened.close()


@contextmanager
def sought(stream: io.BufferedReader, name: str) -> Iterator[io.BufferedReader]:
    """Yield a stream that can be sought: the same, or a temporary file of its bytes.

    Raises:
        UnreadableSource: The temporary file cannot be written.
        DamagedStream: The bytes break off.
    """
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile(prefix="simstore-") as file:
        while data := stream.read1(BUFFER_BYTES):
            try:
                file.write(data)
            except OSError as error:
                reason = f"no temporary file of it can be written ({error.strerror})"
                raise UnreadableSource(name, reason) from None
        file.seek(0)
        yield cast(io.BufferedReader, file)


class _Unowned(io.RawIOBase):
    """A stream that stays open when this is closed, and cannot be sought."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: object) -> int | None:
        """Read what there is into a buffer; return how many bytes."""
        return self._file.readinto1(memoryview(buffer))  # type: ignore[arg-type]


def count_read(stream: io.BufferedReader, count: int) -> None:
    """Count bytes of a stream's file that another process has read."""
    if isinstance(stream.raw, CountingReader):
        stream.raw.count = max(stream.raw.count, count)


class CountingReader(io.RawIOBase):
    """Counts the bytes that are read from a file."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether it is a file."""
        return self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place in the file."""
        return self._file.seek(offset, whence)

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._file.fileno()

    def tell(self) -> int:
        """Return the place in the file."""
        return self._file.tell()

    def readinto(self, buffer: object) -> int:
        """Read into a buffer; return how many bytes."""
        count = self._file.readinto(memoryview(buffer))  # type: ignore[arg-type]
        self.count += count or 0
        return count or 0

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()


def skip(stream: io.BufferedReader, offset: int) -> None:
    """Skip a number of bytes, or to the end."""
    while offset > 0:
        skipped = len(stream.read1(min(offset, BUFFER_BYTES)))
        if not skipped:
            return
        offset -= skipped


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn errors of the operating system into errors that name the source.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read.
    """
    try:
        yield
    except FileNotFoundError:
        raise SourceNotFound(name) from None
    except IsADirectoryError:
        raise UnreadableSource(name, "it is a folder, not a file") from None
    except PermissionError:
        raise UnreadableSource(name, "no permission to read it") from None
    except OSError as error:
        raise UnreadableSource(name, error.strerror or printable(str(error))) from None
