"""Read bytes through a reader, or a file through the registry."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simstore.model import Document, Rejection
from simstore.sources.files import open_sources
from simstore.sources.isolated import IsolatedReader
from simstore.sources.reader import ReadOptions, ReadRequest, SourceReader
from simstore.sources.source import Record


def read(reader: Callable[..., Any], data: bytes, **options: Any) -> list[Record]:
    return list(reader(io.BytesIO(data), "name", **options))


def read_file(path: Path, **options: Any) -> list[Record]:
    (source,), passed_over = open_sources([str(path)], ReadOptions(**options))
    assert passed_over == []
    return list(source.records())


def read_stream(
    reader: SourceReader | IsolatedReader,
    data: bytes,
    name: str = "name",
    position: int = 0,
    byte_offset: int = 0,
    **options: Any,
) -> list[Record]:
    """Read bytes with a reader, from a record on, as a source does."""
    stream = io.BufferedReader(io.BytesIO(data))
    stream.seek(0 if reader.needs_file else byte_offset)
    request = ReadRequest(name, position, byte_offset, ReadOptions(**options), data[:65_536])
    return list(reader.read(stream, request))


def check_goes_on_anywhere(
    reader: SourceReader | IsolatedReader, data: bytes, **options: Any
) -> list[Record]:
    """Read bytes from their start, and on from each record; return what they hold."""
    whole = read_stream(reader, data, **options)
    for count, record in enumerate(whole, start=1):
        after = (record.position or 0) + 1, record.end_offset or 0
        assert read_stream(reader, data, "name", *after, **options) == whole[count:]
    return whole


def documents(records: list[Record]) -> list[tuple[str, str]]:
    return [(one.key, one.text) for one in records if isinstance(one, Document)]


def rejections(records: list[Record]) -> list[tuple[int, int]]:
    """Return (position, byte offset) of what was rejected."""
    return [(one.position, one.byte_offset) for one in records if isinstance(one, Rejection)]


def reasons(records: list[Record]) -> list[str]:
    return [one.reason for one in records if isinstance(one, Rejection)]
