"""Check stored clusters: names, spokes, canonical texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simstore.model import Finding
from simstore.search.stars import CanonicalOrder
from simstore.services.clusters.repair import StoredGraph, first_place
from simstore.services.clusters.stored_clusters import basis_of
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import clusters
from simstore.storage.clusters import ClusteringRow, TextRow
from simstore.storage.engine import Connection

# Texts that are looked at together.
_PAGE_TEXTS = 1_000
_REMEDY = "`simstore clusters --rebuild`"


def cluster_findings(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what is wrong with kept clusters.

    Texts that wait to be dealt with are left out, and with them what touches them. Where clusters
    are to be made anew only their names are looked at. That two canonical texts have no edge is
    not looked at: it takes as long as making the clusters.

    Args:
        snapshot: The store in a read transaction.
    """
    connection = snapshot.connection
    kept = clusters.row(connection)
    for detail in clusters.broken_names(connection):
        yield Finding("clusters", detail, _REMEDY)
    if kept is None:
        for name in clusters.leftovers(connection):
            yield Finding("clusters", f"{name} has rows, and no clusters are kept", _REMEDY)
        return
    if (kept.basis.bands is None) != (kept.basis.band_rows is None):
        yield Finding("clusters", "their bands have no size, or no number", _REMEDY)
    if kept.state != "standing" or kept.basis != basis_of(snapshot):
        return
    missing = clusters.count_missing(connection)
    if missing:
        yield Finding("clusters", f"{missing} texts are in no cluster and do not wait", _REMEDY)
    for page in clusters.text_pages(connection, _PAGE_TEXTS):
        waiting = clusters.waiting(connection, [row.digest for row in page])
        rows = [row for row in page if row.digest not in waiting]
        yield from _texts(connection, kept, rows)
        yield from _spokes(snapshot, kept, rows)


def _texts(
    connection: Connection, kept: ClusteringRow, rows: Sequence[TextRow]
) -> Iterator[Finding]:
    """Yield texts that are not where their documents are in the policy's order."""
    order = CanonicalOrder(kept.policy, kept.preferred)
    held = clusters.holders(connection, [row.digest for row in rows])
    for row in rows:
        documents = held.get(row.digest)
        if not documents:
            yield Finding("clusters", f"text {row.text_id} has no document", _REMEDY)
        elif first_place(order, documents) != row.place:
            yield Finding("clusters", f"text {row.text_id} is not in its place", _REMEDY)


def _spokes(
    snapshot: Snapshot,
    kept: ClusteringRow,
    rows: Sequence[TextRow],
) -> Iterator[Finding]:
    """Yield members whose edges to earlier canonical texts are not those that are written down."""
    connection = snapshot.connection
    known = clusters.spokes(connection, [row.text_id for row in rows])
    rows = [row for row in rows if row.text_id in known]
    numbers = [row.text_id for row in rows]
    held = clusters.holders(connection, [row.digest for row in rows])
    graph = StoredGraph(snapshot, kept, rows, held)
    met = {centre for spokes in known.values() for centre in spokes}
    edges = graph.edges(numbers, canonical_only=True)
    met |= {other for of_text in edges.values() for other in of_text}
    others = clusters.texts_by_number(connection, list(met))
    waiting = clusters.waiting(connection, [row.digest for row in others.values()])
    settled = {number: row for number, row in others.items() if row.digest not in waiting}
    for row in rows:
        wanted = {
            other: share
            for other, share in edges[row.text_id].items()
            if other in settled and settled[other].place < row.place
        }
        found = {centre: share for centre, share in known[row.text_id].items() if centre in settled}
        if found != wanted:
            yield Finding(
                "clusters", f"text {row.text_id} has other edges than are written down", _REMEDY
            )
