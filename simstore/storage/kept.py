"""Connections to an SQLite file that are kept open between transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from sqlite3 import Error
from typing import Any

from sqlalchemy import Connection, Engine


class KeptConnections:
    """Gives out a connection a transaction, and takes it back.

    Transactions begin and end by the driver: SQLAlchemy's own take as long as a small one's
    statements. To SQLAlchemy such a connection is in one transaction for ever, of which it says
    nothing to the driver.

    Args:
        engine: Opens connections, on which the driver begins nothing by itself.
        begin: The statement that begins a transaction.
    """

    def __init__(self, engine: Engine, begin: str) -> None:
        self._engine = engine
        self._begin = begin
        self._idle: list[Connection] = []
        self._is_closed = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction; commit at the end, roll back on error."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._engine.connect()
            connection.begin()
        driver: Any = connection.connection.driver_connection
        try:
            driver.execute(self._begin)
            yield connection
            driver.execute("COMMIT")
        except BaseException:
            # It may be the connection that failed.
            with suppress(Error):
                driver.rollback()
            connection.close()
            raise
        if self._is_closed:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Give those back to the engine that are not in use, and those in use when they end."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()
