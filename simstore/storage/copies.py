"""Copies of an SQLite store, and giving its unused space back."""

from __future__ import annotations

import fcntl
import glob
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from simstore.errors import StorageError
from simstore.storage.engine import APPLICATION_ID, Database
from simstore.storage.translate import translated

_COPIED_PAGES = 4_096


def copy(
    database: Database, target: Path, on_progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy a store into a new file, as it is at one moment, while others read and write it.

    Args:
        database: The store.
        target: The new file.
        on_progress: Called with pages copied and in all.
    """

    def tell(_status: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress(total - remaining, total)

    with database.read() as connection, translated(str(target)):
        driver = connection.connection.driver_connection
        if not isinstance(driver, sqlite3.Connection):
            raise TypeError("only SQLite stores can be copied so")
        with closing(sqlite3.connect(os.fsencode(target))) as copied:
            # The snapshot of this connection is copied, whatever is written meanwhile.
            driver.execute("SELECT count(*) FROM sqlite_master").fetchone()
            driver.backup(copied, pages=_COPIED_PAGES, progress=tell)
    descriptor = os.open(target, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check(path: Path) -> str | None:
    """Return what is wrong with a copy; None where it is sound."""
    # Opened for writing, so that closing it leaves no journal beside it.
    with closing(sqlite3.connect(os.fsencode(path))) as copied:
        try:
            if copied.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                return "it is not a simstore database"
            found = copied.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                return str(found)
            broken = copied.execute("PRAGMA foreign_key_check").fetchone()
        except sqlite3.Error as error:
            return str(error)
    return None if broken is None else f"a row of {broken[0]} refers to nothing"


def delete_file(path: Path) -> None:
    """Delete a draft with its journals, where it exists."""
    path.unlink(missing_ok=True)
    delete_journals(path)


def draft_beside(path: Path) -> Path:
    """Return the name of this process's draft of a file; drafts of dead processes are deleted.

    Raises:
        StorageError: The folder cannot be written.
    """
    folder = path.absolute().parent
    if not os.access(folder, os.W_OK):
        raise StorageError(f"{folder} cannot be written: no permission; name another place")
    for draft in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        number = draft.name.split(".")[-2]
        if number.isdigit() and not _is_alive(int(number)):
            delete_file(draft)
    own = path.with_name(f".{path.name}.{os.getpid()}.new")
    delete_file(own)
    return own


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def delete_journals(path: Path) -> None:
    """Delete the journals of a file that is gone or about to be replaced."""
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold the lock of a file's folder, which ends with the process at the latest."""
    descriptor = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        # Not every file system can lock a folder; then only a race of two first runs is open.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make a new name durable."""
    descriptor = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
