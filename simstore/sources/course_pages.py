"""An article file as one array of bytes, and where its pages stand: for big files."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import Kernel
from simstore.sources.streams import ByteStream, is_compressed
from simstore.text.scanning import PADDING

_FORM_FEED = np.uint8(0x0C)
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class CoursePages:
    """The pages of an article file, as :func:`~.articles.read_articles` yields them.

    Attributes:
        data: All bytes of the file, and after them some that separate words; uint8.
        keys: First byte of each page's key, and the byte after it; int64, shape (pages, 2).
        bodies: The same of each page's text; the byte after it separates words.
    """

    data: NDArray[np.uint8]
    keys: NDArray[np.int64]
    bodies: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    def key(self, page: int) -> str:
        """Return the key of a page."""
        first, end = self.keys[page]
        return self.data[first:end].tobytes().decode("utf-8", "surrogateescape")


def read_pages(path: Path, threads: ThreadPoolExecutor) -> CoursePages:
    """Read a whole article file.

    Args:
        path: The file.
        threads: Read it, a piece each.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read, or breaks off.
    """
    with ByteStream(str(path)).open() as opened:
        if not _is_plain(path):
            data, size = _unpacked(opened)
            feeds = [_form_feeds(data, start, size) for start in range(0, size, _PIECE)]
        else:
            size = path.stat().st_size
            data = np.empty(size + PADDING, np.uint8)
            with path.open("rb", buffering=0) as file:
                fill = partial(_filled, file.fileno(), data, size)
                feeds = list(threads.map(fill, range(0, size, _PIECE)))
    data[size:] = _FORM_FEED
    ends = np.concatenate((*feeds, [size])).astype(np.int64)
    keys, bodies = _PAGES(data, ends)
    return CoursePages(data, keys, bodies)


def _is_plain(path: Path) -> bool:
    """Return whether a path is a regular file that is not compressed."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return not is_compressed(file.read(4))


def _filled(file: int, data: NDArray[np.uint8], size: int, start: int) -> NDArray[np.int64]:
    """Read a piece of a file to its place; return the form feeds in it."""
    place, end = start, min(start + _PIECE, size)
    while place < end:
        count = os.preadv(file, [data[place:end].data], place)
        if not count:
            # It has become shorter since; what is gone separates pages.
            data[place:end] = _FORM_FEED
            break
        place += count
    return _form_feeds(data, start, size)


def _form_feeds(data: NDArray[np.uint8], start: int, size: int) -> NDArray[np.int64]:
    return start + np.flatnonzero(data[start : min(start + _PIECE, size)] == _FORM_FEED)


def _unpacked(opened: BufferedReader) -> tuple[NDArray[np.uint8], int]:
    """Return all bytes of a stream, with PADDING more; and how many are the stream's."""
    data = np.empty(_PIECE, np.uint8)
    size = 0
    while count := opened.readinto(data[size : len(data) - PADDING].data):
        size += count
        if size == len(data) - PADDING:
            longer = np.empty(2 * len(data), np.uint8)
            longer[:size] = data[:size]
            data = longer
    return data[: size + PADDING], size


def _is_blank(byte: Any) -> Any:
    return byte == 0x20 or 0x09 <= byte <= 0x0D


def _find_pages(data: Any, ends: Any) -> Any:
    """Return where the key and the body of each page stand; ``ends`` has the form feeds."""
    keys = np.empty((len(ends), 2), np.int64)
    bodies = np.empty((len(ends), 2), np.int64)
    count = 0
    start = 0
    for number in range(len(ends)):
        end = ends[number]
        place = start
        start = end + 1
        while place < end and _is_blank(data[place]):
            place += 1
        if place == end:
            continue
        line_end = place
        while line_end < end and data[line_end] != 0x0A and data[line_end] != 0x0D:
            line_end += 1
        key_end = line_end
        while data[key_end - 1] == 0x20 or data[key_end - 1] == 0x09:
            key_end -= 1
        body = min(line_end + 1, end)
        if body < end and data[line_end] == 0x0D and data[body] == 0x0A:
            body += 1
        keys[count, 0] = place
        keys[count, 1] = key_end
        bodies[count, 0] = body
        bodies[count, 1] = end
        count += 1
    return keys[:count].copy(), bodies[:count].copy()


_PAGES = Kernel(
    _find_pages,
    ["Tuple((int64[:, ::1], int64[:, ::1]))(uint8[::1], int64[::1])"],
    parts=[_is_blank],
)
