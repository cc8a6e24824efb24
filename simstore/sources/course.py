"""The course tool's other two files: stop words and the hash table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.sources.streams import ByteStream


def read_file(path: str | Path) -> bytes:
    """Return a whole file.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read.
    """
    with ByteStream(str(path)).open() as stream:
        return stream.read()


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
    regular = _regular_rows(data, features, bits)
    if regular is not None:
        return regular
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if len(lines) < features:
        raise InvalidParameter(
            f"{path}, line {len(lines) + 1}: missing; N = {features} features need as many rows, "
            f"the file has {len(lines)} (`simstore init --scheme simtool -N ...` takes fewer)"
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


def _regular_rows(data: bytes, features: int, bits: int) -> NDArray[np.uint8] | None:
    """Return the rows of a table whose lines are all as long as the first; None: another one."""
    length = data.find(b"\n") + 1
    if not bits < length or features * length > len(data):
        return None
    table = np.frombuffer(data, np.uint8, features * length).reshape(features, length)
    digits = table[:, : length - 1] - np.uint8(ord("0"))
    if (table[:, -1] != ord("\n")).any() or (digits > 1).any():
        return None
    return np.ascontiguousarray(digits[:, :bits])
