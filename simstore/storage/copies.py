"""Copy an SQLite store page by page, and check the copy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from simstore.outputs import journals_of, make_private
from simstore.storage.engine import APPLICATION_ID, Database, translated
from simstore.version import EARLIER_APPLICATION_ID

_COPIED_PAGES = 4_096


def copy(
    database: Database, target: Path, on_progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy a store into a new file as of one moment, while others read and write it.

    Args:
        database: The store.
        target: The new file.
        on_progress: Called with pages copied and in all.
    """

    def tell(_status: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress(total - remaining, total)

    with database.read() as connection, translated(str(target)):
        driver = connection.driver
        if not isinstance(driver, sqlite3.Connection):
            raise TypeError("only SQLite stores can be copied so")
        make_private(target)
        with closing(sqlite3.connect(os.fsencode(target))) as copied:
            # The snapshot of this connection is copied, whatever is written meanwhile.
            driver.execute("SELECT count(*) FROM sqlite_master").fetchone()
            driver.backup(copied, pages=_COPIED_PAGES, progress=tell)


def is_in_use(path: Path) -> bool:
    """Return whether a connection to a store in WAL mode is open, in whichever process.

    Each of them holds a shared lock on the file as long as it is open (SQLite, "Write-Ahead
    Logging", "Use of WAL Without Shared-Memory"), so that an exclusive one cannot be had.

    Args:
        path: A store, or any other file.
    """
    return path.exists() and _locking_error(path) == sqlite3.SQLITE_BUSY


def is_free(path: Path) -> bool:
    """Return whether no process has a store open; False where that cannot be told.

    Args:
        path: The store.
    """
    return path.exists() and _locking_error(path) is None


def _locking_error(path: Path) -> int | None:
    """Return the error code with which SQLite refuses an exclusive lock; None: it gives one."""
    try:
        with closing(sqlite3.connect(os.fsencode(path), timeout=0)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except UnicodeDecodeError:  # of a message that quotes a name of the schema
        return sqlite3.SQLITE_CORRUPT
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return None


def settle(path: Path) -> None:
    """Write the contents of a file's journals into it, so that it is complete without them.

    What cannot be read by SQLite is left as it is.

    Args:
        path: A store, or any other file.
    """
    if not path.exists() or not any(one.exists() for one in journals_of(path)):
        return
    with (
        suppress(sqlite3.Error, UnicodeDecodeError),
        closing(sqlite3.connect(os.fsencode(path))) as connection,
    ):
        # Reading it undoes a transaction that was not ended.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def check(path: Path) -> str | None:
    """Return the problem of a copy; None where it is sound."""
    # Opened for writing, so that closing it leaves no journal beside it.
    with closing(sqlite3.connect(os.fsencode(path))) as copied:
        try:
            found = copied.execute("PRAGMA application_id").fetchone()[0]
            if found == EARLIER_APPLICATION_ID:
                return "a build before simstore 0.1.0 made it"
            if found != APPLICATION_ID:
                return "it is not a simstore database"
            found = copied.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                return str(found)
            broken = copied.execute("PRAGMA foreign_key_check").fetchone()
        except UnicodeDecodeError:  # of a message that quotes a name of the schema
            return "a name in its schema is not UTF-8"
        except sqlite3.Error as error:
            return str(error)
    return None if broken is None else f"a row of {broken[0]} refers to nothing"
