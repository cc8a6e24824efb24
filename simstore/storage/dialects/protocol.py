"""Interfaces of a database: its connections, and the SQL in which SQLite and PostgreSQL differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from simstore.storage.connection import Connection
from simstore.version import APPLICATION_ID as APPLICATION_ID

if TYPE_CHECKING:
    from sqlalchemy import Column

BUSY_SECONDS = 60.0

Synchronous = Literal["full", "normal"]


@dataclass(frozen=True, slots=True)
class SharedSnapshot:
    """A snapshot that other processes can read too.

    Attributes:
        connection: Reads it.
        name: Returns what another process gives to :meth:`Backend.reading`, as long as this one is
            open.
        is_latest: Returns whether those who began to read until now have the same snapshot. Where
            the database has no names for snapshots, that is so as long as nothing was committed.
    """

    connection: Connection
    name: Callable[[], str | None]
    is_latest: Callable[[], bool]


Row = tuple[Any, ...]


class Backend(Protocol):
    """The interface of a database: its connections, its size and its abilities.

    How statements differ from database to database: :class:`Dialect`.
    """

    def check_exists(self) -> None:
        """Raise StoreNotFound or NotAStore unless there is a store."""

    def reading(self, snapshot: str | None = None, /) -> AbstractContextManager[Connection]:
        """Return the context of a snapshot, through which nothing can be written.

        Args:
            snapshot: The name of one that another process has open; None: the latest.
        """

    def sharing(self) -> AbstractContextManager[SharedSnapshot]:
        """Return the context of a snapshot that other processes can read too."""

    def writing(self) -> AbstractContextManager[Connection]:
        """Return the context of a writer's transaction; writers take turns."""

    def outside(self) -> AbstractContextManager[Connection]:
        """Return the context of a writer's connection without a transaction."""

    @property
    def can_write(self) -> bool:
        """Return whether this process may write."""

    def has_journal(self) -> bool:
        """Return whether something is committed that is not in the file yet."""

    def check_name(self) -> None:
        """Raise where the store that is open is not what has its name any more."""

    def stored_bytes(self) -> int:
        """Return the bytes that the store takes."""

    def vacuum(self) -> None:
        """Give unused space back."""

    def close(self) -> None:
        """Close all connections."""

    def forget(self) -> None:
        """Forget all connections: they belong to another process."""


class Dialect(Protocol):
    """The interface of a dialect: the SQL in which databases differ."""

    def run(self, connection: Connection, statement: str, parameters: Sequence[Any]) -> Any:
        """Run a statement, with ``?`` for parameters, by the driver; return its cursor."""

    def run_many(self, connection: Connection, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once for each row of parameters."""

    def next_numbers(
        self, connection: Connection, table: str, column: str, count: int
    ) -> list[int]:
        """Return numbers that no row of a table has had, ascending, for a writer."""

    def wrong_type(self, column: Column[Any]) -> str | None:
        """Return the SQL condition that a value is not of its column's type; None: none can be."""

    def json_type(self, column: Column[Any]) -> str:
        """Return the type of a column's JSON, in SQL: ``object``, ``array``, ...; null: none."""

    def has_table(self, connection: Connection, name: str) -> bool:
        """Return whether the database has a table of this name."""

    def problems(self, connection: Connection) -> Iterator[str]:
        """Yield the damage that the database's own check finds."""
