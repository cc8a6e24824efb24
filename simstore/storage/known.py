"""Read all keys and digests of a store page by page, to fill a filter of known keys."""

from __future__ import annotations

from collections.abc import Iterator

from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt
from simstore.storage.rows import fetch, select_in

_PAGE = 50_000


def count(connection: Connection) -> int:
    """Return how many keys are known: those of documents, and those that were skipped."""
    stored = fetch(connection, "SELECT count(*) FROM document")
    skipped = fetch(connection, "SELECT count(*) FROM duplicate WHERE state = 'skipped'")
    return int(stored[0][0]) + int(skipped[0][0])


def mark(connection: Connection) -> str:
    """Return a token that changes whenever the known keys or contents change.

    Raises:
        CorruptStore: The settings are gone.
    """
    made = "SELECT created_at, changes, (SELECT max(document_id) FROM document) FROM store"
    skipped = "SELECT count(*), max(duplicate_id) FROM duplicate WHERE state = 'skipped'"
    rows = fetch(connection, made)
    if not rows:
        raise corrupt(connection, "the store's parameters are gone: its table store is empty")
    found = *rows[0], *fetch(connection, skipped)[0]
    return "-".join(str(number or 0) for number in found)


def keys(connection: Connection) -> Iterator[list[bytes]]:
    """Yield the keys of documents, and those that were skipped as duplicates, each once."""
    for table, number, rule in (
        ("document", "document_id", ""),
        ("duplicate", "duplicate_id", "AND state = 'skipped' "),
    ):
        statement = (
            f"SELECT {number}, key FROM {table} WHERE {number} > ? {rule}"  # noqa: S608 - ours
            f"ORDER BY {number} LIMIT {_PAGE}"
        )
        after = 0
        while rows := fetch(connection, statement, after):
            yield [bytes(key) for _, key in rows]
            after = rows[-1][0]


def digests(connection: Connection) -> Iterator[list[bytes]]:
    """Yield the digests of the texts of documents, and of those that were skipped, each once."""
    for table, rule in (("document", ""), ("duplicate", "AND state = 'skipped' ")):
        statement = (
            f"SELECT DISTINCT digest FROM {table} WHERE digest > ? {rule}"  # noqa: S608 - ours
            f"ORDER BY digest LIMIT {_PAGE}"
        )
        after = b""
        while rows := fetch(connection, statement, after):
            found = [bytes(digest) for (digest,) in rows]
            after = found[-1]
            if table == "duplicate":
                known = "SELECT digest FROM document WHERE digest IN ({})"
                stored = {bytes(row[0]) for row in select_in(connection, known, found)}
                found = [digest for digest in found if digest not in stored]
            yield found
