"""Read bytes through a reader, or a file through the registry."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simstore.model import Document, Rejection
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.source import Record


def read(reader: Callable[..., Any], data: bytes, **options: Any) -> list[Record]:
    return list(reader(io.BytesIO(data), "name", **options))


def read_file(path: Path, **options: Any) -> list[Record]:
    (source,), passed_over = open_sources([str(path)], ReadOptions(**options))
    assert passed_over == []
    return list(source.records())


def documents(records: list[Record]) -> list[tuple[str, str]]:
    return [(one.key, one.text) for one in records if isinstance(one, Document)]


def rejections(records: list[Record]) -> list[tuple[int, int]]:
    """Return (position, byte offset) of what was rejected."""
    return [(one.position, one.byte_offset) for one in records if isinstance(one, Rejection)]


def reasons(records: list[Record]) -> list[str]:
    return [one.reason for one in records if isinstance(one, Rejection)]
