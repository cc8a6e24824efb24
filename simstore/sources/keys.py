"""Keys from a file or standard input, one a line."""

from __future__ import annotations

import sys

from simstore.errors import SourceNotFound, UnreadableSource, printable
from simstore.sources.streams import STANDARD_INPUT
from simstore.text.decoding import UTF8_BOM


def read_keys(name: str) -> list[str]:
    """Return the keys of a file, or of standard input (``-``): one a line, blank lines left out.

    A UTF-8 byte order mark at the beginning is no part of the first key.

    What ``simstore list --format keys`` writes comes back as it was: bytes that are not UTF-8 are
    surrogate escapes.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read.
    """
    try:
        if name == STANDARD_INPUT:
            data = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                data = file.read()
    except FileNotFoundError:
        raise SourceNotFound(name) from None
    except OSError as error:
        raise UnreadableSource(printable(name), error.strerror or str(error)) from error
    lines = (line.removesuffix(b"\r") for line in data.removeprefix(UTF8_BOM).split(b"\n"))
    return [line.decode("utf-8", "surrogateescape") for line in lines if line]
