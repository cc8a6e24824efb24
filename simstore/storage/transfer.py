"""Copy all rows of a store, table by table, to another database.

Rows are read in the order of their keys and in one form, whatever database they are of: JSON as
text, truth as 0 or 1. A store that is being filled has a table more and no revision, so nobody
opens it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy
from sqlalchemy import Column, LargeBinary
from sqlalchemy import Table as Table

from simstore.errors import Conflict
from simstore.storage import generations
from simstore.storage.connection import Connection
from simstore.storage.migrate import HEAD
from simstore.storage.rows import dialect_of, execute, fetch, insert_rows
from simstore.storage.tables import RECORD_VIEWS, VIEW_NAMES, metadata

Row = tuple[Any, ...]

# Of tables with BLOBs, and of others.
_FEW_ROWS, _MANY_ROWS = 500, 10_000
# Says from what state of which store a copy is being made.
_UNDER_WAY = "copy_under_way"


def tables() -> list[Table]:
    """Return all tables, each after those that it refers to."""
    return list(metadata.sorted_tables)


def chunk_rows(table: Table) -> int:
    """Return how many rows of a table are read and written at a time."""
    values = (column for column in table.columns if not column.primary_key)
    has_blobs = any(isinstance(column.type, LargeBinary) for column in values)
    return _FEW_ROWS if has_blobs else _MANY_ROWS


def read(connection: Connection, table: Table, after: Row | None, limit: int) -> list[Row]:
    """Return rows of a table in the order of their keys.

    Args:
        connection: A snapshot.
        table: The table.
        after: Only rows with a key above this; None: from the first.
        limit: At most so many.
    """
    dialect = dialect_of(connection)
    columns = ", ".join(dialect.plain(column) for column in table.columns)
    keys = ", ".join(dialect.in_order(column) for column in _keys(table))
    marks = ", ".join("?" * len(_keys(table)))
    where = "" if after is None else f"WHERE ({keys}) > ({marks}) "
    statement = f"SELECT {columns} FROM {table.name} {where}ORDER BY {keys} LIMIT ?"  # noqa: S608 - ours
    return fetch(connection, statement, *(after or ()), limit)


def key_of(table: Table, row: Row) -> Row:
    """Return the key of a row."""
    return tuple(row[place] for place, column in enumerate(table.columns) if column.primary_key)


def last_key(connection: Connection, table: Table) -> Row | None:
    """Return the largest key of a table's rows; None: it has none."""
    dialect = dialect_of(connection)
    names = ", ".join(dialect.plain(column) for column in _keys(table))
    order = ", ".join(f"{dialect.in_order(column)} DESC" for column in _keys(table))
    statement = f"SELECT {names} FROM {table.name} ORDER BY {order} LIMIT 1"  # noqa: S608 - ours
    found = fetch(connection, statement)
    return found[0] if found else None


