"""Stores for tests: new ones, filled ones, raw access to their files."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from postgres_places import is_on_server, raw_store

from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.sources.reader import ReadOptions
from simstore.store import Store

SIMTOOL = SchemeChoice("simtool", bits=32, features=5)
WEB = SchemeChoice("web")
TEXTS = {
    "harbour": "The harbour was quiet; the boats, the boats came in.",
    "harbour copy": "The harbour was quiet; the boats, the boats came in.",
    "bread": "Mix flour, water and salt; let the dough rest.",
    "café": "Der Hafen schläft, das Brot ruht über Nacht.",
    "han": "船在黎明时进港，面包在夜里醒发。",
    "empty": "",
    "stone": "stone stone stone lamp lamp bridge",
}

_WORDS = ("river", "stone", "lamp", "harbour", "bridge", "boat", "field", "cloud", "letter", "hill")


def numbered_text(number: int) -> str:
    """Return a text of 29 words that no near number has."""
    return " ".join(f"{_WORDS[(number * k) % 10]}{number % (k + 5)}" for k in range(1, 30))


def create(folder: Path, scheme: SchemeChoice = WEB, **options: Any) -> Store:
    return Store.create(folder / "s.db", scheme=scheme, synchronous="normal", **options)


def filled(folder: Path, scheme: SchemeChoice = WEB, **options: Any) -> Store:
    """Open a store that holds the texts above."""
    if is_on_server(folder / "s.db"):
        store = create(folder, scheme, **options)
        store.add_many(TEXTS.items(), threads=1)
        return store
    (folder / "s.db").write_bytes(_filled_file(scheme, tuple(sorted(options.items()))))
    return Store.open(folder / "s.db", synchronous="normal")


@cache
def _filled_file(scheme: SchemeChoice, options: tuple[tuple[str, Any], ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with create(Path(folder), scheme, **dict(options)) as store:
            store.add_many(TEXTS.items(), threads=1)
        return (Path(folder) / "s.db").read_bytes()


def ingest(store: Store, path: Path, data: bytes | None = None, **options: Any) -> Any:
    """Write a file and ingest it."""
    if data is not None:
        path.write_bytes(data)
    reading = {"format", "max_document_bytes", "key_field", "text_field"}
    read = ReadOptions(**{name: options.pop(name) for name in reading & set(options)})
    return store.ingest([str(path)], read=read, options=IngestOptions(**options))


@contextmanager
def raw(folder: Path) -> Iterator[sqlite3.Connection]:
    """Yield the store's file as its driver gives it; the store must be closed."""
    with raw_store(folder / "s.db") as connection:
        yield connection


def rows(folder: Path, statement: str, *parameters: Any) -> list[Any]:
    with raw(folder) as connection:
        return connection.execute(statement, parameters).fetchall()
