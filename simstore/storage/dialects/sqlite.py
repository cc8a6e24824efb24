"""The dialect of SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Boolean, Column, Connection

from simstore.storage.dialects.protocol import COPIED_ROWS, LargestNumber
from simstore.storage.sqlite_values import OTHER_NAMES, kinds_of

# What SQLite calls the types of Python.
_STORED_AS = {int: "integer", float: "real", str: "text", bytes: "blob"}


class SqliteDialect:
    """How SQLite wants to be asked."""

    appends_counts = False
    searches = False

    def run(self, connection: Connection, statement: str, parameters: Sequence[Any]) -> Any:
        """Run a statement by the driver."""
        driver: Any = connection.connection.driver_connection
        return driver.execute(statement, parameters)

    def copy_rows(
        self,
        connection: Connection,  # noqa: ARG002
        table: str,  # noqa: ARG002
        columns: Sequence[str],  # noqa: ARG002
        rows: Sequence[Sequence[Any]],  # noqa: ARG002
        *,
        least: int = COPIED_ROWS,  # noqa: ARG002
    ) -> bool:
        """Return False: SQLite has no stream."""
        return False

    def replace_rows(
        self,
        connection: Connection,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
    ) -> None:
        """Write rows in the place of others."""
        driver: Any = connection.connection.driver_connection
        marks = ", ".join("?" * len(columns))
        driver.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)  # noqa: S608

    def next_numbers(
        self,
        connection: Connection,
        table: str,
        column: str,
        count: int,
    ) -> list[int]:
        """Return the numbers after the last that was given out: no other writer is at work."""
        first = self.last_number(connection, table, column) + 1
        return list(range(first, first + count))

    def last_number(self, connection: Connection, table: str, column: str) -> int:  # noqa: ARG002
        """Return what SQLite keeps beside a table that gives no number twice."""
        asked = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        found = self.run(connection, asked, (table,)).fetchall()
        return int(found[0][0]) if found else 0

    def go_on_after(self, connection: Connection, table: str, column: str, last: int) -> None:
        """Change what SQLite keeps beside a table that gives no number twice."""
        held = self.last_number(connection, table, column)
        made = self.run(connection, "SELECT sql FROM sqlite_master WHERE name = ?", (table,))
        if last > held and "AUTOINCREMENT" in made.fetchone()[0]:
            self.run(connection, "DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            self.run(connection, "INSERT INTO sqlite_sequence VALUES (?, ?)", (table, last))

    def plain(self, column: Column[Any]) -> str:
        """Return its name: so SQLite has it."""
        other = OTHER_NAMES.get(str(column))
        return f'"{column.name}"' + (f" AS {other}" if other else "")

    def in_order(self, column: Column[Any]) -> str:
        """Return its name: so SQLite compares."""
        return f'"{column.name}"'

    def largest_number(
        self,
        connection: Connection,  # noqa: ARG002
        table: str,  # noqa: ARG002
        column: str,  # noqa: ARG002
    ) -> LargestNumber | None:
        """Return None: there is one writer at a time."""
        return None

    def wrong_type(self, column: Column[Any]) -> str | None:
        """Return when a value is of another type: SQLite keeps any in each column."""
        name = f'"{column.name}"'
        if isinstance(column.type, Boolean):
            return f"{name} NOT IN (0, 1)"
        types = ", ".join(f"'{_STORED_AS[kind]}'" for kind in kinds_of(column.type))
        return f"typeof({name}) NOT IN ({types})"

    def json_type(self, column: Column[Any]) -> str:
        """Return what JSON a column holds; of what is none, null."""
        return f'CASE WHEN json_valid("{column.name}") THEN json_type("{column.name}") END'

    def problems(self, connection: Connection) -> Iterator[str]:
        """Yield damaged pages, indexes that disagree with their tables, references to nothing."""
        for (problem,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
            if problem != "ok":
                yield str(problem)
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(20):
            yield f"table {row[0]}, row {row[1]}: refers to nothing in {row[2]}"
