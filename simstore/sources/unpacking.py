"""Decompress streams: detect the format, limit the size, and name the source in errors.

Compressed streams that follow each other in a file are all read: none is passed over silently.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any, cast

from simstore.errors import UnreadableSource
from simstore.sources.source import LEAST_EXPANDED_BYTES

try:
    from compression import zstd
except ImportError:
    from backports import zstd

_READ_BYTES = 1 << 16
_Decompressor = bz2.BZ2Decompressor | lzma.LZMADecompressor
# What decompressing raises where the data is damaged.
DAMAGE = (OSError, zlib.error, zstd.ZstdError, lzma.LZMAError)
# What zipfile raises where an archive is damaged, encrypted, or packed in a way it does not know.
ZIP_DAMAGE = (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, *DAMAGE)
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# Bytes that tell whether a file is compressed.
MAGIC_BYTES = 10
BUFFER_BYTES = 1 << 20
_BZ2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")


class CompressedStreams(io.RawIOBase):
    """The decompressed bytes of all streams of a bzip2 or xz file, as several programs write them.

    Python's own classes take a stream that is damaged at its beginning, and all that follow it, for
    something that does not belong to the file, and leave it out without a word. Here only zeros
    may stand between streams and behind the last one, as xz pads its files and tapes do.

    Args:
        stream: The file.
        decompressor: Makes a decompressor of one stream.
    """

    def __init__(
        self, stream: io.BufferedReader, decompressor: Callable[[], _Decompressor]
    ) -> None:
        self._stream = stream
        self._new = decompressor
        self._current: _Decompressor | None = decompressor()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return how many bytes, 0 at the end.

        Raises:
            EOFError: The last stream breaks off.
            OSError: A stream is damaged, or what follows one is none.
            lzma.LZMAError: A stream of xz is damaged, or what follows one is none.
        """
        view = memoryview(buffer).cast("B")
        while self._current is not None:
            if self._current.eof:
                self._begin_next(self._current.unused_data)
                continue
            given = b""
            if self._current.needs_input and not (given := self._stream.read1(_READ_BYTES)):
                raise EOFError
            data = self._current.decompress(given, len(view))
            if data:
                view[: len(data)] = data
                return len(data)
        return 0

    def _begin_next(self, given: bytes) -> None:
        """Begin the stream that follows, if one does; zeros before it are passed over."""
        while not (given := given.lstrip(b"\x00")):
            given = self._stream.read1(_READ_BYTES)
            if not given:
                self._current = None
                return
        self._current = self._new()
        # What it makes of this comes with the next call.
        self._current.decompress(given, 0)


def bzip2_streams(stream: io.BufferedReader) -> io.BufferedReader:
    """Return the decompressed bytes of a bzip2 file."""
    return io.BufferedReader(CompressedStreams(stream, bz2.BZ2Decompressor))


def xz_streams(stream: io.BufferedReader) -> io.BufferedReader:
    """Return the decompressed bytes of an xz file."""
    return io.BufferedReader(CompressedStreams(stream, lzma.LZMADecompressor))


def compression(head: bytes) -> str | None:
    """Return the compression of a file as a file name suffix, by its first bytes; None: none."""
    if head.startswith(b"\x1f\x8b"):
        return ".gz"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return ".zst"
    if head.startswith(b"\xfd7zXZ\x00"):
        return ".xz"
    if head.startswith(b"BZh") and head[4:10] in _BZ2_BLOCKS:
        return ".bz2"
    return None


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
            unpacked = bzip2_streams(stream)
        case ".xz":
            unpacked = xz_streams(stream)
        case _:
            return stream
    return guarded(unpacked, name, expansion)


def guarded(
    unpacked: IO[bytes] | io.BufferedIOBase,
    name: str,
    expansion: Expansion,
    damage: tuple[type[Exception], ...] = DAMAGE,
) -> io.BufferedReader:
    """Return a stream of decompressed bytes whose damage shows as DamagedStream.

    Args:
        unpacked: What decompresses.
        name: The source's name, for errors.
        expansion: Counts the bytes.
        damage: What decompressing raises where the data is damaged.
    """
    return buffered(_Guarded(unpacked, name, expansion, damage))


def prefixed(
    head: bytes, rest: io.BufferedReader, damage: DamagedStream | None = None
) -> io.BufferedReader:
    """Return a stream from its start, of which ``head`` was read already, up to the damage."""
    return buffered(_Prefixed(head, rest, damage))


def buffered(raw: io.RawIOBase) -> io.BufferedReader:
    """Return a reader with a buffer."""
    return cast(io.BufferedReader, io.BufferedReader(raw, BUFFER_BYTES))


class _Guarded(io.RawIOBase):
    """A decompressed stream whose damage shows as DamagedStream."""

    def __init__(
        self,
        unpacked: IO[bytes] | io.BufferedIOBase,
        name: str,
        expansion: Expansion,
        damage: tuple[type[Exception], ...],
    ) -> None:
        # A member of an archive has read1 too.
        self._unpacked = cast(io.BufferedIOBase, unpacked)
        self._name = name
        self._expansion = expansion
        self._damage = damage

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
        except self._damage as error:
            reason = f"the compressed data is damaged ({' '.join(str(error).split())})"
            raise DamagedStream(self._name, reason) from None
        self._expansion.add(len(data))
        view[: len(data)] = data
        return len(data)


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
