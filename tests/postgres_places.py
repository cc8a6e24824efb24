"""The suites of stores on PostgreSQL: each path of a store stands for a schema of a real server.

``pytest --backend postgresql`` runs the very tests that run on SQLite. What a test tells of the
file itself is marked ``sqlite`` and left out.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from postgres_schemas import Schemas


class Places:
    """Where stores are, by the paths that tests give them.

    Args:
        schemas: Of a running server.
    """

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas
        self._held: dict[str, str] = {}

    def url(self, path: str | os.PathLike[str]) -> str:
        """Return the URL of the store that a path stands for."""
        return self.schemas.server.url(self.schemas.database, schema=self._schema(path))

    @contextmanager
    def raw(self, path: Path) -> Iterator[Any]:
        """Yield the store as the driver gives it, with ``?`` for parameters."""
        import psycopg
        import psycopg.types.string

        plain = self.url(path).replace("+psycopg", "", 1)
        with psycopg.connect(plain) as connection:
            # As SQLite gives it: text.
            connection.adapters.register_loader("json", psycopg.types.string.TextLoader)
            yield _Raw(connection)

    def give_back(self, folder: Path | None = None) -> None:
        """Forget the stores in a folder, and in folders that are no longer there."""
        for place in list(self._held):
            parent = Path(place).parent
            if (folder is not None and parent.is_relative_to(folder)) or not parent.exists():
                self.schemas.give_back(self._held.pop(place))

    def _schema(self, path: str | os.PathLike[str]) -> str:
        place = os.path.realpath(path)
        if place not in self._held:
            self.give_back()
            self._held[place] = self.schemas.make()
        return self._held[place]


class _Raw:
    """A driver's connection that speaks as SQLite's does, as far as tests of damage need it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, parameters: Any = ()) -> Any:
        statement = re.sub(r"x'([0-9a-f]*)'", r"'\\x\1'::bytea", statement)
        statement = re.sub(r"zeroblob\((\d+)\)", r"decode(repeat('00', \1), 'hex')", statement)
        statement = statement.replace(" AS BLOB)", " AS BYTEA)").replace("?", "%s")
        return self._connection.execute(statement, parameters)

    def commit(self) -> None:
        self._connection.commit()


@contextmanager
def paths_are_on(places: Places) -> Iterator[None]:
    """Let each path of a store stand for a place on the server."""
    from simstore.storage import migrate
    from simstore.storage.engine import Database

    opens, makes = Database.__init__, migrate.create_tables

    def create_tables(connection: Any) -> None:
        if connection.is_sqlite or not places.schemas.put_tables(connection):
            makes(connection)

    def on_server(self: Database, place: Any, **options: Any) -> None:
        text = os.fspath(place)
        if "://" in text or "\0" in text or not text:
            opens(self, place, **options)
            return
        opens(self, places.url(text), **options)
        self.label = self._backend._label = text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "__init__", on_server)
        patch.setattr(migrate, "create_tables", create_tables)
        patch.setitem(_standing, "places", places)
        yield


# Where the paths of stores are in this test; nothing: they are files.
_standing: dict[str, Places] = {}


def stores_are_on_server() -> bool:
    """Return whether paths stand for places on a server."""
    return "places" in _standing


def is_on_server(path: Path) -> bool:
    """Return whether a path stands for a place on a server."""
    return stores_are_on_server() and "://" not in str(path)


def place_of(path: Path) -> str:
    """Return what another process calls the store of a path."""
    return _standing["places"].url(path) if is_on_server(path) else str(path)


def give_back(folder: Path | None) -> None:
    """Let other tests use the places of the stores in a folder."""
    _standing["places"].give_back(folder)


@contextmanager
def raw_store(path: Path) -> Iterator[Any]:
    """Yield a store, which is closed, as the driver gives it; what is changed is committed."""
    if is_on_server(path):
        with _standing["places"].raw(path) as connection:
            yield connection
        return
    with closing(sqlite3.connect(path)) as connection:
        yield connection
        connection.commit()
