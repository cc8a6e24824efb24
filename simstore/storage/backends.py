"""The protocol of a database that holds a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from sqlalchemy import Connection

APPLICATION_ID = 0x53494D53  # "SIMS"
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


class Backend(Protocol):
    """Connections to one database, and what only it knows of itself.

    How statements differ from database to database: :mod:`simstore.storage.dialects.connection`.

    Attributes:
        lets_write_beside: Whether writers may work beside each other; else they take turns.
    """

    lets_write_beside: bool

    def check_exists(self) -> None:
        """Raise StoreNotFound or NotAStore unless there is a store."""

    def reading(self, snapshot: str | None = None) -> AbstractContextManager[Connection]:
        """Return the context of a snapshot, through which nothing can be written.

        Args:
            snapshot: The name of one that another process has open; None: the latest.
        """

    def sharing(self) -> AbstractContextManager[SharedSnapshot]:
        """Return the context of a snapshot that other processes can read too."""

    def writing(self, claims: Sequence[int] | None) -> AbstractContextManager[Connection]:
        """Return the context of a writer's transaction.

        Args:
            claims: What no other writer claims at the same time: numbers of 64 bits, signed. None:
                it is the only writer.
        """

    def outside(self) -> AbstractContextManager[Connection]:
        """Return the context of a writer's connection without a transaction."""

    @property
    def can_write(self) -> bool:
        """Return whether this process may write."""

    def has_journal(self) -> bool:
        """Return whether something is committed that is not in the file yet."""

    def stored_bytes(self) -> int:
        """Return the bytes that the store takes."""

    def vacuum(self) -> None:
        """Give unused space back."""

    def close(self) -> None:
        """Close all connections."""

    def forget(self) -> None:
        """Forget all connections: they belong to another process."""
