"""Read and write the table of access tokens: digests of secrets, scopes and expiry times."""

from __future__ import annotations

from dataclasses import dataclass

from simstore.storage import tables
from simstore.storage.connection import Connection
from simstore.storage.rows import count_rows, execute, fetch, insert_rows

_COLUMNS = ("name", "standing_name", "digest", "scope", "created_at", "expires_at")
_SELECT = "SELECT token_id, name, digest, scope, created_at, expires_at, revoked_at FROM token"


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A stored token: times are seconds since 1970-01-01 UTC, digest is a SHA-256."""

    token_id: int
    name: str
    digest: bytes
    scope: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None


def rows(connection: Connection) -> list[TokenRow]:
    """Return all tokens in the order they were made, the revoked and the expired too."""
    return [
        TokenRow(row[0], row[1], bytes(row[2]), *row[3:])
        for row in fetch(connection, f"{_SELECT} ORDER BY token_id")
    ]


def count(connection: Connection) -> int:
    """Return the number of all tokens."""
    return count_rows(connection, tables.token)


def standing(connection: Connection, name: str) -> TokenRow | None:
    """Return the token of a name that was not revoked."""
    for row in fetch(connection, f"{_SELECT} WHERE standing_name = ?", name):
        return TokenRow(row[0], row[1], bytes(row[2]), *row[3:])
    return None


def add(
    connection: Connection,
    name: str,
    digest: bytes,
    scope: str,
    created_at: int,
    expires_at: int | None,
) -> None:
    """Store a token, whose name no unrevoked token has."""
    insert_rows(
        connection, tables.token, _COLUMNS, [(name, name, digest, scope, created_at, expires_at)]
    )


def revoke(connection: Connection, name: str, revoked_at: int) -> bool:
    """Revoke the token of a name; return whether there was one that was not revoked yet."""
    changed = "UPDATE token SET revoked_at = ?, standing_name = NULL WHERE standing_name = ?"
    return execute(connection, changed, revoked_at, name) > 0
