"""The dialect of a connection.

The only place, with :mod:`simstore.storage.engine`, that asks which database it is.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection

from simstore.storage.dialects.postgresql import PostgresDialect
from simstore.storage.dialects.protocol import Dialect
from simstore.storage.dialects.sqlite import SqliteDialect

_SQLITE, _POSTGRESQL = SqliteDialect(), PostgresDialect()


def forms_of(connection: Connection) -> Dialect:
    """Return how the database of a connection wants to be asked."""
    return _SQLITE if connection.dialect.name == "sqlite" else _POSTGRESQL


def sqlite_driver(connection: Connection) -> sqlite3.Connection | None:
    """Return SQLite's own connection; None: it is another database."""
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None
