"""Read, write and check the history of documents: times, earlier versions and links."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.documents import Times
from simstore.storage.rows import execute, fetch, insert_rows, select_in

# Earlier versions that are kept of a document; beyond, the oldest go.
MOST_SNAPSHOTS = 20


@dataclass(frozen=True, slots=True)
class SightRow:
    """The digest of the content that a key was seen with, and the times."""

    key: bytes
    digest: bytes
    first_seen: int
    last_seen: int


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """An earlier version of a document: a row of the table ``snapshot`` without its document."""

    revision: int
    digest: bytes
    first_seen: int
    last_seen: int


_SIGHT = "key, digest, first_seen, last_seen"
_PUT_TIMES = sql.text(
    "UPDATE document SET first_seen = :first_seen, first_seen_basis = :first_seen_basis, "
    "last_seen = :last_seen, version_seen = :version_seen "
    "WHERE document_id = :number"
)
_DROP_OLD = (
    "DELETE FROM snapshot WHERE document_id = ? AND revision <= (SELECT revision FROM snapshot "
    "WHERE document_id = ? ORDER BY revision DESC LIMIT 1 OFFSET ?)"
)


def put_times(connection: Connection, times: Mapping[int, Times]) -> None:
    """Set the times at which documents were seen, by their numbers."""
    if times:
        rows = [one.columns() | {"number": number} for number, one in sorted(times.items())]
        connection.execute(_PUT_TIMES, rows)


def put_snapshots(connection: Connection, versions: Mapping[int, Sequence[SnapshotRow]]) -> None:
    """Keep earlier versions of documents, by their numbers; the oldest beyond the limit go."""
    rows = [
        (number, one.revision, one.digest, one.first_seen, one.last_seen)
        for number, some in sorted(versions.items())
        for one in some[-MOST_SNAPSHOTS:]
    ]
    columns = ("document_id", "revision", "digest", "first_seen", "last_seen")
    insert_rows(connection, tables.snapshot, columns, rows)
    for number, some in versions.items():
        # A revision is a number from 1: only a later one can be the 21st version.
        if some and some[-1].revision > MOST_SNAPSHOTS:
            execute(connection, _DROP_OLD, number, number, MOST_SNAPSHOTS)


def drop_old_undated(connection: Connection, most: int) -> None:
    """Forget earlier versions of documents that no source dates, but the latest of each.

    Args:
        connection: A writer.
        most: How many of a document are left.
    """
    execute(
        connection,
        "DELETE FROM snapshot WHERE (document_id, revision) IN (SELECT document_id, revision FROM "
        "(SELECT s.document_id AS document_id, s.revision AS revision, row_number() OVER "
        "(PARTITION BY s.document_id ORDER BY s.revision DESC) AS place FROM snapshot s "
        "JOIN document d ON d.document_id = s.document_id WHERE d.first_seen_basis = 'ingest') "
        "AS numbered WHERE place > ?)",
        most,
    )


def snapshots_of(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, list[SnapshotRow]]:
    """Return the earlier versions of documents that have some, the oldest first."""
    statement = (
        "SELECT document_id, revision, digest, first_seen, last_seen FROM snapshot "
        "WHERE document_id IN ({})"
    )
    found: dict[int, list[SnapshotRow]] = {}
    for row in sorted(select_in(connection, statement, document_ids)):
        found.setdefault(row[0], []).append(SnapshotRow(*row[1:]))
    return found


def drop_links(connection: Connection, document_ids: Sequence[int]) -> None:
    """Delete the links of documents."""
    for number in document_ids:
        execute(connection, "DELETE FROM document_link WHERE document_id = ?", number)


def add_links(connection: Connection, links: Mapping[int, Collection[bytes]]) -> None:
    """Note keys that documents link to, besides those that are noted."""
    rows = [(number, target) for number, some in sorted(links.items()) for target in sorted(some)]
    insert_rows(
        connection, tables.document_link, ("document_id", "target"), rows, "ON CONFLICT DO NOTHING"
    )


def links_of(connection: Connection, document_ids: Sequence[int]) -> dict[int, list[bytes]]:
    """Return the keys that documents link to, of those that link to some."""
    statement = "SELECT document_id, target FROM document_link WHERE document_id IN ({})"
    found: dict[int, list[bytes]] = {}
    for number, target in sorted(select_in(connection, statement, document_ids)):
        found.setdefault(number, []).append(target)
    return found


def times_of(connection: Connection, document_ids: Sequence[int]) -> dict[int, tuple[bytes, Times]]:
    """Return the keys of documents, and the times at which each was seen."""
    statement = (
        "SELECT document_id, key, first_seen, first_seen_basis, last_seen, "
        "coalesce(version_seen, first_seen) FROM document WHERE document_id IN ({})"
    )
    rows = select_in(connection, statement, document_ids)
    return {row[0]: (row[1], Times(*row[2:])) for row in rows}


def sights_of_keys(connection: Connection, keys: Sequence[bytes]) -> list[SightRow]:
    """Return the documents among these keys."""
    statement = f"SELECT {_SIGHT} FROM document WHERE key IN ({{}})"  # noqa: S608 - ours
    return [SightRow(*row) for row in select_in(connection, statement, keys)]


def sights_of_digest(connection: Connection, digest: bytes) -> list[SightRow]:
    """Return the documents with a content, by its digest."""
    statement = f"SELECT {_SIGHT} FROM document WHERE digest = ?"  # noqa: S608 - ours
    return [SightRow(*row) for row in fetch(connection, statement, digest)]


def earliest_with_digest(connection: Connection, digest: bytes, limit: int) -> list[bytes]:
    """Return the keys of documents with a content, the first seen first, at most ``limit``."""
    statement = "SELECT key FROM document WHERE digest = ? ORDER BY first_seen, document_id LIMIT ?"
    return [row[0] for row in fetch(connection, statement, digest, limit)]


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
    (
        "an earlier version is not earlier",
        "SELECT DISTINCT key FROM document JOIN snapshot USING (document_id) "
        "WHERE snapshot.revision >= document.revision OR snapshot.revision < 1",
    ),
    (
        "an earlier version was seen at impossible times",
        "SELECT DISTINCT key FROM document JOIN snapshot USING (document_id) "
        "WHERE snapshot.last_seen < snapshot.first_seen "
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
