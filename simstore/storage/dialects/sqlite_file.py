"""Open, read and write a store in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import quote

from simstore.errors import NotAStore, StorageError, StoreNotFound
from simstore.storage.connection import Connection
from simstore.storage.dialects.protocol import (
    APPLICATION_ID,
    BUSY_SECONDS,
    SharedSnapshot,
    Synchronous,
)
from simstore.storage.dialects.sqlite import TypedRows, gone, json_reader
from simstore.version import EARLIER_APPLICATION_ID

if TYPE_CHECKING:
    import sqlalchemy

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
    """A connection, and its pages of a log; 0: not set yet."""

    connection: Connection
    log_pages: int = 0


class UnloggedConnection(sqlite3.Connection):
    """A reader of a file as it stands (``immutable``): it sees no log, and no later commit.

    It serves one transaction, as a writer may come as soon as there is room or a right again.
    """


class ConnectionPool:
    """Gives out a connection a transaction, and takes it back.

    Transactions begin and end by the driver: SQLAlchemy's own take as long as a small one's
    statements.

    Args:
        connect: Opens a connection, on which the driver begins nothing by itself.
        begin: The statement that begins a transaction.
        log: For writers, how long the log gets.
        before_commit: Raises where nothing may be committed any more.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        begin: str,
        log: LogPages | None = None,
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        self._connect = connect
        self._begin = begin
        self._log = log
        self._before_commit = before_commit
        self._idle: list[_PooledConnection] = []
        self._is_closed = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction; commit at the end, roll back on error."""
        pooled = self._take()
        driver = pooled.connection.driver
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
            self._put_back(pooled)
            raise
        self._put_back(pooled)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Yield a connection without a transaction."""
        pooled = self._take()
        try:
            yield pooled.connection
        finally:
            self._put_back(pooled)

    def _take(self) -> _PooledConnection:
        try:
            return self._idle.pop()
        except IndexError:
            return _PooledConnection(self._connect())

    def _put_back(self, pooled: _PooledConnection) -> None:
        driver = pooled.connection.driver
        if self._is_closed or isinstance(driver, UnloggedConnection) or not _is_at_rest(driver):
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
        driver = pooled.connection.driver
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
        """Close those that are not in use, and those in use when they end."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().connection.close()

    def _set_log(self, pooled: _PooledConnection, log: LogPages, rows: int) -> None:
        pages = log.large if rows >= _LARGE_ROWS else log.small
        if pages != pooled.log_pages:
            pooled.connection.driver.execute(f"PRAGMA wal_autocheckpoint = {pages}")
            pooled.log_pages = pages


def _is_at_rest(driver: sqlite3.Connection) -> bool:
    """Return whether a connection is open, and in no transaction."""
    try:
        return not driver.in_transaction
    except sqlite3.ProgrammingError:
        # SQLAlchemy closes one whose statement an interruption ended.
        return False


MINIMUM_SQLITE = (3, 35, 0)
# What SQLite says where it cannot make its shared-memory file: no room, no right, read-only.
# (SQLITE_READONLY and SQLITE_CANTOPEN with all their kinds; SHMOPEN and SHMSIZE of IOERR.)
_NO_LOG_PRIMARY = frozenset({8, 14})
_NO_LOG = frozenset({4618, 4874})

# Of pages of 8 kB: 512 and 32 MB. What a log takes beyond its limit is given back. While pages of a
# log are synced, readers wait for the disk: the shorter it is, the shorter they do.
_LOG = LogPages(large=64_000, small=4_000)
_LOG_BYTES = 256 << 20
_CACHE_KIB = 65_536
# How long a log is waited for that others read or write, when its file has lost its name.
_EMPTYING_MILLISECONDS = 1_000


class SqliteFile:
    """An SQLite file: many readers with a snapshot each, one writer.

    Args:
        given: The path as it was given.
        label: What messages call it.
        synchronous: ``full``: a commit survives a loss of power; ``normal``: it may not.
        busy_seconds: How long to wait for another writer.
        short_log: Keep the log short after large transactions, too: a large one takes longer, and
            readers beside it wait less for the disk.

    Raises:
        StorageError: SQLite is too old.
        InvalidParameter: The path is empty.
    """

    def __init__(
        self,
        given: Path,
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
        # Each transaction asks for them: as text, which takes a path some microseconds to become.
        self._file, self._folder = os.fspath(self.path), os.fspath(self.path.parent)
        self._label = label
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._log = LogPages(_LOG.small, _LOG.small) if short_log else _LOG
        # SQLAlchemy's, where a statement needs it.
        self._engine: AdoptingEngine | None = None
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
            NotAStore: It is something else, or the store of a build before 0.1.0.
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
            (found,) = connection.driver.execute("PRAGMA application_id").fetchone()
        if found == EARLIER_APPLICATION_ID:
            raise NotAStore.of_earlier_build(self._label)
        if found != APPLICATION_ID:
            raise NotAStore(self._label)

    def reading(self, _snapshot: str | None = None, /) -> AbstractContextManager[Connection]:
        """Return the context of the latest snapshot: SQLite has no names for others."""
        return self._readers().transaction()

    @contextmanager
    def sharing(self) -> Iterator[SharedSnapshot]:
        """Yield a snapshot, and look beside it whether anything was committed since before it."""
        # A transaction has no snapshot before it reads.
        with self.reading() as connection, self._readers().connection() as watcher:

            def version() -> tuple[int, ...]:
                if isinstance(watcher.driver, UnloggedConnection):
                    file = self.path.stat()
                    return file.st_mtime_ns, file.st_size, _has_journal(self.path)
                # It tells one connection whether others have committed.
                return (int(watcher.driver.execute("PRAGMA data_version").fetchone()[0]),)

            first = version()
            yield SharedSnapshot(connection, lambda: None, lambda: version() == first)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield the connection of the one writer's transaction."""
        try:
            with self._writers().transaction() as connection:
                yield connection
        except StorageError:
            self.check_name()
            raise

    def outside(self) -> AbstractContextManager[Connection]:
        """Return the context of a connection without a transaction."""
        return self._writers().connection()

    @property
    def can_write(self) -> bool:
        """Return whether file and folder may be written by this process."""
        return os.access(self._file, os.W_OK) and os.access(self._folder, os.W_OK)

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
        if self._opened is not None and _identity(self._file) != self._opened:
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
        self.forget()

    def forget(self) -> None:
        """Forget all connections: they belong to another process."""
        self._engine = None
        self._reader_pool = self._writer_pool = None
        self._opened = None
        self._has_emptied = False

    def _readers(self) -> ConnectionPool:
        if self._reader_pool is None:
            self._reader_pool = ConnectionPool(self._connector("ro"), "BEGIN")
        return self._reader_pool

    def _writers(self) -> ConnectionPool:
        if self._writer_pool is None:
            self._writer_pool = ConnectionPool(
                self._connector("rw"), "BEGIN IMMEDIATE", self._log, self._refuse_other_file
            )
        return self._writer_pool

    def _adopt(self, driver: sqlite3.Connection) -> sqlalchemy.Connection:
        if self._engine is None:
            self._engine = AdoptingEngine(self._label)
        return self._engine.adopt(driver)

    def _connector(self, mode: str) -> Callable[[], Connection]:
        """Return the function that opens a connection.

        Args:
            mode: ``ro``: it is only read; ``rw``: it is written, too.
        """
        path = self.path.absolute()

        def connect() -> sqlite3.Connection:
            # A reader that may write the file, and does not, can remove the log when it is the
            # last to close it.
            opened = "rw" if self.can_write else mode
            uri = f"file:{quote(os.fsencode(path))}?mode={opened}"
            if mode == "rw":
                connection = self._connect(uri)
                connection.execute(f"PRAGMA synchronous = {self._synchronous.upper()}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {self._log.large}")
                connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
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

        return lambda: Connection(connect(), self._label, self._adopt)

    def _connect(
        self, uri: str, factory: type[sqlite3.Connection] = sqlite3.Connection
    ) -> sqlite3.Connection:
        identity = _identity(self._file)
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
            # A cache that holds what a transaction changes takes room only when it does so.
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
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


class AdoptingEngine:
    """An engine of SQLAlchemy that works through connections which the driver has opened.

    To SQLAlchemy such a connection is in one transaction for ever, of which it says nothing to the
    driver.

    Args:
        label: The store, for messages.
    """

    def __init__(self, label: str) -> None:
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        self._lock = Lock()
        # SQLAlchemy asks the first connection what the database can do, and rolls it back.
        self._given = sqlite3.connect(":memory:", isolation_level=None)
        self._engine = create_engine(
            "sqlite://",
            creator=lambda: self._given,
            poolclass=NullPool,
            json_deserializer=json_reader(label),
        )
        self._engine.connect().close()

    def adopt(self, driver: sqlite3.Connection) -> sqlalchemy.Connection:
        """Return a connection of SQLAlchemy that works through one of the driver."""
        with self._lock:
            self._given = driver
            connection = self._engine.connect()
        connection.begin()
        return connection


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and number of the file that has a name; None: none has it."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _has_journal(path: Path) -> bool:
    journal = path.with_name(path.name + "-wal")
    return journal.exists() and journal.stat().st_size > 0
