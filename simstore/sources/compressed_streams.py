"""Compressed streams that follow each other in a file: none of them is passed over silently."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import Any

_READ_BYTES = 1 << 16
_Decompressor = bz2.BZ2Decompressor | lzma.LZMADecompressor


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
