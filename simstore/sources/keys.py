"""Read document keys from a file or standard input, one a line."""

from __future__ import annotations

from simstore.sources.streams import open_bytes, reading
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
    with open_bytes(name) as file, reading(name):
        data = file.readall()
    lines = (line.removesuffix(b"\r") for line in data.removeprefix(UTF8_BOM).split(b"\n"))
    return [line.decode("utf-8", "surrogateescape") for line in lines if line]
