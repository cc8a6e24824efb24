"""The protocol of a dialect: statements that differ from database to database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Column, Connection

# Rows from which on a server takes them by COPY: fewer are sooner written as values.
COPIED_ROWS = 32


@dataclass(frozen=True, slots=True)
class LargestNumber:
    """The largest number of a row, and which transactions a snapshot does not see.

    Attributes:
        largest: 0: there is no row.
        oldest_open: The first transaction, other than the own, that had not ended.
        next_transaction: None with this number or a larger one had begun.
    """

    largest: int
    oldest_open: int
    next_transaction: int


class Dialect(Protocol):
    """How a kind of database wants to be asked.

    Attributes:
        appends_counts: Counters of the store are appended to, not changed: writers work beside
            each other, and would wait for whoever changed one.
        searches: The database looks for fingerprints by itself; see ``storage.near_rows``.
    """

    appends_counts: bool
    searches: bool

    def run(self, connection: Connection, statement: str, parameters: Sequence[Any]) -> Any:
        """Run a statement, with ``?`` for parameters, by the driver; return its cursor."""

    def copy_rows(
        self,
        connection: Connection,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        least: int = COPIED_ROWS,
    ) -> bool:
        """Write rows as a stream; return False where they are to be inserted as values.

        Args:
            connection: A writer.
            table: The table.
            columns: Its columns that the rows give values for.
            rows: A value a column each.
            least: Fewer rows are inserted as values.
        """

    def replace_rows(
        self,
        connection: Connection,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
    ) -> None:
        """Write rows in the place of those that have the same first column, the key."""

    def next_numbers(
        self, connection: Connection, table: str, column: str, count: int
    ) -> list[int]:
        """Return numbers that no row of a table has had, ascending, for a writer."""

    def largest_number(
        self, connection: Connection, table: str, column: str
    ) -> LargestNumber | None:
        """Return the largest number of a row; None: writers take turns, and so do numbers."""

    def last_number(self, connection: Connection, table: str, column: str) -> int:
        """Return the last number that was given to a row of a table; 0: it keeps no account."""

    def go_on_after(self, connection: Connection, table: str, column: str, last: int) -> None:
        """Give the next row of a table a number above this, and above all that are there."""

    def plain(self, column: Column[Any]) -> str:
        """Return how a column is selected: JSON as text, truth as 0 or 1."""

    def in_order(self, column: Column[Any]) -> str:
        """Return how a column is compared, byte by byte."""

    def wrong_type(self, column: Column[Any]) -> str | None:
        """Return when a value is of another type than its column, in SQL; None: none can be."""

    def json_type(self, column: Column[Any]) -> str:
        """Return what JSON a column holds, in SQL: ``object``, ``array``, ...; null: none."""

    def problems(self, connection: Connection) -> Iterator[str]:
        """Yield what the database itself finds damaged."""
