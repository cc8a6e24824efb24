"""The dialect of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, String

from simstore.storage.dialects.protocol import COPIED_ROWS, LargestNumber


class PostgresDialect:
    """How PostgreSQL wants to be asked."""

    appends_counts = True
    searches = True

    def run(self, connection: Connection, statement: str, parameters: Sequence[Any]) -> Any:
        """Run a statement by the driver, which prepares it where it comes again."""
        driver: Any = connection.connection.driver_connection
        return driver.execute(_marked(statement), parameters)

    def copy_rows(
        self,
        connection: Connection,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        least: int = COPIED_ROWS,
    ) -> bool:
        """Write rows by COPY, where they are many."""
        if len(rows) < least:
            return False
        driver: Any = connection.connection.driver_connection
        names = ", ".join(f'"{name}"' for name in columns)
        with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return True

    def replace_rows(
        self,
        connection: Connection,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
    ) -> None:
        """Write rows in the place of others."""
        names = ", ".join(columns)
        marks = ", ".join("?" * len(columns))
        set_to = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
        statement = (
            f"INSERT INTO {table} ({names}) VALUES ({marks}) "  # noqa: S608
            f"ON CONFLICT ({columns[0]}) DO UPDATE SET {set_to}"
        )
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor:
            cursor.executemany(_marked(statement), rows)

    def next_numbers(
        self, connection: Connection, table: str, column: str, count: int
    ) -> list[int]:
        """Return numbers of the sequence of a column; others may take some in between."""
        asked = f"SELECT nextval(pg_get_serial_sequence('{table}', '{column}')) "
        rows = self.run(connection, asked + "FROM generate_series(1, ?)", (count,)).fetchall()
        return sorted(row[0] for row in rows)

    def largest_number(
        self, connection: Connection, table: str, column: str
    ) -> LargestNumber | None:
        """Return it, of one snapshot with the transactions that were under way."""
        asked = (
            f"SELECT coalesce((SELECT max({column}) FROM {table}), 0), "  # noqa: S608 - ours
            "coalesce((SELECT min(xid::text::bigint) "
            "FROM pg_snapshot_xip(pg_current_snapshot()) AS xid), "
            "pg_snapshot_xmax(pg_current_snapshot())::text::bigint), "
            "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
        )
        return LargestNumber(*self.run(connection, asked, ()).fetchone())

    def last_number(self, connection: Connection, table: str, column: str) -> int:
        """Return what the sequence of a column has given out."""
        asked = f"SELECT pg_sequence_last_value(pg_get_serial_sequence('{table}', '{column}'))"
        return int(self.run(connection, asked, ()).fetchone()[0] or 0)

    def go_on_after(self, connection: Connection, table: str, column: str, last: int) -> None:
        """Let the sequence of a column go on."""
        asked = (
            f"SELECT setval(sequence, greatest(?, (SELECT max({column}) FROM {table}))) "  # noqa: S608
            f"FROM pg_get_serial_sequence('{table}', '{column}') AS sequence "
            f"WHERE sequence IS NOT NULL AND (? > 0 OR EXISTS (SELECT 1 FROM {table}))"
        )
        self.run(connection, asked, (max(last, 1), last))

    def plain(self, column: Column[Any]) -> str:
        """Return it with a cast."""
        if isinstance(column.type, JSON):
            return f'"{column.name}"::text'
        if isinstance(column.type, Boolean):
            return f'"{column.name}"::int'
        return f'"{column.name}"'

    def in_order(self, column: Column[Any]) -> str:
        """Return it by the order of its bytes, whatever language the database was made for."""
        return (
            f'"{column.name}" COLLATE "C"'
            if isinstance(column.type, String)
            else self.plain(column)
        )

    def wrong_type(self, column: Column[Any]) -> str | None:  # noqa: ARG002
        """Return None: the server holds to the types of its columns."""
        return None

    def json_type(self, column: Column[Any]) -> str:
        """Return what JSON a column holds."""
        return f'json_typeof("{column.name}")'

    def problems(self, connection: Connection) -> Iterator[str]:
        """Yield indexes and constraints that the server has not made valid.

        References to nothing cannot be: the server holds to them.
        """
        asked = (
            "SELECT 'index ' || indexrelid::regclass FROM pg_index WHERE NOT indisvalid "
            "AND indrelid IN (SELECT oid FROM pg_class "
            "WHERE relnamespace = current_schema()::regnamespace) UNION ALL "
            "SELECT 'constraint ' || conname FROM pg_constraint WHERE NOT convalidated "
            "AND connamespace = current_schema()::regnamespace"
        )
        for (problem,) in self.run(connection, asked, ()).fetchmany(20):
            yield f"{problem} is not valid"


@lru_cache(512)
def _marked(statement: str) -> bytes:
    # Bytes: the driver takes them as they are.
    return statement.replace("?", "%s").encode()
