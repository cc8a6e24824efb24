"""The one seam where the database's errors become ours."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound

from simstore.errors import (
    CorruptStore,
    DatabaseBusy,
    DiskFull,
    NotAStore,
    ReadOnlyStore,
    StorageError,
    printable,
)
from simstore.storage.translate_postgres import driver_errors, from_postgres

_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 26
# The file under this name is not the one that was opened (SQLITE_READONLY_DBMOVED).
_MOVED = 1032
# Write, sync, truncate or shared-memory growth failed: what a full disk or a quota looks like.
_WRITE_FAILED = frozenset({778, 1034, 1546, 4874})


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise the fitting StorageError where the database raises its own.

    Args:
        path: The store, for the message.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(error, path) from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise _from_sqlite(error.orig, path) from error
        raise from_postgres(error.orig or error, path) from error
    except (MultipleResultsFound, NoResultFound) as error:
        # What the tables allow once only, damage may have doubled or taken away.
        raise CorruptStore(path, f"a table has not the one row that it should ({error})") from error
    except driver_errors() as error:
        raise from_postgres(error, path) from error


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


def gone(path: str) -> StorageError:
    """Return the error that a store's file was moved or deleted while it was open."""
    return StorageError(
        f"{printable(path)} is gone: its file was moved or deleted while it was open; "
        "put it back, or open it where it is"
    )


def _from_sqlite(error: sqlite3.Error, path: str) -> StorageError:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return StorageError(f"{path}: {error}")
    primary = code & 0xFF
    if primary in (_BUSY, _LOCKED):
        return DatabaseBusy(path)
    if primary == _FULL or code in _WRITE_FAILED:
        return DiskFull(path)
    if code == _MOVED:
        return gone(path)
    if primary == _READONLY:
        return ReadOnlyStore(path)
    if primary == _NOTADB:
        return NotAStore(path)
    if primary == _CANTOPEN:
        return NotAStore(path, "it cannot be opened (permissions, or a folder is missing)")
    if primary == _CORRUPT:
        return CorruptStore(path, f"the file is damaged ({error})")
    if primary == _IOERR:
        return StorageError(f"{path}: input/output error ({error})")
    return StorageError(f"{path}: {error}")
