"""Generic row statements (insert, select, update, delete), mostly on the DBAPI cursor.

SQLAlchemy takes longer to bind a row than SQLite to write it. A statement takes many rows: the
driver gives up the interpreter's lock once a statement, so that threads which prepare the next
rows neither wait nor make the writer wait.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from simstore.storage import sql
from simstore.storage.connection import Connection
from simstore.storage.dialects.protocol import Dialect
from simstore.storage.dialects.sqlite import SqliteDialect

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement, Table

# Parameters a statement: SQLite takes 32,766, PostgreSQL 65,535; more than this gains nothing.
_PARAMETERS = 4_096
# Items of a part, below every database's limit of parameters in a statement.
CHUNK = 500
# Values of a look-up in one statement; few sizes, so that statements are prepared once.
_LOOKED_UP = (512, 64, 8, 1)
# The smallest of them that holds so many.
_SIZES = [min(size for size in _LOOKED_UP if size >= count) for count in range(_LOOKED_UP[0] + 1)]
_SQLITE = SqliteDialect()

# The largest limit of a statement that SQLite takes.
MOST_ROWS = (1 << 63) - 1

Item = TypeVar("Item")


def dialect_of(connection: Connection) -> Dialect:
    """Return the dialect of a connection's database."""
    return _SQLITE if connection.is_sqlite else _postgresql()


@cache
def _postgresql() -> Dialect:
    from simstore.storage.dialects.postgresql import PostgresDialect

    return PostgresDialect()


def sqlite_driver(connection: Connection) -> sqlite3.Connection | None:
    """Return SQLite's own connection; None: it is another database."""
    return connection.driver if connection.is_sqlite else None


def fetch(connection: Connection, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, with ``?`` for parameters; values as the driver gives them.

    SQLite's driver gives JSON as text and truth as 0 or 1.
    """
    rows: list[tuple[Any, ...]] = _run(connection, statement, parameters).fetchall()
    return rows


def execute(connection: Connection, statement: str, *parameters: Any) -> int:
    """Run a statement, with ``?`` for parameters; return how many rows it changed."""
    changed: int = _run(connection, statement, parameters).rowcount
    return changed


def _run(connection: Connection, statement: str, parameters: tuple[Any, ...]) -> Any:
    if connection.is_sqlite:
        return connection.driver.execute(statement, parameters)
    return dialect_of(connection).run(connection, statement, parameters)


def insert_rows(
    connection: Connection,
    table: Table | str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    conflict: str = "",
) -> int:
    """Insert rows in their order.

    Args:
        connection: A writer.
        table: The table, or its name.
        columns: Its columns that the rows give values for.
        rows: A value a column each, as the driver takes them (JSON as text).
        conflict: What to do with a row whose key is there: an SQL clause ``ON CONFLICT ...``.

    Returns:
        How many rows were inserted or changed.
    """
    name = table if isinstance(table, str) else table.name
    if len(rows) == 1:
        return execute(connection, _insert(name, columns, conflict, 1), *rows[0])
    most = _PARAMETERS // len(columns)
    changed = start = 0
    for size in (most, most // 16, 8, 1):
        statement = _insert(name, columns, conflict, size)
        while len(rows) - start >= size:
            values = chain.from_iterable(rows[start : start + size])
            changed += execute(connection, statement, *values)
            start += size
    return changed


def select_in(
    connection: Connection, statement: str, values: Sequence[Any], *others: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query for a list of values, however long.

    Args:
        connection: A snapshot.
        statement: SQL with ``{}`` where the list stands, after every ``?`` of another parameter.
        values: The values, each once.
        others: The other parameters.
    """
    for marks, part in _parts(values):
        yield from fetch(connection, statement.format(marks), *others, *part)


def change_in(connection: Connection, statement: str, values: Sequence[Any], *others: Any) -> int:
    """Run a statement for a list of values, however long; return how many rows it changed.

    Args:
        connection: A writer.
        statement: As for :func:`select_in`.
        values: The values, each once.
        others: The other parameters.
    """
    return sum(
        execute(connection, statement.format(marks), *others, *part)
        for marks, part in _parts(values)
    )


def _parts(values: Sequence[Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield values, some at a time, with a mark for each."""
    most = _LOOKED_UP[0]
    for start in range(0, len(values), most):
        part = tuple(values[start : start + most])
        size = _SIZES[len(part)]
        # A value that is given again takes less than another statement, and meets no row twice.
        yield _marks(size), part + (part[0],) * (size - len(part))


def chunks(items: Sequence[Item], size: int = CHUNK) -> Iterator[Sequence[Item]]:
    """Yield slices of at most ``size`` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def integers(values: Sequence[int]) -> str:
    """Return integers as a list in SQL."""
    return ",".join(map(str, map(int, values)))


def insert_one(connection: Connection, table: Table, values: Mapping[str, Any]) -> int:
    """Insert a row whose key the database gives; return the key."""
    key = connection.execute(sql.insert(table), values).inserted_primary_key
    return int(key[0]) if key else 0


def count_rows(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    """Return the number of rows of a table that meet all conditions."""
    statement = sql.select(sql.func.count()).select_from(table).where(*conditions)
    return connection.execute(statement).scalar_one()


def largest(connection: Connection, column: Column[int], *conditions: ColumnElement[bool]) -> int:
    """Return the largest number in a column of the rows that meet all conditions, or 0."""
    statement = sql.select(sql.func.max(column)).where(*conditions)
    return connection.execute(statement).scalar_one() or 0


def numbers_after(
    connection: Connection,
    column: Column[int],
    after: int,
    limit: int,
    *conditions: ColumnElement[bool],
) -> list[int]:
    """Return the first numbers of a column above one, ascending, of rows that meet conditions."""
    statement = sql.select(column).where(column > after, *conditions).order_by(column)
    return list(connection.execute(statement.limit(min(limit, MOST_ROWS))).scalars())


def delete_in(
    connection: Connection,
    column: Column[Any],
    values: Sequence[Any],
    *conditions: ColumnElement[bool],
) -> int:
    """Delete the rows with some values, however many, that meet conditions; return how many."""
    return sum(
        connection.execute(sql.delete(column.table).where(column.in_(part), *conditions)).rowcount
        for part in chunks(values)
    )


def next_numbers(connection: Connection, table: str, column: str, count: int) -> list[int]:
    """Return numbers that no row of a table has had, ascending, for a writer.

    Args:
        connection: A writer.
        table: One whose numbers are never given out again.
        column: The column that numbers its rows.
        count: How many.
    """
    if not count:
        return []
    return dialect_of(connection).next_numbers(connection, table, column, count)


@lru_cache(256)
def _insert(table: str, columns: tuple[str, ...], conflict: str, rows: int) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join([f"({_marks(len(columns))})"] * rows)
    return f"INSERT INTO {table} ({names}) VALUES {values} {conflict}"  # noqa: S608 - ours


@lru_cache(64)
def _marks(count: int) -> str:
    return ", ".join(["?"] * count)
