"""Documents as clustering reads them: all of them, and little of each."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from simstore.storage.rows import fetch
from simstore.text.decoding import line_as_stored

_ROWS = (
    "SELECT document_id, key, digest, byte_count, token_count, first_seen FROM document "
    "WHERE document_id > ? "
)


def content_rows(
    connection: Connection, after: int, limit: int, collection: str | None
) -> list[tuple[Any, ...]]:
    """Return documents in order of ingest: number, key, digest, bytes, features, first seen.

    Args:
        connection: A snapshot.
        after: Only numbers above it.
        limit: At most so many.
        collection: Only documents of this collection; None: of any or none.
    """
    if collection is None:
        return fetch(connection, _ROWS + "ORDER BY document_id LIMIT ?", after, limit)
    statement = _ROWS + "AND collection = ? ORDER BY document_id LIMIT ?"
    return fetch(connection, statement, after, line_as_stored(collection), limit)
