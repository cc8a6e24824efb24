"""Connections to an SQLite file that are kept open between transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine

# Rows from which on a transaction is a large one.
_LARGE_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class LogPages:
    """Pages of a write-ahead log from which on it is copied into the file.

    A page of an index that many transactions change is then written to the file once: with long
    logs a large ingest writes a third less. A short log is soon written from its start again, and
    overwriting is synced in half the time of making a file longer.

    Attributes:
        large: At the end of a large transaction.
        small: At the end of a small one.
    """

    large: int
    small: int


@dataclass(slots=True)
class _Kept:
    """A connection, the driver's own, and its pages of a log; 0: not set yet."""

    connection: Connection
    driver: Any
    log_pages: int = 0


class UnloggedConnection(sqlite3.Connection):
    """A reader of a file as it stands (``immutable``): it sees no log, and no later commit.

    It serves one transaction, as a writer may come as soon as there is room or a right again.
    """


class ConnectionPool:
    """Gives out a connection a transaction, and takes it back.

    Transactions begin and end by the driver: SQLAlchemy's own take as long as a small one's
    statements. To SQLAlchemy such a connection is in one transaction for ever, of which it says
    nothing to the driver.

    Args:
        engine: Opens connections, on which the driver begins nothing by itself.
        begin: The statement that begins a transaction.
        log: For writers, how long the log gets.
    """

    def __init__(self, engine: Engine, begin: str, log: LogPages | None = None) -> None:
        self._engine = engine
        self._begin = begin
        self._log = log
        self._idle: list[_Kept] = []
        self._is_closed = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction; commit at the end, roll back on error."""
        try:
            kept = self._idle.pop()
        except IndexError:
            kept = self._open()
        driver = kept.driver
        try:
            rows = driver.total_changes
            driver.execute(self._begin)
            yield kept.connection
            if self._log is not None:
                self._set_log(kept, self._log, driver.total_changes - rows)
            driver.execute("COMMIT")
        except BaseException:
            # It may be the connection that failed.
            with suppress(sqlite3.Error):
                driver.rollback()
            kept.connection.close()
            raise
        if self._is_closed or isinstance(driver, UnloggedConnection):
            kept.connection.close()
        else:
            self._idle.append(kept)

    def close(self) -> None:
        """Give those back to the engine that are not in use, and those in use when they end."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().connection.close()

    def _open(self) -> _Kept:
        connection = self._engine.connect()
        connection.begin()
        return _Kept(connection, connection.connection.driver_connection)

    def _set_log(self, kept: _Kept, log: LogPages, rows: int) -> None:
        pages = log.large if rows >= _LARGE_ROWS else log.small
        if pages != kept.log_pages:
            kept.driver.execute(f"PRAGMA wal_autocheckpoint = {pages}")
            kept.log_pages = pages
