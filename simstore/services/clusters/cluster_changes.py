"""What changed since clusters were last brought up to date."""

from __future__ import annotations

from collections.abc import Collection

from simstore.storage import clusters
from simstore.storage.engine import Connection


def note_changes(connection: Connection, digests: Collection[bytes]) -> None:
    """Note texts whose documents changed, where the store keeps clusters.

    To be called in the transaction that changes them, for every text that gained or lost a
    document, or of which a document's fingerprint or time of first sight moved.

    Args:
        connection: A writer; the caller commits.
        digests: Digests of the texts, in any order; of a document whose text changed the old and
            the new one. They may repeat.
    """
    if digests and clusters.are_kept(connection):
        clusters.add_changes(connection, digests)
