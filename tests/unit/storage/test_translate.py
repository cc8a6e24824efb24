"""Errors of the database become ours, in one place."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from simstore.errors import (
    CorruptStore,
    DatabaseBusy,
    DiskFull,
    NotAStore,
    ReadOnlyStore,
    StorageError,
)
from simstore.storage.engine import Database, translated, translated_files

CODES = {
    sqlite3.SQLITE_BUSY: DatabaseBusy,
    sqlite3.SQLITE_BUSY_SNAPSHOT: DatabaseBusy,
    sqlite3.SQLITE_LOCKED: DatabaseBusy,
    sqlite3.SQLITE_FULL: DiskFull,
    sqlite3.SQLITE_IOERR_WRITE: DiskFull,
    sqlite3.SQLITE_IOERR_FSYNC: DiskFull,
    sqlite3.SQLITE_IOERR_TRUNCATE: DiskFull,
    sqlite3.SQLITE_READONLY: ReadOnlyStore,
    sqlite3.SQLITE_READONLY_DIRECTORY: ReadOnlyStore,
    sqlite3.SQLITE_NOTADB: NotAStore,
    sqlite3.SQLITE_CANTOPEN: NotAStore,
    sqlite3.SQLITE_CORRUPT: CorruptStore,
    sqlite3.SQLITE_CORRUPT_INDEX: CorruptStore,
    sqlite3.SQLITE_IOERR: StorageError,
    sqlite3.SQLITE_IOERR_READ: StorageError,
    sqlite3.SQLITE_ERROR: StorageError,
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: StorageError,
}


def error_with(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    return error


def test_sqlite_code_becomes_the_fitting_error() -> None:
    for raised in (error_with, lambda code: OperationalError("SELECT 1", {}, error_with(code))):
        for code in CODES:
            with pytest.raises(StorageError) as caught, translated("the store"):
                raise raised(code)
            assert type(caught.value) is CODES[code], (raised, code)
            assert "the store" in str(caught.value), (raised, code)
            assert caught.value.exit_code == 6, (raised, code)
            assert "\n" not in str(caught.value), (raised, code)


def test_error_of_another_server_is_its_first_line() -> None:
    orig = RuntimeError("the server is gone\nDETAIL: it went")
    with pytest.raises(StorageError, match="the server is gone") as caught, translated("the store"):
        raise OperationalError("SELECT 1", {}, orig)
    assert "\n" not in str(caught.value)


def test_sqlite_error_without_a_code_is_a_storage_error() -> None:
    with pytest.raises(StorageError, match="closed"), translated("the store"):
        raise sqlite3.ProgrammingError("Cannot operate on a closed database.")


def test_other_errors_pass_through() -> None:
    for kind in (KeyError, ValueError, KeyboardInterrupt):
        with pytest.raises(kind), translated("the store"):
            raise kind


def test_error_of_the_file_system_becomes_the_fitting_error() -> None:
    for number, kind in (
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EFBIG, DiskFull),
        (errno.EACCES, StorageError),
        (errno.EROFS, StorageError),
    ):
        with pytest.raises(StorageError) as caught, translated_files("the file"):
            raise OSError(number, "what the system says")
        assert type(caught.value) is kind, number


def test_writer_that_holds_the_lock_makes_others_busy(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    first, second = Database(path, busy_seconds=0), Database(path, busy_seconds=0)
    path.touch()
    with first.write() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER)")
        with pytest.raises(DatabaseBusy), second.write():
            pytest.fail("two writers at once")
    with second.write() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
    first.close()
    second.close()


def test_failed_write_is_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    database = Database(path)
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER)")

    def fail() -> None:
        with database.write() as connection:
            connection.exec_driver_sql("INSERT INTO t VALUES (1)")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    database.close()


def test_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    database = Database(path)
    with pytest.raises(ReadOnlyStore), database.read() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER)")
    database.close()
