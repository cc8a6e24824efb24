"""Connections: many readers with a snapshot each, one writer at a time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from simstore.errors import (
    ForkedStore,
    InvalidParameter,
    MissingExtra,
    NotAStore,
    ReadOnlyStore,
    StorageError,
    StoreNotFound,
    printable,
)
from simstore.storage.kept import KeptConnections, LogPages
from simstore.storage.translate import translated

__all__ = ["Connection", "Database", "Synchronous"]

APPLICATION_ID = 0x53494D53  # "SIMS"
MINIMUM_SQLITE = (3, 35, 0)
BUSY_SECONDS = 60.0
# What SQLite says where it cannot make its shared-memory file: no room, no right, read-only.
# (SQLITE_READONLY and SQLITE_CANTOPEN with all their kinds; SHMOPEN and SHMSIZE of IOERR.)
_NO_LOG_PRIMARY = frozenset({8, 14})
_NO_LOG = frozenset({4618, 4874})

# Of pages of 8 kB: 512 and 64 MB. What a log takes beyond its limit is given back.
_LOG = LogPages(large=64_000, small=8_000)
_LOG_BYTES = 256 << 20
_WRITER_CACHE_KIB = 131_072

Synchronous = Literal["full", "normal"]


class Database:
    """A place where a store is, and the connections to it.

    May be shared by threads: every transaction takes its own connection. May not be carried
    through a fork: SQLite connections do not survive one.

    Args:
        place: Path of an SQLite file, or an SQLAlchemy URL.
        read_only: Refuse to write.
        synchronous: ``full``: a commit survives a loss of power; ``normal``: it may not.
        busy_seconds: How long to wait for another writer.
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        read_only: bool = False,
        synchronous: Synchronous = "full",
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        text = os.fspath(place)
        if "\0" in text:
            raise InvalidParameter("the path of the store holds a NUL; name another with --db")
        self.given: Path | None = None
        if "://" in text:
            try:
                self.url = make_url(text)
            except (ArgumentError, ValueError) as error:
                raise InvalidParameter(f"{printable(text)} is no database URL ({error})") from None
            if self.url.get_backend_name() == "sqlite":
                self.given = Path(self.url.database or "")
        else:
            self.given = Path(text)
            self.url = URL.create("sqlite", database=printable(text))
        # The file itself, wherever the process goes and whatever links lead to it.
        self.path = Path(os.path.realpath(self.given)) if self.given else None
        self.label = printable(str(self.given)) if self.path else self.url.render_as_string()
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._process = os.getpid()
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._kept_writers: KeptConnections | None = None
        self._kept_readers: KeptConnections | None = None
        self.read_only = read_only
        if self.is_sqlite:
            if sqlite3.sqlite_version_info < MINIMUM_SQLITE:
                raise StorageError(
                    f"SQLite {sqlite3.sqlite_version} is too old: simstore needs "
                    f"{'.'.join(map(str, MINIMUM_SQLITE))} or newer; use a newer Python"
                )
            if not text or str(self.given) == ".":
                raise InvalidParameter("the path of the store is empty; name one with --db")

    @property
    def is_sqlite(self) -> bool:
        """Return whether the store is an SQLite file."""
        return self.path is not None

    def check_exists(self) -> None:
        """Raise unless there is an SQLite database of ours, or the place is a server.

        Raises:
            StoreNotFound: There is no file.
            NotAStore: It is something else.
        """
        if self.path is None:
            return
        try:
            is_file = self.path.is_file()
            size = self.path.stat().st_size if is_file else 0
        except OSError as error:
            raise NotAStore(self.label, error.strerror or str(error)) from error
        if not is_file:
            if self.path.exists():
                raise NotAStore(self.label, "it is not a file")
            raise StoreNotFound(self.label)
        if size == 0:
            raise NotAStore(self.label, "the file is empty")
        with self.read() as connection:
            found = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        if found != APPLICATION_ID:
            raise NotAStore(self.label)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection with one snapshot; nothing can be written through it."""
        with translated(self.label), self._read_connections() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection that holds the write lock; commit at the end, roll back on error.

        Raises:
            DatabaseBusy: Another writer held the lock for longer than the time to wait.
        """
        self._check_writable()
        with translated(self.label), self._write_connections() as connection:
            if not self.is_sqlite:
                # Writers take turns, as they do on SQLite.
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})")
            yield connection

    @contextmanager
    def autocommit(self) -> Iterator[Connection]:
        """Yield a connection without a transaction, for VACUUM and the like."""
        self._check_writable()
        engine = self._write_engine()
        if not self.is_sqlite:
            engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        with translated(self.label), engine.connect() as connection:
            yield connection

    def _check_writable(self) -> None:
        if self.read_only or not self.can_write:
            raise ReadOnlyStore(self.label)

    @property
    def can_write(self) -> bool:
        """Return whether file and folder may be written by this process."""
        return self.path is None or (
            os.access(self.path, os.W_OK) and os.access(self.path.absolute().parent, os.W_OK)
        )

    def has_journal(self) -> bool:
        """Return whether something is committed that is not in the file yet."""
        return self.path is not None and _has_journal(self.path)

    def file_bytes(self) -> int:
        """Return the size of the file and its log; 0 for a server."""
        if self.path is None:
            return 0
        files = [self.path.with_name(self.path.name + suffix) for suffix in ("", "-wal")]
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close all connections; the file then needs no other beside it."""
        if os.getpid() == self._process:
            with translated(self.label):
                for kept in (self._kept_readers, self._kept_writers):
                    if kept is not None:
                        kept.close()
                for engine in (self._reader, self._writer):
                    if engine is not None:
                        engine.dispose()
        self._reader = self._writer = None
        self._kept_readers = self._kept_writers = None

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise ForkedStore

    def _write_connections(self) -> AbstractContextManager[Connection]:
        """Return the context of a writer's transaction."""
        self._check_process()
        if not self.is_sqlite:
            return self._write_engine().begin()
        if self._kept_writers is None:
            self._kept_writers = KeptConnections(self._write_engine(), "BEGIN IMMEDIATE", _LOG)
        return self._kept_writers.transaction()

    def _read_connections(self) -> AbstractContextManager[Connection]:
        """Return the context of a snapshot."""
        self._check_process()
        if self._reader is None:
            self._reader = self._make_engine("ro")
        if not self.is_sqlite:
            return self._reader.begin()
        if self._kept_readers is None:
            self._kept_readers = KeptConnections(self._reader, "BEGIN")
        return self._kept_readers.transaction()

    def _write_engine(self) -> Engine:
        self._check_process()
        if self._writer is None:
            self._writer = self._make_engine("rw")
        return self._writer

    def _make_engine(self, mode: str) -> Engine:
        if self.path is None:
            level: Any = "REPEATABLE READ" if mode == "ro" else "READ COMMITTED"
            try:
                return create_engine(self.url, isolation_level=level, max_overflow=-1)
            except NoSuchModuleError:
                raise InvalidParameter(
                    f"{self.label}: simstore speaks sqlite:// and postgresql+psycopg://"
                ) from None
            except ImportError:
                raise MissingExtra(f"the store {self.label}", "postgres") from None
        # As many connections as there are threads that ask.
        return create_engine(self.url, creator=self._connector(mode), max_overflow=-1)

    def _connector(self, mode: str) -> Callable[[], sqlite3.Connection]:
        if self.path is None:
            raise StorageError(f"{self.label} is no file")
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
                connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG.large}")
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
                # A reader of a WAL database makes a file beside it; where it cannot, nor can a
                # writer, so nobody changes the store meanwhile.
                connection = self._connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1")
            connection.execute("PRAGMA query_only = ON")
            return connection

        return connect

    def _connect(self, uri: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri,
            uri=True,
            isolation_level=None,
            timeout=self._busy_seconds,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -65536")
            # The first look at the file, so that what is wrong with it shows here.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _has_journal(path: Path) -> bool:
    journal = path.with_name(path.name + "-wal")
    return journal.exists() and journal.stat().st_size > 0
