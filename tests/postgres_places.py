"""The suites of stores on PostgreSQL: each path of a store stands for a schema of a real server.

``pytest --backend postgresql`` runs the very tests that run on SQLite. What a test tells of the
file itself is marked ``sqlite`` and left out.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from postgres_servers import PostgresServer


class Places:
    """Where stores are, by the paths that tests give them.

    Args:
        server: A running server.
    """

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self._database = server.make_database()
        self._schemas: dict[str, str] = {}
        self._numbers = itertools.count()

    def url(self, path: str | os.PathLike[str]) -> str:
        """Return the URL of the store that a path stands for."""
        schema = self._schema(path)
        url = self.server.url(self._database)
        return f"{url}{'&' if '?' in url else '?'}options={quote(f'-csearch_path={schema}')}"

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

    def _schema(self, path: str | os.PathLike[str]) -> str:
        place = os.path.realpath(path)
        if place not in self._schemas:
            name = self._schemas[place] = f"s{next(self._numbers)}"
            self.server.execute(f"CREATE SCHEMA {name}", database=self._database)
        return self._schemas[place]


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
    from simstore.storage.engine import Database

    opens = Database.__init__

    def on_server(self: Database, place: Any, **options: Any) -> None:
        text = os.fspath(place)
        if "://" in text or "\0" in text or not text:
            opens(self, place, **options)
            return
        opens(self, places.url(text), **options)
        self.label = self._backend._label = text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "__init__", on_server)
        patch.setitem(_standing, "places", places)
        yield


# Where the paths of stores are in this test; nothing: they are files.
_standing: dict[str, Places] = {}


def is_on_server(path: Path) -> bool:
    """Return whether a path stands for a place on a server."""
    return "places" in _standing and "://" not in str(path)


@contextmanager
def raw_place(path: Path) -> Iterator[Any]:
    """Yield a store on the server as the driver gives it; what is changed is committed."""
    with _standing["places"].raw(path) as connection:
        yield connection