def write(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Write rows that are not there; what refers to the table itself is left out.

    Those are written by :func:`write_own_references` when all rows are there.
    """
    own = _own_references(table)
    if own:
        places = [place for place, column in enumerate(table.columns) if column.name in own]
        rows = [
            tuple(None if place in places else value for place, value in enumerate(row))
            for row in rows
        ]
    names = tuple(column.name for column in table.columns)
    insert_rows(connection, table, names, rows)


def write_own_references(source: Connection, target: Connection, table: Table) -> None:
    """Let rows refer to other rows of their table, as they do in the source."""
    for name in _own_references(table):
        keys = [column.name for column in _keys(table)]
        named = ", ".join((*keys, name))
        statement = f"SELECT {named} FROM {table.name} WHERE {name} IS NOT NULL"  # noqa: S608 - ours
        condition = " AND ".join(f"{key} = ?" for key in keys)
        for *key, value in fetch(source, statement):
            execute(
                target,
                f"UPDATE {table.name} SET {name} = ? WHERE {condition}",  # noqa: S608 - ours
                value,
                *key,
            )


def chunks(connection: Connection, table: Table) -> Iterator[list[Row]]:
    """Yield all rows of a table in the order of their keys, in batches."""
    after: Row | None = None
    limit = chunk_rows(table)
    while rows := read(connection, table, after, limit):
        yield rows
        if len(rows) < limit:
            return
        after = key_of(table, rows[-1])


def count(connection: Connection, table: Table) -> int:
    """Return how many rows a table has."""
    return int(fetch(connection, f"SELECT count(*) FROM {table.name}")[0][0])  # noqa: S608 - ours


def digest(connection: Connection, table: Table) -> tuple[int, bytes]:
    """Return how many rows a table has, and BLAKE2b-128 of them all in the order of their keys."""
    hasher = hashlib.blake2b(digest_size=16)
    total = 0
    for rows in chunks(connection, table):
        total += len(rows)
        for row in rows:
            # Drivers differ in the types of BLOBs alone.
            plain = (bytes(v) if isinstance(v, bytearray | memoryview) else v for v in row)
            hasher.update(repr(tuple(plain)).encode("utf-8", "surrogatepass"))
    return total, hasher.digest()


def state(connection: Connection) -> str:
    """Return a token that changes with the store: rows of each table, and its count of changes.

    Raises:
        CorruptStore: The store's parameters are gone.
    """
    found = fetch(connection, "SELECT created_at, changes FROM store")
    if not found:
        raise generations.without_settings(connection)
    created_at, changes = found[0]
    counts = ",".join(str(count(connection, table)) for table in tables())
    return f"{HEAD} {created_at} {changes} {counts}"


def under_way(connection: Connection) -> str | None:
    """Return the source :func:`state` of an unfinished copy; None: there is none."""
    if not sqlalchemy.inspect(connection.sqlalchemy).has_table(_UNDER_WAY):
        return None
    found = fetch(connection, f"SELECT state FROM {_UNDER_WAY}")  # noqa: S608 - ours
    return found[0][0] if found else ""


def check_names_free(connection: Connection, label: str) -> None:
    """Raise Conflict where another program has tables that are called as ours."""
    inspected = sqlalchemy.inspect(connection.sqlalchemy)
    existing = {*inspected.get_table_names(), *inspected.get_view_names()}
    ours = {*(table.name for table in tables()), *RECORD_VIEWS, *VIEW_NAMES}
    taken = sorted(existing & ours)
    if taken:
        raise Conflict(
            f"{label} has a table or view {taken[0]} that is no store's; name another database, or "
            "another schema by ?options=-csearch_path=NAME"
        )


def begin(connection: Connection, of_state: str) -> None:
    """Make the tables of a store that is going to be filled."""
    metadata.create_all(connection.sqlalchemy)
    connection.exec_driver_sql(f"CREATE TABLE {_UNDER_WAY} (state TEXT NOT NULL)")
    execute(connection, f"INSERT INTO {_UNDER_WAY} (state) VALUES (?)", of_state)  # noqa: S608 - ours


def give_up(connection: Connection) -> None:
    """Drop the tables that :func:`begin` made, and their rows."""
    connection.exec_driver_sql(f"DROP TABLE {_UNDER_WAY}")
    metadata.drop_all(connection.sqlalchemy)


def finish(source: Connection, target: Connection) -> None:
    """Make the filled tables a store; new row numbers continue where the source's do."""
    for table in tables():
        column = table.autoincrement_column
        if column is not None:
            last = dialect_of(source).last_number(source, table.name, column.name)
            dialect_of(target).go_on_after(target, table.name, column.name, last)
    target.exec_driver_sql(f"DROP TABLE {_UNDER_WAY}")


def _keys(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if column.primary_key]


def _own_references(table: Table) -> list[str]:
    return [key.parent.name for key in table.foreign_keys if key.column.table is table]
