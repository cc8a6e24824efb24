"""Open connections to a store's database, and translate its errors to simstore's."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from simstore.errors import (
    ClosedStore,
    CorruptStore,
    DiskFull,
    ForkedStore,
    InvalidParameter,
    ReadOnlyStore,
    SimstoreError,
    StorageError,
    printable,
    shown_place,
)
from simstore.storage.connection import Connection
from simstore.storage.dialects.protocol import (
    APPLICATION_ID,
    BUSY_SECONDS,
    Backend,
    SharedSnapshot,
    Synchronous,
)
from simstore.storage.dialects.sqlite import from_sqlite, gone
from simstore.storage.dialects.sqlite_file import SqliteFile

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

__all__ = [
    "APPLICATION_ID",
    "Connection",
    "Database",
    "SharedSnapshot",
    "Synchronous",
    "translated",
    "translated_files",
]


class Database:
    """The database of a store, and the connections to it.

    May be shared by threads: every transaction takes its own connection. May not be carried
    through a fork: connections do not survive one.

    Args:
        place: Path of an SQLite file, or an SQLAlchemy URL.
        read_only: Refuse to write.
        synchronous: ``full``: a commit survives a loss of power; ``normal``: it may not.
        busy_seconds: How long to wait for another writer.
        short_log: Keep the log of a file short after large transactions, too.
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        read_only: bool = False,
        synchronous: Synchronous = "full",
        busy_seconds: float = BUSY_SECONDS,
        short_log: bool = False,
    ) -> None:
        text = os.fspath(place)
        if "\0" in text:
            raise InvalidParameter("the path of the store holds a NUL; name another with --db")
        # A path needs nothing of SQLAlchemy.
        self.url = _url(text) if "://" in text else None
        self.given: Path | None = None
        if self.url is None:
            self.given = Path(text)
        elif self.url.get_backend_name() == "sqlite":
            self.given = Path(self.url.database or "")
        self.read_only = read_only
        self._process = os.getpid()
        self._has_ended = False
        self._backend: Backend
        if self.given is None and self.url is not None:
            self.path = None
            self.label = shown_place(text)
            from simstore.storage.dialects.postgres_server import PostgresServer

            self._backend = PostgresServer(
                self.url, self.label, synchronous=synchronous, busy_seconds=busy_seconds
            )
        elif self.given is not None:
            if not text:
                raise InvalidParameter("the path of the store is empty; name one with --db")
            self.label = printable(str(self.given))
            file = SqliteFile(
                self.given,
                self.label,
                synchronous=synchronous,
                busy_seconds=busy_seconds,
                short_log=short_log,
            )
            self._backend, self.path = file, file.path

    def check_exists(self) -> None:
        """Raise unless there is a store of ours.

        Raises:
            StoreNotFound: There is none.
            NotAStore: There is something else.
        """
        self._check_usable()
        with translated(self.label):
            self._backend.check_exists()

    @contextmanager
    def read(self, snapshot: str | None = None) -> Iterator[Connection]:
        """Yield a connection with one snapshot; nothing can be written through it.

        Args:
            snapshot: The name of one that another process shares; None: the latest.
        """
        self._check_usable()
        with translated(self.label), self._backend.reading(snapshot) as connection:
            yield connection

    @contextmanager
    def share(self, count: int) -> Iterator[SharedSnapshot]:
        """Yield a snapshot that a number of processes can read, this one among them."""
        if count == 1:
            with self.read() as connection:
                yield SharedSnapshot(connection, lambda: None, lambda: False)
            return
        self._check_usable()
        with translated(self.label), self._backend.sharing() as snapshot:
            yield snapshot

    @property
    def place(self) -> str:
        """The path or the URL, by which another process opens it."""
        if self.path is not None:
            return os.fsdecode(self.path)
        return "" if self.url is None else self.url.render_as_string(hide_password=False)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a writer's connection; commit at the end, roll back on error.

        Writers take turns.

        Raises:
            DatabaseBusy: Another writer was at work for longer than the time to wait.
        """
        self._check_writable()
        with translated(self.label), self._backend.writing() as connection:
            yield connection

    @contextmanager
    def autocommit(self) -> Iterator[Connection]:
        """Yield a connection without a transaction."""
        self._check_writable()
        with translated(self.label), self._backend.outside() as connection:
            yield connection

    def vacuum(self) -> None:
        """Give unused space back."""
        self._check_writable()
        with translated(self.label):
            self._backend.vacuum()

    @property
    def is_file(self) -> bool:
        """Return whether the store is a file that this process reads, and no server's database."""
        return self.given is not None

    @property
    def can_write(self) -> bool:
        """Return whether this process may write, as far as can be told before it does."""
        return self._backend.can_write

    def has_journal(self) -> bool:
        """Return whether something is committed that is not in the file yet."""
        return self._backend.has_journal()

    def check_name(self) -> None:
        """Raise StorageError where the file was moved, replaced or deleted while it is open."""
        self._check_usable()
        self._backend.check_name()

    def file_bytes(self) -> int:
        """Return the bytes that the store takes: the file with its log, or tables and indexes."""
        with translated(self.label):
            return self._backend.stored_bytes()

    def close(self) -> None:
        """Close all connections; a file then needs no other beside it."""
        if os.getpid() == self._process:
            with translated(self.label):
                self._backend.close()
        else:
            self._backend.forget()

    def end(self) -> None:
        """Close all connections for good: what is asked from now on raises ClosedStore."""
        self._has_ended = True
        self.close()

    def _check_writable(self) -> None:
        self._check_usable()
        if self.read_only or not self.can_write:
            if self.path is not None and not os.path.exists(self.path):
                raise gone(self.label)
            if self.read_only and self.can_write:
                raise ReadOnlyStore(self.label, "it was opened so: open it without read_only")
            raise ReadOnlyStore(self.label)

    def _check_usable(self) -> None:
        if self._has_ended:
            raise ClosedStore(self.label)
        if os.getpid() != self._process:
            raise ForkedStore


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise the fitting StorageError where the database raises its own.

    Args:
        path: The store, for the message.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise from_sqlite(error, path) from error
    except _sqlalchemy_errors("DBAPIError") as error:
        cause = getattr(error, "orig", None) or error
        if isinstance(cause, sqlite3.Error):
            raise from_sqlite(cause, path) from error
        raise _from_postgres(cause, path) from error
    except _sqlalchemy_errors("MultipleResultsFound", "NoResultFound") as error:
        # What the tables allow once only, damage may have doubled or taken away.
        raise CorruptStore(path, f"a table has not the one row that it should ({error})") from error
    except _postgres_errors() as error:
        raise _from_postgres(error, path) from error


@contextmanager
def translated_files(path: str) -> Iterator[None]:
    """Raise the fitting StorageError where the file system refuses.

    Args:
        path: The file that is written, for the message.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskFull(path) from error
        reason = error.strerror or str(error)
        raise StorageError(f"{path} cannot be written: {reason}; name another place") from error


def _url(text: str) -> URL:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(text)
    except (ArgumentError, ValueError) as error:
        raise InvalidParameter(f"{printable(text)} is no database URL ({error})") from None


def _sqlalchemy_errors(*names: str) -> tuple[type[Exception], ...]:
    """Return errors of SQLAlchemy; none where nothing has imported it."""
    errors = sys.modules.get("sqlalchemy.exc")
    return () if errors is None else tuple(getattr(errors, name) for name in names)


def _postgres_errors() -> tuple[type[Exception], ...]:
    """Return the errors of PostgreSQL's driver; none where nothing has imported it."""
    driver = sys.modules.get("psycopg")
    return () if driver is None else (driver.Error,)


def _from_postgres(error: BaseException, path: str) -> SimstoreError:
    from simstore.storage.dialects.postgresql import from_postgres

    return from_postgres(error, path)
