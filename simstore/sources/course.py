"""Read the input files of ``simtool``: articles (as one byte array), stop words, a hash table."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, printable
from simstore.sources.streams import ByteStream
from simstore.text.decoding import UTF8_BOM

log = logging.getLogger("simstore")

_FORM_FEED = re.compile(rb"\f")
# White space, form feeds too, then the first line: its blanks at the end are not of the key.
_HEAD = re.compile(rb"[ \t-\r]*+([^\n\f\r]*[^\n\f\r \t])[ \t]*+(?:\r\n?|\n)?")
_BLANK = b" "
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class CoursePages:
    """Consecutive pages of a file, as :func:`~.articles.read_articles` yields them.

    Attributes:
        keys: The key of each page.
        bodies: First byte of each page's text, int64; it ends where the next key begins. The
            bytes of the keys and all that stands between a text and the next separate words.
    """

    keys: list[bytes]
    bodies: NDArray[np.int64]


def read_bytes(path: Path, padding: int) -> tuple[NDArray[np.uint8], int]:
    """Read a whole file, decompressed; blanks replace a byte order mark, which is reported.

    Args:
        path: The file.
        padding: Bytes to have after the last at least; they are 0.

    Returns:
        The bytes, of which there are a multiple of eight; and how many are the file's.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read, or breaks off.
    """
    stream = ByteStream(str(path))
    with stream.open() as opened:
        data, size = _whole(opened, padding, stream.total_bytes or 0)
    if data[: len(UTF8_BOM)].tobytes() == UTF8_BOM:
        report_mark(str(path))
        data[: len(UTF8_BOM)] = ord(_BLANK)
    return data, size


def report_mark(name: str) -> None:
    """Log that the byte order mark of a file was skipped."""
    log.warning("%s: skipped the byte order mark (UTF-8 BOM) at its start", printable(name))


def part_ends(data: NDArray[np.uint8], size: int, count: int) -> list[int]:
    """Return offsets that cut a file into about so many parts of similar length.

    Returns:
        0, the places of some form feeds, and the size, ascending.
    """
    ends = [0]
    for part in range(1, count):
        feed = _FORM_FEED.search(data.data, max(size * part // count, ends[-1] + 1), size)
        if feed:
            ends.append(feed.start())
    return [*ends, size]


def take_pages(data: NDArray[np.uint8], first: int, end: int) -> CoursePages:
    """Find the pages of a part of a file, and overwrite their keys with blanks.

    Args:
        data: The bytes of the file.
        first: The part begins here.
        end: The byte after it; a form feed, or the file has ended.
    """
    keys: list[bytes] = []
    bodies: list[int] = []
    buffer = data.data
    while head := _HEAD.match(buffer, first, end):
        key = head[1]
        key_first, key_end = head.span(1)
        buffer[key_first:key_end] = _BLANK * len(key)
        first = head.end()
        keys.append(key)
        bodies.append(first)
        feed = _FORM_FEED.search(buffer, first, end)
        if feed is None:
            break
        first = feed.end()
    return CoursePages(keys, np.array(bodies, np.int64))


def _whole(opened: BufferedReader, padding: int, expected: int) -> tuple[NDArray[np.uint8], int]:
    data = np.empty(max(expected + padding + 8, _PIECE), np.uint8)
    size = 0
    while count := opened.readinto(data[size:].data):
        size += count
        if size + padding + 7 >= len(data):
            longer = np.empty(2 * len(data), np.uint8)
            longer[:size] = data[:size]
            data = longer
    data = data[: (size + padding + 7) // 8 * 8]
    data[size:] = 0
    return data, size


def read_file(path: str | Path) -> bytes:
    """Return a whole file without its byte order mark, which is reported.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read.
    """
    with ByteStream(str(path)).open() as stream:
        data = stream.read()
    if data.startswith(UTF8_BOM):
        report_mark(str(path))
    return data.removeprefix(UTF8_BOM)


def read_stopwords(path: str | Path) -> frozenset[bytes]:
    """Return the words of a file, separated by white space, ASCII letters lower-cased."""
    return frozenset(read_file(path).lower().split())


def read_hash_table(path: str | Path, features: int, bits: int) -> NDArray[np.uint8]:
    """Return the first rows of a table with one row of ``0`` and ``1`` a line.

    Args:
        path: The file.
        features: Rows that are needed.
        bits: Characters of each row that are needed.

    Returns:
        0 or 1, uint8, shape (features, bits).

    Raises:
        InvalidParameter: A row is missing, too short, or has another character; names the line.
    """
    data = read_file(path)
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if len(lines) < features:
        raise InvalidParameter(
            f"{path}, line {len(lines) + 1}: missing; N = {features} features need as many rows, "
            f"the file has {len(lines)}: choose an N of {len(lines)} at most"
        )
    rows = np.empty((features, bits), np.uint8)
    for number in range(features):
        line = lines[number].rstrip(b" \t\r")
        if line.strip(b"01"):
            column = len(line) - len(line.lstrip(b"01")) + 1
            raise InvalidParameter(
                f"{path}, line {number + 1}, column {column}: only 0 and 1 may stand there"
            )
        if len(line) < bits:
            raise InvalidParameter(
                f"{path}, line {number + 1}: {len(line)} bits; M = {bits} needs at least as many"
            )
        rows[number] = np.frombuffer(line[:bits], np.uint8) - ord("0")
    return rows
