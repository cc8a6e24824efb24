"""What is asked of the database: the statements and transactions of all connections."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from postgres_places import stores_are_on_server
from sqlalchemy import Connection, Engine, event

from simstore.storage.dialects.sqlite_file import SqliteFile

Heard = list[str]

_WRITER, _READER = "BEGIN IMMEDIATE", "BEGIN"


def writers(heard: Heard) -> int:
    """Return how many transactions of writers have begun."""
    return sum(one.strip() == _WRITER for one in heard)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """Return the statements that all connections run from now on."""
    statements: Heard = []
    if stores_are_on_server():
        with _of_server(monkeypatch, statements):
            yield statements
        return
    connect: Callable[..., sqlite3.Connection] = SqliteFile._connect

    def traced(file: SqliteFile, uri: str) -> sqlite3.Connection:
        connection = connect(file, uri)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(SqliteFile, "_connect", traced)
    yield statements


@contextmanager
def _of_server(monkeypatch: pytest.MonkeyPatch, statements: Heard) -> Iterator[None]:
    import psycopg

    for name in ("execute", "executemany"):
        asks = getattr(psycopg.Cursor, name)

        def asked(cursor: Any, query: Any, *given: Any, _asks: Any = asks, **options: Any) -> Any:
            statements.append(query.decode() if isinstance(query, bytes) else str(query))
            return _asks(cursor, query, *given, **options)

        monkeypatch.setattr(psycopg.Cursor, name, asked)

    def begun(connection: Connection) -> None:
        level = connection.get_isolation_level()
        if level != "AUTOCOMMIT":
            statements.append(_READER if level == "REPEATABLE READ" else _WRITER)

    event.listen(Engine, "begin", begun)
    try:
        yield
    finally:
        event.remove(Engine, "begin", begun)
