"""Open, read and write a store in a PostgreSQL database.

Readers have a snapshot each and never wait. Writers take turns, by one advisory lock per store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import sqlalchemy
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from simstore.errors import (
    DatabaseUnreachable,
    InvalidParameter,
    MissingExtra,
    StorageError,
    StoreNotFound,
)
from simstore.storage.connection import Connection
from simstore.storage.dialects.protocol import (
    APPLICATION_ID,
    BUSY_SECONDS,
    SharedSnapshot,
    Synchronous,
)
from simstore.storage.tables import metadata

_DRIVER_NAME = "postgresql+psycopg"
# Spellings that other programs take, of the same thing.
_SHORT_NAMES = ("postgres", "postgresql")
# Older releases are no longer maintained.
MINIMUM_SERVER = 14
# A writer's turn ends with its transaction. A store is a schema.
_TAKE_TURN = (
    f"SELECT pg_advisory_xact_lock({APPLICATION_ID}, current_schema()::regnamespace::oid::int)"
)
_BYTES = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
    "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
)
_SNAPSHOT = re.compile(r"[0-9A-Fa-f-]{1,64}")


class PostgresServer:
    """A database of a PostgreSQL server.

    Args:
        url: Its URL.
        label: What messages call it: the URL without its password.
        synchronous: ``full``: a commit is written to the disk; ``normal``: it is soon.
        busy_seconds: How long to wait for other writers.
    """

    def __init__(
        self,
        url: URL,
        label: str,
        *,
        synchronous: Synchronous = "full",
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        if url.drivername in _SHORT_NAMES:
            url = url.set(drivername=_DRIVER_NAME)
        if url.drivername != _DRIVER_NAME:
            raise InvalidParameter(
                f"{label}: simstore speaks sqlite:// and {_DRIVER_NAME}://; "
                "give a path, one of these, or --server URL for a served store"
            )
        self._url = url
        self._label = label
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._writer: Engine | None = None
        self._reader: Engine | None = None

    def check_exists(self) -> None:
        """Raise StoreNotFound where the database holds no store."""
        with self.reading() as connection:
            found = connection.exec_driver_sql("SELECT to_regclass('alembic_version')").scalar()
        if found is None:
            raise StoreNotFound(self._label)

    @contextmanager
    def reading(self, snapshot: str | None = None, /) -> Iterator[Connection]:
        """Yield a connection with a snapshot: the latest, or one that another connection shares."""
        if self._reader is None:
            self._reader = self._engine("REPEATABLE READ", reads_only=True)
        with self._reader.begin() as connection:
            if snapshot is not None:
                # A statement that takes no parameters.
                if not _SNAPSHOT.fullmatch(snapshot):
                    raise InvalidParameter(f"{snapshot!r} is no name of a snapshot")
                connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            yield self._wrapped(connection)

    @contextmanager
    def sharing(self) -> Iterator[SharedSnapshot]:
        """Yield a snapshot that has a name."""
        with self.reading() as connection:

            def name() -> str:
                return str(connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one())

            yield SharedSnapshot(connection, name, lambda: True)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in the transaction of the one writer."""
        with self._write_engine().connect() as connection:
            connection.exec_driver_sql(_TAKE_TURN)
            try:
                yield self._wrapped(connection)
                connection.commit()
            except BaseException:
                # It may be the connection that failed.
                with suppress(DBAPIError):
                    connection.rollback()
                raise

    @contextmanager
    def outside(self) -> Iterator[Connection]:
        """Yield a connection that commits each statement."""
        engine = self._write_engine().execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            yield self._wrapped(connection)

    def _wrapped(self, connection: sqlalchemy.Connection) -> Connection:
        driver = connection.connection.driver_connection
        return Connection(driver, self._url.database or self._label, lambda _driver: connection)

    @property
    def can_write(self) -> bool:
        """Return True: the server says it when something is written."""
        return True

    def has_journal(self) -> bool:
        """Return False: the server sees to it."""
        return False

    def check_name(self) -> None:
        """Do nothing: a database server does not lose a database that is in use."""

    def stored_bytes(self) -> int:
        """Return the bytes of the tables and indexes in the store's schema."""
        with self.reading() as connection:
            return int(connection.exec_driver_sql(_BYTES).scalar_one())

    def vacuum(self) -> None:
        """Give unused space back: rewrite the tables of the store.

        Nobody can read a table while it is rewritten.
        """
        with self.outside() as connection:
            for table in metadata.tables:
                connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {table}")

    def close(self) -> None:
        """Close all connections."""
        for engine in (self._reader, self._writer):
            if engine is not None:
                engine.dispose()
        self.forget()

    def forget(self) -> None:
        """Forget all connections: they belong to another process."""
        self._reader = self._writer = None

    def _write_engine(self) -> Engine:
        if self._writer is None:
            # A snapshot from before the lock would not show what the previous writer committed.
            self._writer = self._engine("READ COMMITTED", reads_only=False)
        return self._writer

    def _engine(self, isolation_level: Any, *, reads_only: bool) -> Engine:
        try:
            # As many connections as there are threads that ask; each is asked whether it lives
            # before it is used again.
            engine = create_engine(
                self._url,
                max_overflow=-1,
                pool_pre_ping=True,
                isolation_level=isolation_level,
            )
        except ImportError:
            raise MissingExtra(f"the store {self._label}", "postgres") from None
        event.listen(engine, "do_connect", self._connect)
        event.listen(engine, "connect", partial(self._set_up, reads_only=reads_only))
        return engine

    def _connect(self, dialect: Any, _record: object, words: Any, options: Any) -> Any:
        """Open a connection, but for what Python itself refuses to look up."""
        try:
            return dialect.connect(*words, **options)
        except UnicodeError as error:
            raise DatabaseUnreachable(self._label, f"the host cannot be named ({error})") from error

    def _set_up(self, driver: Any, _record: object, *, reads_only: bool) -> None:
        """Check a new connection's server, and say how to treat it."""
        version = driver.info.server_version // 10_000
        if version < MINIMUM_SERVER:
            raise StorageError(
                f"{self._label}: PostgreSQL {version} is too old: simstore needs "
                f"{MINIMUM_SERVER} or newer; upgrade the server"
            )
        # To a server, 0 is for ever.
        waits = max(1, int(self._busy_seconds * 1_000))
        commit = "on" if self._synchronous == "full" else "off"
        driver.execute(
            f"SET lock_timeout = {waits}; "
            f"SET synchronous_commit = {commit}; SET client_encoding = 'UTF8'; "
            "SET application_name = 'simstore'; SET jit = off"
        )
        driver.commit()
        driver.read_only = reads_only
