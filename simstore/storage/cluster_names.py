"""Read and write the table of clusters: lasting numbers, canonical texts, ends and merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.rows import execute, fetch, insert_rows, next_numbers, select_in

# Names that ended and are remembered at least, and how many clusters there are to one of them.
LEAST_ENDED = 1_000
_STANDING_TO_ENDED = 10


@dataclass(frozen=True, slots=True)
class StarRow:
    """A cluster: its name, its canonical text, and its canonical document."""

    name: int
    centre: int
    digest: bytes
    document_id: int


def names(connection: Connection, centres: Sequence[int]) -> dict[int, int]:
    """Return the names of the clusters around canonical texts."""
    statement = "SELECT centre_id, cluster_id FROM cluster WHERE centre_id IN ({})"
    return dict(select_in(connection, statement, centres))


def centre(connection: Connection, name: int) -> int | None:
    """Return the canonical text of a cluster; None where there is none of this name."""
    found = fetch(connection, "SELECT centre_id FROM cluster WHERE cluster_id = ?", name)
    return found[0][0] if found else None


def all_names(connection: Connection) -> list[StarRow]:
    """Return all clusters that have not ended, ascending by name."""
    statement = (
        "SELECT c.cluster_id, c.centre_id, t.digest, t.document_id FROM cluster c "
        "JOIN cluster_text t ON t.text_id = c.centre_id ORDER BY c.cluster_id"
    )
    return [
        StarRow(name, centre, bytes(digest), document_id)
        for name, centre, digest, document_id in fetch(connection, statement)
    ]


def free_names(connection: Connection) -> None:
    """Take the canonical texts from all names, before they get others."""
    connection.execute(
        sql.update(tables.cluster)
        .where(tables.cluster.c.centre_id.is_not(None))
        .values(centre_id=None)
    )


def give_names(connection: Connection, centres: Sequence[int], created_at: int) -> list[int]:
    """Make new clusters around canonical texts; return their names, in their order."""
    made = next_numbers(connection, "cluster", "cluster_id", len(centres))
    rows = [(name, centre, created_at) for name, centre in zip(made, centres, strict=True)]
    insert_rows(connection, tables.cluster, ("cluster_id", "centre_id", "created_at"), rows)
    return made


def move_names(connection: Connection, centres: Mapping[int, int]) -> None:
    """Change the canonical texts of clusters, by their numbers."""
    statement = (
        "UPDATE cluster SET centre_id = ?, merged_into = NULL, ended_at = NULL WHERE cluster_id = ?"
    )
    for name, centre in centres.items():
        execute(connection, statement, centre, name)


def end_names(connection: Connection, merged: Mapping[int, int | None], ended_at: int) -> None:
    """Record that clusters ended, each merged into another or into none."""
    statement = (
        "UPDATE cluster SET centre_id = NULL, merged_into = ?, ended_at = ? WHERE cluster_id = ?"
    )
    for name, into in merged.items():
        execute(connection, statement, into, ended_at, name)


def end_nameless(connection: Connection, ended_at: int) -> None:
    """End clusters that are around nothing and have not ended: their texts were lost."""
    statement = "UPDATE cluster SET ended_at = ? WHERE centre_id IS NULL AND ended_at IS NULL"
    execute(connection, statement, ended_at)


def drop_old_ended(connection: Connection) -> None:
    """Forget names that ended long ago: beyond 1,000, or a tenth of the clusters, the oldest go.

    A name that a later one merged into stays as long as that one does.
    """
    counted = "SELECT count(ended_at), count(centre_id) FROM cluster"
    ended, standing = fetch(connection, counted)[0]
    most = max(LEAST_ENDED, standing // _STANDING_TO_ENDED)
    if ended <= most:
        return
    execute(
        connection,
        "WITH RECURSIVE held (cluster_id) AS ("
        "SELECT cluster_id FROM (SELECT cluster_id FROM cluster WHERE ended_at IS NOT NULL "
        "ORDER BY ended_at DESC, cluster_id DESC LIMIT ?) AS latest "
        "UNION SELECT c.merged_into FROM cluster c JOIN held h ON c.cluster_id = h.cluster_id "
        "WHERE c.merged_into IS NOT NULL) "
        "DELETE FROM cluster WHERE ended_at IS NOT NULL AND cluster_id NOT IN "
        "(SELECT cluster_id FROM held)",
        most,
    )


def merges(connection: Connection, after: int, limit: int) -> list[tuple[int, int | None, int]]:
    """Return ended clusters by number: number, cluster merged into (or None), time of the end."""
    statement = (
        "SELECT cluster_id, merged_into, ended_at FROM cluster WHERE ended_at IS NOT NULL "
        "AND cluster_id > ? ORDER BY cluster_id LIMIT ?"
    )
    return [(row[0], row[1], row[2]) for row in fetch(connection, statement, after, limit)]


def centres_after(
    connection: Connection, after: int, limit: int, *, alone: bool
) -> list[tuple[int, int]]:
    """Return (name, canonical text) of clusters, ascending by name.

    Args:
        connection: A snapshot.
        after: Only names above it.
        limit: At most so many.
        alone: Those of one document too.
    """
    more = (
        ""
        if alone
        else "AND (EXISTS (SELECT 1 FROM cluster_spoke s WHERE s.centre_id = c.centre_id) OR "
        "(SELECT count(*) FROM document d JOIN cluster_text t ON t.digest = d.digest "
        "WHERE t.text_id = c.centre_id) > 1) "
    )
    statement = (
        "SELECT c.cluster_id, c.centre_id FROM cluster c WHERE c.centre_id IS NOT NULL "  # noqa: S608
        f"AND c.cluster_id > ? {more}ORDER BY c.cluster_id LIMIT ?"
    )
    return [(row[0], row[1]) for row in fetch(connection, statement, after, limit)]


def counts(connection: Connection) -> tuple[int, int]:
    """Return how many texts there are and how many of them are canonical."""
    found = fetch(connection, "SELECT count(*) FROM cluster_text")
    centres = fetch(connection, "SELECT count(*) FROM cluster WHERE centre_id IS NOT NULL")
    return found[0][0], centres[0][0]


# Texts that can be in a cluster with another document: the others need not be looked at.
_WITH_OTHERS = (
    "WHERE t.text_id IN (SELECT text_id FROM cluster_spoke) "
    "OR t.text_id IN (SELECT centre_id FROM cluster_spoke) "
    "OR t.digest IN (SELECT digest FROM document GROUP BY digest HAVING count(*) > 1)"
)


def count_of_several(connection: Connection) -> int:
    """Return the number of clusters of two documents and more."""
    statement = f"SELECT count(*) FROM ({_sizes(_WITH_OTHERS)}) sized WHERE documents > 1"  # noqa: S608
    return int(fetch(connection, statement)[0][0])


def largest(connection: Connection) -> int:
    """Return the number of documents of the largest cluster."""
    statement = f"SELECT coalesce(max(documents), 0) FROM ({_sizes()}) sized"  # noqa: S608
    return int(fetch(connection, statement)[0][0])


def _sizes(of_texts: str = "") -> str:
    """Return a statement for the number of documents of each cluster."""
    return (
        "SELECT count(*) AS documents FROM ("  # noqa: S608
        "SELECT t.digest AS digest, coalesce((SELECT s.centre_id FROM cluster_spoke s "
        "JOIN cluster_text c ON c.text_id = s.centre_id WHERE s.text_id = t.text_id "
        "ORDER BY s.resemblance DESC, c.major, c.first_seen, c.document_id LIMIT 1), t.text_id) "
        "AS centre_id "
        f"FROM cluster_text t {of_texts}) joined JOIN document d ON d.digest = joined.digest "
        "GROUP BY centre_id"
    )
