"""Check the stored history, duplicates, clusters, access tokens and replies for contradictions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from simstore.errors import counted, printable
from simstore.model import Finding
from simstore.search.stars import CanonicalOrder
from simstore.services.clusters.repair import StoredGraph, first_place
from simstore.services.clusters.stored_clusters import basis_of
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import clusters, documents, duplicates, history, tokens
from simstore.storage.clusters import ClusteringRow, TextRow
from simstore.storage.engine import Connection
from simstore.text.decoding import exact_text

_REINGEST = "remove the document and ingest it again"
_PAGE = 1_000
# Texts that are looked at together.
_PAGE_TEXTS = 1_000
_REBUILD = "`simstore clusters --rebuild`"
_DIGEST_BYTES = hashlib.sha256().digest_size


def check_history(connection: Connection, most: int) -> Iterator[Finding]:
    """Yield contradictions in the times and earlier versions of documents.

    Args:
        connection: A snapshot.
        most: At most so many documents of a kind.
    """
    for key, problem in history.broken(connection, most):
        shown = printable(exact_text(key))
        yield Finding("history", f"{shown}: {problem}", _REINGEST)


def duplicate_problems(connection: Connection) -> Iterator[str]:
    """Check the recorded duplicates against the documents.

    A flagged key is that of its document, with the same text; no other has one. All but orphans
    have an original that is stored, is another document, and goes by the key that is noted. The
    original of a flagged one is not flagged itself; that of a skipped one may be, where an earlier
    original of it came later. A flagged one says so if its original has the same text.
    """
    after: bytes | None = None
    while True:
        rows = duplicates.some(connection, state=None, original=None, after=after, limit=_PAGE)
        held = documents.by_keys(connection, [row.key for row in rows])
        originals = sorted({row.original_id for row in rows if row.original_id is not None})
        keys = documents.keys_of(connection, originals)
        digests = {
            number: digest
            for number, (digest, _) in documents.sizes_of(connection, originals).items()
        }
        flagged = duplicates.flagged_among(connection, originals)
        for row in rows:
            name = repr(printable(exact_text(row.key)))
            document = held.get(row.key)
            if row.state == "flagged":
                if document is None or row.document_id != document.document_id:
                    yield f"{name} is flagged, and no document of this key is meant"
                elif row.digest != document.digest:
                    yield f"{name} is flagged, and its document has another text"
            elif document is not None or row.document_id is not None:
                yield f"{name} is {row.state}, and stored too"
            if row.state == "orphaned":
                if row.original_id is not None:
                    yield f"{name} is an orphan, and has an original"
            elif row.original_id is None:
                yield f"{name} is {row.state}, and has no original"
            elif row.original_id == row.document_id:
                yield f"{name} is its own original"
            elif row.original_id in flagged and row.state == "flagged":
                yield f"{name} is flagged because of a document that is flagged itself"
            elif keys.get(row.original_id) != row.original_key:
                yield f"{name} names another original than it has"
            elif row.state == "flagged" and (
                (digests.get(row.original_id) == row.digest) != (row.basis == "same")
            ):
                yield f"{name} is said to be found by {row.basis!r}, and its original's text " + (
                    "is another" if row.basis == "same" else "is the same"
                )
            elif row.basis == "same" and (row.resemblance != 1 or row.distance):
                yield f"{name} has the text of its original, and is said to differ from it"
        if len(rows) < _PAGE:
            return
        after = rows[-1].key


def check_clusters(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield the errors in stored clusters.

    Texts that wait to be dealt with are left out, and with them what touches them. Where clusters
    are to be made anew only their names are looked at. That two canonical texts have no edge is
    not looked at: it takes as long as making the clusters.

    Args:
        snapshot: The store in a read transaction.
    """
    connection = snapshot.connection
    kept = clusters.row(connection)
    for detail in clusters.broken_names(connection):
        yield Finding("clusters", detail, _REBUILD)
    if kept is None:
        for name in clusters.leftovers(connection):
            yield Finding("clusters", f"{name} has rows, and no clusters are kept", _REBUILD)
        return
    if (kept.basis.bands is None) != (kept.basis.band_rows is None):
        yield Finding("clusters", "their bands have no size, or no number", _REBUILD)
    if kept.state != "standing" or kept.basis != basis_of(snapshot):
        return
    missing = clusters.count_missing(connection)
    if missing:
        yield Finding(
            "clusters",
            f"{counted(missing, 'text is', 'texts are')} in no cluster and not waiting",
            _REBUILD,
        )
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
            yield Finding("clusters", f"text {row.text_id} has no document", _REBUILD)
        elif first_place(order, documents) != row.place:
            yield Finding("clusters", f"text {row.text_id} is not in its place", _REBUILD)


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
                "clusters", f"text {row.text_id} has other edges than are written down", _REBUILD
            )


def token_problems(connection: Connection) -> Iterator[str]:
    """Yield tokens that nobody can hold, as no secret has such a digest, or that never began."""
    for row in tokens.rows(connection):
        name = repr(printable(row.name))
        if len(row.digest) != _DIGEST_BYTES:
            yield f"{name}: the digest of its secret has {len(row.digest)} bytes"
        if row.expires_at is not None and row.expires_at <= row.created_at:
            yield f"{name} expired before it was made"
