"""Store replies by idempotency key, so that a repeated request gets the same reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simstore.storage import tables
from simstore.storage.connection import Connection
from simstore.storage.rows import execute, fetch, insert_rows

# How long a reply is given again.
KEPT_SECONDS = 86_400
_COLUMNS = ("owner", "key", "digest", "reply", "created_at")


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """The recorded reply to a request.

    Attributes:
        digest: Digest of the request: another request of the same name differs in it.
        reply: The reply, in the form of who wrote it.
        created_at: When, in seconds since 1970-01-01 UTC.
    """

    digest: bytes
    reply: bytes
    created_at: int


def recorded(
    connection: Connection, owner: str, key: str, since: int | None = None
) -> RecordedReply | None:
    """Return the recorded reply to a sender's request of this name.

    Args:
        connection: A snapshot or a writer.
        owner: Who sends it, at most 120 characters.
        key: How the sender names it, at most 255 characters.
        since: Replies of before this time are forgotten, whether they were deleted or not;
            None: as long as they are there.
    """
    statement = "SELECT digest, reply, created_at FROM idempotency WHERE owner = ? AND key = ?"
    for digest, reply, created_at in fetch(connection, statement, owner, key):
        if since is None or created_at >= since:
            return RecordedReply(bytes(digest), bytes(reply), created_at)
    return None


def record_many(connection: Connection, rows: Sequence[tuple[str, str, bytes, bytes, int]]) -> None:
    """Store replies in the transaction of the changes that they report; old ones are replaced.

    Args:
        connection: A writer.
        rows: (owner, key, digest, reply, created_at); no owner has a key twice among them.
    """
    conflict = (
        "ON CONFLICT (owner, key) DO UPDATE SET digest = excluded.digest, "
        "reply = excluded.reply, created_at = excluded.created_at"
    )
    insert_rows(connection, tables.idempotency, _COLUMNS, rows, conflict)


def drop_older(connection: Connection, time: int) -> int:
    """Delete the replies of before a time; return how many there were."""
    return execute(connection, "DELETE FROM idempotency WHERE created_at < ?", time)


def count(connection: Connection) -> int:
    """Return how many replies are stored."""
    return int(fetch(connection, "SELECT count(*) FROM idempotency")[0][0])


def empty(connection: Connection) -> list[tuple[str, str]]:
    """Return owner and key of replies that hold nothing, or tell of no request."""
    statement = (
        "SELECT owner, key AS named FROM idempotency WHERE length(reply) = 0 OR length(digest) = 0"
    )
    return [(owner, key) for owner, key in fetch(connection, statement)]
