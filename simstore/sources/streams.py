"""Bytes of a file or of standard input, decompressed as they are read."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

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


class ByteStream:
    """A file or standard input, read from its start, decompressed by its first bytes.

    Args:
        name: Path, or ``-`` for standard input; bytes that are not UTF-8 are escaped.
        max_expansion: Most decompressed bytes a compressed one; None: no limit.
    """

    def __init__(self, name: str, max_expansion: int | None = MAX_EXPANSION) -> None:
        self.name = name
        self._max_expansion = max_expansion
        self._raw: _CountingReader | None = None

    @property
    def total_bytes(self) -> int | None:
        """Size of the file in bytes; None for standard input."""
        if self.name == STANDARD_INPUT:
            return None
        return Path(self.name).stat().st_size

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
        with reading(self.name):
            if self.name == STANDARD_INPUT:
                raw = _CountingReader(sys.stdin.buffer, owned=False)
            else:
                raw = _CountingReader(Path(self.name).open("rb", buffering=0), owned=True)  # noqa: SIM115
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


class _CountingReader(io.RawIOBase):
    """Counts the bytes that are read from a file."""

    def __init__(self, file: io.RawIOBase | io.BufferedIOBase | BinaryIO, *, owned: bool) -> None:
        self._file = file
        self._owned = owned
        self.count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether it is a file."""
        return self._owned and self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place in the file."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place in the file."""
        return self._file.tell()

    def readinto(self, buffer: object) -> int:
        count = self._file.readinto(memoryview(buffer))  # type: ignore[arg-type,union-attr]
        self.count += count or 0
        return count or 0

    def close(self) -> None:
        if self._owned and not self.closed:
            self._file.close()
        super().close()


def skip(stream: io.BufferedReader, offset: int) -> None:
    """Read over so many bytes, or to the end."""
    while offset > 0:
        skipped = len(stream.read1(min(offset, BUFFER_BYTES)))
        if not skipped:
            return
        offset -= skipped


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn the system's refusals into errors that name the source.

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
