"""Checks of times and versions of documents."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from simstore.storage.history import MOST_SNAPSHOTS
from simstore.storage.rows import fetch

# What each statement finds, a document a row.
_BROKEN = (
    (
        "last seen before it was first seen",
        "SELECT key FROM document WHERE last_seen < first_seen",
    ),
    (
        "its present version was first seen outside the times it was seen",
        "SELECT key FROM document WHERE version_seen < first_seen OR version_seen > last_seen",
    ),
    (
        "nobody says when it was first seen",
        "SELECT key FROM document WHERE first_seen_basis NOT IN ('ingest', 'crawl', 'published')",
    ),
    ("never visited", "SELECT key FROM document WHERE visits < 1"),
    (
        "an earlier version is not earlier",
        "SELECT DISTINCT key FROM document JOIN snapshot USING (document_id) "
        "WHERE snapshot.revision >= document.revision OR snapshot.revision < 1",
    ),
    (
        "an earlier version was seen at impossible times",
        "SELECT DISTINCT key FROM document JOIN snapshot USING (document_id) "
        "WHERE snapshot.last_seen < snapshot.first_seen OR snapshot.visits < 1 "
        "OR snapshot.first_seen < document.first_seen OR snapshot.last_seen > document.last_seen",
    ),
    (
        f"more than {MOST_SNAPSHOTS} earlier versions",
        "SELECT key FROM document WHERE document_id IN (SELECT document_id FROM snapshot "  # noqa: S608 - a number
        f"GROUP BY document_id HAVING count(*) > {MOST_SNAPSHOTS})",
    ),
)


def broken(connection: Connection, most: int) -> Iterator[tuple[bytes, str]]:
    """Yield the keys of documents whose history contradicts itself, and how; at most so many."""
    for problem, statement in _BROKEN:
        for (key,) in fetch(connection, f"{statement} LIMIT ?", most):
            yield bytes(key), problem
