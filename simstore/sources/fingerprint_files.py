"""Read fingerprint files: NumPy arrays, or text with one hexadecimal number a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simstore.errors import MalformedRecord, SourceNotFound, UnreadableSource, printable
from simstore.fingerprint.simhash import to_words, word_count
from simstore.sources.streams import STANDARD_INPUT, ByteStream

ARRAY_SUFFIX = ".npy"
# Fingerprints that are read at a time.
_BLOCK = 1 << 24
_LINES = 1 << 20
_HEXADECIMAL = re.compile(rb"(?:0[xX])?([0-9A-Fa-f]+)\Z")


def read_fingerprints(name: str, bits: int) -> Iterator[NDArray[np.uint64]]:
    """Yield the fingerprints of a file, in its order, some at a time.

    Args:
        name: A file that ends in ``.npy``: an array of uint64, shape (n,) up to 64 bits, or (n,
            words), the most significant word first. Any other, or ``-`` for standard input: text,
            a fingerprint in hexadecimal a line, perhaps compressed (gzip, zstd).
        bits: Fingerprint length M.

    Yields:
        Shape (n, ceil(M / 64)).

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read, or is no such array.
        MalformedRecord: A line is no fingerprint of at most M bits.
    """
    if name != STANDARD_INPUT and name.endswith(ARRAY_SUFFIX):
        yield from _of_array(name, bits)
    else:
        yield from _of_lines(name, bits)


def parse_fingerprint(text: str, bits: int) -> int | None:
    """Return a hexadecimal fingerprint of at most M bits as a number; None where it is none."""
    found = _HEXADECIMAL.match(text.strip().encode("utf-8", "replace"))
    value = int(found[1], 16) if found else -1
    return value if 0 <= value < 1 << bits else None


def _of_array(name: str, bits: int) -> Iterator[NDArray[np.uint64]]:
    try:
        found = np.load(Path(name), mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise SourceNotFound(name) from None
    except (OSError, ValueError, EOFError) as error:
        raise UnreadableSource(name, f"it is no NumPy array ({printable(str(error))})") from None
    if not isinstance(found, np.ndarray):
        found.close()
        raise UnreadableSource(name, "it is an archive of arrays; save one array alone, numpy.save")
    words = word_count(bits)
    shapes = [(words,)] if words > 1 else [(words,), ()]
    if found.dtype != np.uint64 or not found.ndim or found.shape[1:] not in shapes:
        wanted = "(n,) or (n, 1)" if words == 1 else f"(n, {words})"
        raise UnreadableSource(
            name,
            f"an array of {found.dtype}, shape {found.shape}; fingerprints of {bits} bits are "
            f"uint64, shape {wanted}",
        )
    for start in range(0, len(found), _BLOCK):
        block = np.array(found[start : start + _BLOCK]).reshape(-1, words)
        if bits % 64:
            wide = np.flatnonzero(block[:, 0] >> np.uint64(bits % 64))
            if len(wide):
                reason = f"more than {bits} bits"
                raise MalformedRecord(name, start + int(wide[0]), reason)
        yield block


def _of_lines(name: str, bits: int) -> Iterator[NDArray[np.uint64]]:
    values: list[int] = []
    with ByteStream(name).open() as stream:
        for number, line in enumerate(stream):
            text = line.strip()
            if not text:
                continue
            found = _HEXADECIMAL.match(text)
            if found is None:
                shown = printable(text[:40].decode("utf-8", "replace"))
                raise MalformedRecord(name, number, f"{shown!r} is no hexadecimal number")
            value = int(found[1], 16)
            if value >> bits:
                raise MalformedRecord(name, number, f"more than {bits} bits")
            values.append(value)
            if len(values) == _LINES:
                yield to_words(values, bits)
                values = []
    if values:
        yield to_words(values, bits)
