"""Checks of stored clusters by their tables alone."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from simstore.storage.clusters import TextRow
from simstore.storage.rows import fetch


def count_missing(connection: Connection) -> int:
    """Return how many texts of documents are neither of the clusters nor noted."""
    statement = (
        "SELECT count(DISTINCT d.digest) FROM document d "
        "WHERE NOT EXISTS (SELECT 1 FROM cluster_text t WHERE t.digest = d.digest) "
        "AND NOT EXISTS (SELECT 1 FROM cluster_change c WHERE c.digest = d.digest)"
    )
    return int(fetch(connection, statement)[0][0])


def leftovers(connection: Connection) -> list[str]:
    """Return which tables of clusters hold something, to be asked where none are kept."""
    names = ("cluster", "cluster_text", "cluster_spoke")
    return [
        name
        for name in names
        if fetch(connection, f"SELECT count(*) FROM {name}")[0][0]  # noqa: S608 - our own names
    ]


def broken_names(connection: Connection) -> Iterator[str]:
    """Yield in words what is wrong with the names of clusters and with what is canonical."""
    has_spokes = "EXISTS (SELECT 1 FROM cluster_spoke o WHERE o.text_id = t.text_id)"
    has_name = "EXISTS (SELECT 1 FROM cluster c WHERE c.centre_id = t.text_id)"
    texts = "SELECT count(*) FROM cluster_text t WHERE"
    spoke = (
        "SELECT count(*) FROM cluster_spoke s JOIN cluster_text t ON t.text_id = s.text_id "
        "JOIN cluster_text c ON c.text_id = s.centre_id WHERE"
    )
    later = (
        "c.major > t.major OR c.major = t.major AND (c.first_seen > t.first_seen OR "
        "c.first_seen = t.first_seen AND c.document_id >= t.document_id)"
    )
    for told, statement in (
        (
            "canonical texts are without a name",
            f"{texts} NOT {has_spokes} AND NOT {has_name}",
        ),
        (
            "members have a name of their own",
            f"{texts} {has_spokes} AND {has_name}",
        ),
        (
            "names are of texts that are not there",
            "SELECT count(*) FROM cluster c WHERE c.centre_id IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM cluster_text t WHERE t.text_id = c.centre_id)",
        ),
        (
            "names have ended and not ended",
            "SELECT count(*) FROM cluster WHERE (centre_id IS NULL) <> (ended_at IS NOT NULL)",
        ),
        (
            "edges lead to members",
            f"{spoke} {has_spokes.replace('t.text_id', 's.centre_id')}",
        ),
        ("edges lead to later texts", f"{spoke} {later}"),
    ):
        count = int(fetch(connection, statement)[0][0])
        if count:
            yield f"{count} {told}"


def text_pages(connection: Connection, limit: int) -> Iterator[list[TextRow]]:
    """Yield all texts, ascending by number, some at a time."""
    statement = (
        "SELECT text_id, digest, major, first_seen, document_id FROM cluster_text "
        "WHERE text_id > ? ORDER BY text_id LIMIT ?"
    )
    after = 0
    while rows := fetch(connection, statement, after, limit):
        yield [TextRow(row[0], bytes(row[1]), (row[2], row[3], row[4])) for row in rows]
        after = rows[-1][0]
