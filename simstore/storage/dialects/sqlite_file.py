"""Open, read and write a store in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import URL
from sqlalchemy.event import listen
from sqlalchemy.pool import ConnectionPoolEntry

from simstore.errors import NotAStore, StorageError, StoreNotFound
from simstore.storage.dialects.protocol import (
    APPLICATION_ID,
    BUSY_SECONDS,
    SharedSnapshot,
    Synchronous,
)
from simstore.storage.dialects.sqlite import TypedRows, gone, json_reader

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
class _PooledConnection:
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
        before_commit: Raises where nothing may be committed any more.
    """

    def __init__(
        self,
        engine: Engine,
        begin: str,
        log: LogPages | None = None,
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        self._engine = engine
        self._begin = begin
        self._log = log
        self._before_commit = before_commit
        self._idle: list[_PooledConnection] = []
        self._is_closed = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction; commit at the end, roll back on error."""
        try:
            pooled = self._idle.pop()
        except IndexError:
            pooled = self._open()
        driver = pooled.driver
        try:
            rows = driver.total_changes
            driver.execute(self._begin)
            yield pooled.connection
            if self._log is not None:
                self._set_log(pooled, self._log, driver.total_changes - rows)
            if self._before_commit is not None:
                self._before_commit()
            driver.execute("COMMIT")
        except BaseException:
            # It may be the connection that failed.
            with suppress(sqlite3.Error):
                driver.rollback()
            pooled.connection.close()
            raise
        if self._is_closed or isinstance(driver, UnloggedConnection):
            pooled.connection.close()
        else:
            self._idle.append(pooled)

    def empty_log(self) -> bool:
        """Copy the log into the file that an idle connection has open; return whether it is empty.

        No connection is opened for it: it might open another file of the same name.
        """
        try:
            pooled = self._idle.pop()
        except IndexError:
            return False
        driver = pooled.driver
        try:
            (patience,) = driver.execute("PRAGMA busy_timeout").fetchone()
            driver.execute(f"PRAGMA busy_timeout = {_EMPTYING_MILLISECONDS}")
            try:
                is_busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                driver.execute(f"PRAGMA busy_timeout = {patience}")
        except sqlite3.Error:
            is_busy = True
        finally:
            self._idle.append(pooled)
        return not is_busy

    def close(self) -> None:
        """Give those back to the engine that are not in use, and those in use when they end."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().connection.close()

    def _open(self) -> _PooledConnection:
        connection = self._engine.connect()
        connection.begin()
        return _PooledConnection(connection, connection.connection.driver_connection)

    def _set_log(self, pooled: _PooledConnection, log: LogPages, rows: int) -> None:
        pages = log.large if rows >= _LARGE_ROWS else log.small
        if pages != pooled.log_pages:
            pooled.driver.execute(f"PRAGMA wal_autocheckpoint = {pages}")
            pooled.log_pages = pages


MINIMUM_SQLITE = (3, 35, 0)
# What SQLite says where it cannot make its shared-memory file: no room, no right, read-only.
# (SQLITE_READONLY and SQLITE_CANTOPEN with all their kinds; SHMOPEN and SHMSIZE of IOERR.)
_NO_LOG_PRIMARY = frozenset({8, 14})
_NO_LOG = frozenset({4618, 4874})

# Of pages of 8 kB: 512 and 32 MB. What a log takes beyond its limit is given back. While pages of a
# log are synced, readers wait for the disk: the shorter it is, the shorter they do.
_LOG = LogPages(large=64_000, small=4_000)
_LOG_BYTES = 256 << 20
_WRITER_CACHE_KIB = 65_536
# How long a log is waited for that others read or write, when its file has lost its name.
_EMPTYING_MILLISECONDS = 1_000
# Where Linux shows the descriptors of this process.
_DESCRIPTORS = Path("/proc/self/fd")


class SqliteFile:
    """An SQLite file: many readers with a snapshot each, one writer.

    Args:
        given: The path as it was given.
        url: The URL of SQLAlchemy that names it.
        label: What messages call it.
        synchronous: ``full``: a commit survives a loss of power; ``normal``: it may not.
        busy_seconds: How long to wait for another writer.
        short_log: Keep the log short after large transactions, too: a large one takes longer, and
            readers beside it wait less for the disk.

    Raises:
        StorageError: SQLite is too old.
        InvalidParameter: The path is empty.
    """

    allows_concurrent_writers = False

    def __init__(
        self,
        given: Path,
        url: URL,
        label: str,
        *,
        synchronous: Synchronous = "full",
        busy_seconds: float = BUSY_SECONDS,
        short_log: bool = False,
    ) -> None:
        if sqlite3.sqlite_version_info < MINIMUM_SQLITE:
            raise StorageError(
                f"SQLite {sqlite3.sqlite_version} is too old: simstore needs "
                f"{'.'.join(map(str, MINIMUM_SQLITE))} or newer; use a newer Python"
            )
        # The file itself, wherever the process goes and whatever links lead to it.
        self.path = Path(os.path.realpath(given))
        self._url = url
        self._label = label
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._log = LogPages(_LOG.small, _LOG.small) if short_log else _LOG
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._writer_pool: ConnectionPool | None = None
        self._reader_pool: ConnectionPool | None = None
        # Device and number of the file that is open; None: none is.
        self._opened: tuple[int, int] | None = None
        # Whether the log was emptied since that file lost its name.
        self._has_emptied = False

    def check_exists(self) -> None:
        """Raise unless there is an SQLite database of ours.

        Raises:
            StoreNotFound: There is no file.
            NotAStore: It is something else.
        """
        try:
            is_file = self.path.is_file()
            size = self.path.stat().st_size if is_file else 0
        except OSError as error:
            raise NotAStore(self._label, error.strerror or str(error)) from error
        if not is_file:
            if os.path.exists(self.path):
                raise NotAStore(self._label, "it is not a file")
            raise StoreNotFound(self._label)
        if size == 0:
            raise NotAStore(self._label, "the file is empty")
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        if found != APPLICATION_ID:
            raise NotAStore(self._label)

    def reading(self, _snapshot: str | None = None, /) -> AbstractContextManager[Connection]:
        """Return the context of the latest snapshot: SQLite has no names for others."""
        if self._reader_pool is None:
            self._reader_pool = ConnectionPool(self._reading_engine(), "BEGIN")
        return self._reader_pool.transaction()

    @contextmanager
    def sharing(self) -> Iterator[SharedSnapshot]:
        """Yield a snapshot, and look beside it whether anything was committed since before it."""
        # A transaction has no snapshot before it reads.
        with self.reading() as connection, self._reading_engine().connect() as watcher:

            def version() -> tuple[int, ...]:
                if isinstance(watcher.connection.driver_connection, UnloggedConnection):
                    file = self.path.stat()
                    return file.st_mtime_ns, file.st_size, _has_journal(self.path)
                # It tells one connection whether others have committed.
                return (int(watcher.exec_driver_sql("PRAGMA data_version").scalar_one()),)

            first = version()
            yield SharedSnapshot(connection, lambda: None, lambda: version() == first)

    @contextmanager
    def writing(self, _claims: Sequence[int] | None = None, /) -> Iterator[Connection]:
        """Yield the connection of the one writer's transaction."""
        if self._writer_pool is None:
            self._writer_pool = ConnectionPool(
                self._write_engine(), "BEGIN IMMEDIATE", self._log, self._refuse_other_file
            )
        try:
            with self._writer_pool.transaction() as connection:
                yield connection
        except StorageError:
            self.check_name()
            raise

    def outside(self) -> AbstractContextManager[Connection]:
        """Return the context of a connection without a transaction."""
        return self._write_engine().connect()

    @property
    def can_write(self) -> bool:
        """Return whether file and folder may be written by this process."""
        return os.access(self.path, os.W_OK) and os.access(self.path.absolute().parent, os.W_OK)

    def has_journal(self) -> bool:
        """Return whether something is committed that is not in the file yet."""
        return _has_journal(self.path)

    def check_name(self) -> None:
        """Raise where the file that is open has lost its name to another, or altogether.

        When that is first seen the log is emptied into the file: it keeps its name, and SQLite
        takes it for the log of the file that is put there. Later it may be that one's indeed.
        """
        try:
            self._refuse_other_file()
        except StorageError:
            if not self._has_emptied:
                pools = (self._reader_pool, self._writer_pool)
                self._has_emptied = any(one.empty_log() for one in pools if one is not None)
            raise

    def _refuse_other_file(self) -> None:
        if self._opened is not None and _identity(self.path) != self._opened:
            raise gone(self._label)

    def stored_bytes(self) -> int:
        """Return the size of the file and its log."""
        files = [self.path.with_name(self.path.name + suffix) for suffix in ("", "-wal")]
        return sum(file.stat().st_size for file in files if file.exists())

    def vacuum(self) -> None:
        """Rewrite the file without its unused pages, and empty its log."""
        with self.outside() as connection:
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close all connections; the file then needs no other beside it."""
        for pool in (self._reader_pool, self._writer_pool):
            if pool is not None:
                pool.close()
        for engine in (self._reader, self._writer):
            if engine is not None:
                engine.dispose()
        self.forget()

    def forget(self) -> None:
        """Forget all connections: they belong to another process."""
        self._reader = self._writer = None
        self._reader_pool = self._writer_pool = None
        self._opened = None
        self._has_emptied = False

    def _reading_engine(self) -> Engine:
        if self._reader is None:
            self._reader = self._engine("ro")
        return self._reader

    def _write_engine(self) -> Engine:
        if self._writer is None:
            self._writer = self._engine("rw")
        return self._writer

    def _engine(self, mode: str) -> Engine:
        # As many connections as there are threads that ask.
        engine = create_engine(
            self._url,
            creator=self._connector(mode),
            max_overflow=-1,
            json_deserializer=json_reader(self._label),
        )
        listen(engine, "checkin", _drop_unlogged)
        return engine

    def _connector(self, mode: str) -> Callable[[], sqlite3.Connection]:
        path = self.path.absolute()

        def connect() -> sqlite3.Connection:
            # A reader that may write the file, and does not, can remove the log when it is the
            # last to close it.
            opened = "rw" if self.can_write else mode
            uri = f"file:{quote(os.fsencode(path))}?mode={opened}"
            if mode == "rw":
                connection = self._connect(uri)
                connection.execute(f"PRAGMA synchronous = {self._synchronous.upper()}")
                # A cache that holds what a transaction changes takes room only when it does so.
                connection.execute(f"PRAGMA wal_autocheckpoint = {self._log.large}")
                connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
                connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
                return connection
            try:
                connection = self._connect(uri)
            except sqlite3.OperationalError as error:
                code = error.sqlite_errorcode
                cannot_log = code in _NO_LOG or code & 0xFF in _NO_LOG_PRIMARY
                if not cannot_log or _has_journal(path):
                    raise
                # A reader of a WAL database makes a file beside it; as long as it cannot, nor can
                # a writer.
                uri = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
                connection = self._connect(uri, UnloggedConnection)
            connection.execute("PRAGMA query_only = ON")
            return connection

        return connect

    def _connect(
        self, uri: str, factory: type[sqlite3.Connection] = sqlite3.Connection
    ) -> sqlite3.Connection:
        identity = _identity(self.path)
        connection = sqlite3.connect(
            uri,
            factory=factory,
            uri=True,
            isolation_level=None,
            timeout=self._busy_seconds,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            # All connections are to one file: SQLite would open what has its name by now.
            self._opened = self._opened or identity
            self._refuse_other_file()
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -65536")
            # The first look at the file, so that what is wrong with it shows here.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except (sqlite3.Error, StorageError):
            connection.close()
            raise
        except UnicodeDecodeError as error:
            # The driver cannot decode a message that quotes a name of the schema.
            connection.close()
            damaged = sqlite3.DatabaseError("a name in its schema is not UTF-8")
            damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damaged from error
        connection.row_factory = TypedRows(self._label)
        return connection


def _drop_unlogged(driver: Any, record: ConnectionPoolEntry) -> None:
    """Close a connection without a log instead of keeping it: it would see no later commit."""
    if isinstance(driver, UnloggedConnection):
        record.invalidate()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and number of the file that has a name; None: none has it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _has_journal(path: Path) -> bool:
    journal = path.with_name(path.name + "-wal")
    return journal.exists() and journal.stat().st_size > 0


def has_open(path: Path, descriptors: Path = _DESCRIPTORS) -> bool:
    """Return whether this process has a file open; True where the system does not tell.

    It is not opened to find out: closing it again would take all of SQLite's locks away.

    Args:
        path: The file.
        descriptors: The folder in which Linux shows the descriptors of this process.
    """
    try:
        file = path.stat()
        names = os.listdir(descriptors)
    except OSError:
        return True
    for name in names:
        # The one of the listing itself is closed by now.
        with suppress(OSError, ValueError):
            opened = os.fstat(int(name))
            if (opened.st_dev, opened.st_ino) == (file.st_dev, file.st_ino):
                return True
    return False
