"""Record which texts changed, so that the stored clusters can be updated for them later."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from simstore.services.open_store.open_store import Snapshot
from simstore.storage import clusters, documents


def note_changes(snapshot: Snapshot, digests: Collection[bytes]) -> None:
    """Note texts whose documents changed, where the store keeps clusters.

    To be called in the transaction that changes them, for every text that gained or lost a
    document, or of which a document's fingerprint or time of first sight moved.

    Args:
        snapshot: The store in the writer's transaction; the caller commits.
        digests: Digests of the texts, in any order; of a document whose text changed the old and
            the new one. They may repeat.
    """
    if digests and snapshot.settings.keeps_clusters:
        clusters.add_changes(snapshot.connection, digests)


def forget_digests(snapshot: Snapshot, digests: Collection[bytes]) -> None:
    """Forget the digests of texts that have lost their last document.

    Where clusters are kept, a text goes by a random digest until they are brought up to date: then
    it leaves them as any text without documents. While clusters are being made, the digest waits
    until they are.

    Args:
        snapshot: The store in the transaction that removed or changed documents, after
            :func:`note_changes`.
        digests: Digests of the texts; those that another document has stay.
    """
    connection = snapshot.connection
    if not digests or not snapshot.settings.keeps_clusters:
        return
    if clusters.state(connection) != "standing":
        return
    held = documents.by_digests(connection, list(digests))
    gone = [digest for digest in digests if digest not in held]
    clusters.drop_changes(connection, gone)
    known = clusters.texts(connection, gone)
    nameless = {row.text_id: secrets.token_bytes(len(row.digest)) for row in known.values()}
    clusters.put_digests(connection, nameless)
    clusters.add_changes(connection, nameless.values())
