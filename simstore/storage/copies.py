"""Copies of an SQLite store, and giving its unused space back."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from simstore.storage.engine import APPLICATION_ID, Database
from simstore.storage.translate import translated


def copy(database: Database, target: Path) -> None:
    """Copy a store into a new file, as it is at one moment, while others read and write it."""
    with database.read() as connection, translated(str(target)):
        driver = connection.connection.driver_connection
        if not isinstance(driver, sqlite3.Connection):
            raise TypeError("only SQLite stores can be copied so")
        with closing(sqlite3.connect(target)) as copied:
            driver.backup(copied)
    descriptor = os.open(target, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check(path: Path) -> str | None:
    """Return what is wrong with a copy; None where it is sound."""
    # Opened for writing, so that closing it leaves no journal beside it.
    with closing(sqlite3.connect(path)) as copied:
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
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Make a new name durable."""
    descriptor = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def vacuum(database: Database) -> None:
    """Rewrite the file without its unused pages, and empty its log."""
    with database.autocommit() as connection:
        connection.exec_driver_sql("VACUUM")
        if database.is_sqlite:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
