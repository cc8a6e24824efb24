"""Bytes of a file or of standard input, decompressed as they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from simstore.errors import SourceNotFound, UnreadableSource, printable
from simstore.sources.source import LEAST_EXPANDED_BYTES, MAX_EXPANSION

try:
    from compression import zstd
except ImportError:
    from backports import zstd

STANDARD_INPUT = "-"
# What decompressing raises where the data is damaged.
DAMAGE = (OSError, zlib.error, zstd.ZstdError, lzma.LZMAError)
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# Bytes that tell whether a file is compressed.
MAGIC_BYTES = 10
_BUFFER = 1 << 20
_BZ2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")


def compression(head: bytes) -> str | None:
    """Return how a file is compressed, as its ending would say, by its first bytes; None: not."""
    if head.startswith(b"\x1f\x8b"):
        return ".gz"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return ".zst"
    if head.startswith(b"\xfd7zXZ\x00"):
        return ".xz"
    if head.startswith(b"BZh") and head[4:10] in _BZ2_BLOCKS:
        return ".bz2"
    return None


def is_compressed(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of one that ByteStream decompresses.

    Args:
        head: ``MAGIC_BYTES`` of them, or the whole file.
    """
    return compression(head) is not None


class DamagedStream(UnreadableSource):
    """A stream breaks off or is damaged after some of it was read."""


class Expansion:
    """Counts decompressed bytes, and refuses more than a source of its size may become.

    Args:
        name: The source's name.
        most: Most decompressed bytes a compressed one, on the whole; None: no limit. Fewer than
            100 MB in all are never refused.
        compressed: Gives the compressed bytes that were read so far.
    """

    def __init__(self, name: str, most: int | None, compressed: Callable[[], int]) -> None:
        self._name = name
        self._most = most
        self._compressed = compressed
        self._count = 0

    def add(self, count: int) -> None:
        """Count bytes.

        Raises:
            DamagedStream: They are too many.
        """
        self._count += count
        if (
            self._most is not None
            and self._count > LEAST_EXPANDED_BYTES
            and self._count > self._most * self._compressed()
        ):
            raise DamagedStream(
                self._name,
                f"it expands to more than {self._most:,} times its size (--max-expansion)",
            )


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
        buffered = _buffered(raw)
        try:
            with reading(self.name):
                stream = decompressed(buffered, self.name, expansion)
                if not offset:
                    pass
                elif stream.seekable():
                    stream.seek(offset)
                    raw.count = raw.tell()
                else:
                    skip(stream, offset)
            yield stream
        finally:
            buffered.close()


def decompressed(stream: io.BufferedReader, name: str, expansion: Expansion) -> io.BufferedReader:
    """Return the stream, decompressed where its first bytes say that it is compressed.

    Args:
        stream: Bytes from the start.
        name: The source's name, for errors.
        expansion: Counts the decompressed bytes.
    """
    head = stream.peek(MAGIC_BYTES)[:MAGIC_BYTES]
    if 0 < len(head) < MAGIC_BYTES and not stream.seekable():
        # A pipe gives what it has.
        head = stream.read(MAGIC_BYTES)
        stream = prefixed(head, stream)
    unpacked: Any
    match compression(head):
        case ".gz":
            unpacked = gzip.GzipFile(fileobj=stream, mode="rb")
        case ".zst":
            unpacked = zstd.ZstdFile(stream, "rb")
        case ".bz2":
            unpacked = bz2.BZ2File(stream)
        case ".xz":
            unpacked = lzma.LZMAFile(stream)  # noqa: SIM115 - closed with what reads it
        case _:
            return stream
    return guarded(unpacked, name, expansion)


def guarded(
    unpacked: IO[bytes] | io.BufferedIOBase, name: str, expansion: Expansion
) -> io.BufferedReader:
    """Return a stream of decompressed bytes whose damage shows as DamagedStream."""
    return _buffered(_Guarded(unpacked, name, expansion))


def prefixed(
    head: bytes, rest: io.BufferedReader, damage: DamagedStream | None = None
) -> io.BufferedReader:
    """Return a stream from its start, of which ``head`` was read already, up to the damage."""
    return _buffered(_Prefixed(head, rest, damage))


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
        while data := stream.read1(_BUFFER):
            try:
                file.write(data)
            except OSError as error:
                reason = f"no temporary file of it can be written ({error.strerror})"
                raise UnreadableSource(name, reason) from None
        file.seek(0)
        yield cast(io.BufferedReader, file)


def _buffered(raw: io.RawIOBase) -> io.BufferedReader:
    return cast(io.BufferedReader, io.BufferedReader(raw, _BUFFER))


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


class _Prefixed(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: io.BufferedReader, damage: DamagedStream | None) -> None:
        self._head = memoryview(head)
        self._rest = rest
        self._damage = damage

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill the buffer from the head, then from the rest."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        if not self._head:
            if self._damage is not None:
                raise self._damage
            return self._rest.readinto1(view)
        count = min(len(view), len(self._head))
        view[:count] = self._head[:count]
        self._head = self._head[count:]
        return count


class _Guarded(io.RawIOBase):
    """A decompressed stream whose damage shows as DamagedStream."""

    def __init__(
        self, unpacked: IO[bytes] | io.BufferedIOBase, name: str, expansion: Expansion
    ) -> None:
        # A member of an archive has read1 too.
        self._unpacked = cast(io.BufferedIOBase, unpacked)
        self._name = name
        self._expansion = expansion

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
        except DamagedStream as error:
            # What it was made of is damaged.
            raise DamagedStream(self._name, error.reason) from None
        except DAMAGE as error:
            raise DamagedStream(self._name, f"the compressed data is damaged ({error})") from None
        self._expansion.add(len(data))
        view[: len(data)] = data
        return len(data)


def skip(stream: io.BufferedReader, offset: int) -> None:
    """Read over so many bytes, or to the end."""
    while offset > 0:
        skipped = len(stream.read1(min(offset, _BUFFER)))
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
