"""Bytes of a file or of standard input, decompressed as they are read."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from simstore.errors import SourceNotFound, UnreadableSource, printable
from simstore.model import SourceState

try:
    from compression import zstd
except ImportError:
    from backports import zstd

STANDARD_INPUT = "-"
COMPRESSED_SUFFIXES = (".gz", ".zst")
_HEAD = 65_536
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def is_compressed(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of one that ByteStream decompresses."""
    return head[:2] == _GZIP_MAGIC or head[:4] == _ZSTD_MAGIC


class DamagedStream(UnreadableSource):
    """A stream breaks off or is damaged after some of it was read."""


class ByteStream:
    """A file or standard input, read from its start, decompressed by its first bytes.

    Args:
        name: Path, or ``-`` for standard input; bytes that are not UTF-8 are escaped.
    """

    def __init__(self, name: str) -> None:
        self.name = name
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

    def state(self, reader: str) -> SourceState:
        """Return what identifies the content, read by ``reader``."""
        if self.name == STANDARD_INPUT:
            return SourceState(None, None, b"", reader)
        with _reading(self.name), Path(self.name).open("rb") as file:
            head = file.read(_HEAD)
            status = Path(self.name).stat()
        digest = hashlib.blake2b(head, digest_size=16).digest()
        return SourceState(status.st_size, status.st_mtime_ns, digest, reader)

    @contextmanager
    def open(self, offset: int = 0) -> Iterator[io.BufferedReader]:
        """Yield the decompressed bytes from ``offset`` on.

        Reading raises DamagedStream where the stream breaks off; ``read1`` first gives all that
        comes before.

        Raises:
            SourceNotFound: There is no such file.
            UnreadableSource: It cannot be opened.
        """
        with _reading(self.name):
            if self.name == STANDARD_INPUT:
                raw = _CountingReader(sys.stdin.buffer, owned=False)
            else:
                raw = _CountingReader(Path(self.name).open("rb"), owned=True)  # noqa: SIM115
        self._raw = raw
        buffered = io.BufferedReader(raw, 1 << 20)
        try:
            with _reading(self.name):
                head = buffered.peek(4)[:4]
            stream: io.BufferedReader[Any] = buffered
            if head[:2] == _GZIP_MAGIC:
                unpacked = gzip.GzipFile(fileobj=buffered, mode="rb")
                stream = io.BufferedReader(_Guarded(unpacked, self.name), 1 << 20)
            elif head == _ZSTD_MAGIC:
                unpacked = zstd.ZstdFile(buffered, "rb")
                stream = io.BufferedReader(_Guarded(unpacked, self.name), 1 << 20)
            ready = cast(io.BufferedReader, stream)
            _skip(ready, offset)
            yield ready
        finally:
            buffered.close()


class _CountingReader(io.RawIOBase):
    """Counts the bytes that are read from a file."""

    def __init__(self, file: io.BufferedIOBase | BinaryIO, *, owned: bool) -> None:
        self._file = file
        self._owned = owned
        self.count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: object) -> int:
        count = self._file.readinto(memoryview(buffer))  # type: ignore[arg-type,union-attr]
        self.count += count or 0
        return count or 0

    def close(self) -> None:
        if self._owned and not self.closed:
            self._file.close()
        super().close()


class Prefixed(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: io.BufferedReader) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill the buffer from the head, then from the rest."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        if not self._head:
            return self._rest.readinto1(view)
        count = min(len(view), len(self._head))
        view[:count] = self._head[:count]
        self._head = self._head[count:]
        return count


class _Guarded(io.RawIOBase):
    """A decompressed stream whose damage shows as DamagedStream."""

    def __init__(self, unpacked: gzip.GzipFile | zstd.ZstdFile, name: str) -> None:
        self._unpacked = unpacked
        self._name = name

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        try:
            # What comes before the damage is given before the damage is told.
            data = self._unpacked.read1(len(view))
        except EOFError:
            raise DamagedStream(self._name, "the compressed data breaks off") from None
        except (OSError, zlib.error, zstd.ZstdError) as error:
            raise DamagedStream(self._name, f"the compressed data is damaged ({error})") from None
        view[: len(data)] = data
        return len(data)


def _skip(stream: io.BufferedReader, offset: int) -> None:
    while offset > 0:
        skipped = len(stream.read1(min(offset, 1 << 20)))
        if not skipped:
            return
        offset -= skipped


@contextmanager
def _reading(name: str) -> Iterator[None]:
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
