"""The SQLite dialect: its own SQL, type checks of stored values, and translation of its errors.

SQLite gives each value a type, not each column. Whatever changed a file behind our back may have
put a text where a number belongs: every row that is read is checked against the types of its
columns, so that what reads it can rely on the tables, as it can on a database server.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from simstore.errors import (
    CorruptStore,
    DatabaseBusy,
    DiskFull,
    NotAStore,
    ReadOnlyStore,
    StorageError,
    printable,
)
from simstore.storage import sql
from simstore.storage.connection import Connection
from simstore.storage.dialects.column_types import COLUMN_TYPES, JSON_COLUMNS
from simstore.storage.dialects.protocol import Row

if TYPE_CHECKING:
    from sqlalchemy import Column

_WORDS = {int: "a number", float: "a number", str: "a text", bytes: "bytes"}
# JSON that is a list; all other is an object.
LISTS = frozenset(("sources", "known_answers"))
_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 26
# The file under this name is not the one that was opened (SQLITE_READONLY_DBMOVED).
_MOVED = 1032
# Write, sync, truncate or shared-memory growth failed: what a full disk or a quota looks like.
_WRITE_FAILED = frozenset({778, 1034, 1546, 4874})
# What SQLite calls the types of Python.
_STORED_AS = {int: "integer", float: "real", str: "text", bytes: "blob"}


class SqliteDialect:
    """The SQL of SQLite where databases differ."""

    def run(self, connection: Connection, statement: str, parameters: Sequence[Any]) -> Any:
        """Run a statement by the driver."""
        return connection.driver.execute(statement, parameters)

    def run_many(self, connection: Connection, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once for each row of parameters."""
        connection.driver.executemany(statement, rows)

    def next_numbers(
        self,
        connection: Connection,
        table: str,
        column: str,  # noqa: ARG002
        count: int,
    ) -> list[int]:
        """Return the numbers after the last that was given out."""
        # SQLite records it for tables with AUTOINCREMENT.
        statement = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        found = self.run(connection, statement, (table,)).fetchall()
        first = 1 + (int(found[0][0]) if found else 0)
        return list(range(first, first + count))

    def wrong_type(self, column: Column[Any]) -> str | None:
        """Return the SQL condition that a value is of another type than its column."""
        name = f'"{column.name}"'
        if isinstance(column.type, sql.Boolean):
            return f"{name} NOT IN (0, 1)"
        types = ", ".join(f"'{_STORED_AS[kind]}'" for kind in kinds_of(column.type))
        return f"typeof({name}) NOT IN ({types})"

    def json_type(self, column: Column[Any]) -> str:
        """Return the SQL for the type of a column's JSON; null where it is none."""
        return f'CASE WHEN json_valid("{column.name}") THEN json_type("{column.name}") END'

    def has_table(self, connection: Connection, name: str) -> bool:
        """Return whether the file has a table of this name."""
        return bool(self.run(connection, f"PRAGMA table_info({name})", ()).fetchall())

    def problems(self, connection: Connection) -> Iterator[str]:
        """Yield damaged pages, indexes that disagree with their tables, references to nothing."""
        for (problem,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
            if problem != "ok":
                yield str(problem)
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(20):
            yield f"table {row[0]}, row {row[1]}: refers to nothing in {row[2]}"


class TypedRows:
    """A row factory that checks that each value has the type of its column.

    A column is known by its name; the same name is of the same type in all tables, or of either
    of two. What a statement computes has a name of its own, and is not looked at.

    Args:
        label: The store, for messages.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._description: object = None
        self._names: tuple[str, ...] = ()
        self._good: set[Row] = set()
        self._json: tuple[tuple[int, str], ...] = ()

    def __call__(self, cursor: sqlite3.Cursor, row: Row) -> Row:
        """Return the row.

        Raises:
            CorruptStore: A value is of another type than its column.
        """
        if cursor.description is not self._description:
            self._description = cursor.description
            self._names = tuple(column[0] for column in cursor.description)
            self._good, self._json = _known(self._names)
        kinds = tuple(map(type, row))
        if kinds not in self._good:
            self._look_at(kinds)
        for place, begins in self._json:
            if row[place] is not None and not row[place].startswith(begins):
                what = "list" if begins == "[" else "object"
                raise CorruptStore(
                    self._label, f"a column {self._names[place]} holds no JSON {what}"
                )
        return row

    def _look_at(self, kinds: tuple[type, ...]) -> None:
        for name, kind in zip(self._names, kinds, strict=True):
            wanted = COLUMN_TYPES.get(name)
            if wanted is not None and kind not in wanted:
                words = " or ".join(sorted({_WORDS[one] for one in wanted & _WORDS.keys()}))
                raise CorruptStore(
                    self._label, f"a column {name} holds {_WORDS.get(kind, 'nothing')}, not {words}"
                )
        self._good.add(kinds)


def kinds_of(column_type: object) -> frozenset[type]:
    """Return the types in Python of the values that SQLite keeps of a column's type."""
    if isinstance(column_type, sql.Float):
        return frozenset((float, int))
    if isinstance(column_type, sql.Boolean | sql.Integer):
        return frozenset((int,))
    if isinstance(column_type, sql.LargeBinary):
        return frozenset((bytes,))
    return frozenset((str,))


@cache
def _known(names: tuple[str, ...]) -> tuple[set[Row], tuple[tuple[int, str], ...]]:
    """Return the types of rows of these columns that were found right, which grow, and the JSON.

    Of JSON the place in the row, and what it begins with.
    """
    found = tuple(
        (place, "[" if name in LISTS else "{")
        for place, name in enumerate(names)
        if name in JSON_COLUMNS
    )
    return set(), found


def json_reader(label: str) -> Callable[[str], Any]:
    """Return the function that reads the JSON of a store.

    Args:
        label: The store, for messages.
    """

    def read(text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise CorruptStore(label, f"a value that should be JSON is none ({error})") from error

    return read


def gone(path: str) -> StorageError:
    """Return the error that a store's file was moved, replaced or deleted while it was open."""
    return StorageError(
        f"{printable(path)} is gone: its file was moved, replaced or deleted while it was open; "
        "nothing is written to it. Put it back, or open what is there now"
    )


def from_sqlite(error: sqlite3.Error, path: str) -> StorageError:
    """Return our error for one of the driver's.

    Args:
        error: The driver's error.
        path: The store, for the message.
    """
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
