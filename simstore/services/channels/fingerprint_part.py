"""Write, delete and pack (into index pages) the SimHash fingerprints of documents."""

from __future__ import annotations

from collections.abc import Sequence

from simstore.services.channels.store_part import AddedTexts, StorePart
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.services.open_store.state import check_generation
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints


class FingerprintPart(StorePart):
    """The store part of ``simhash``: fingerprints and the documents that have them.

    Queries look them up first (:mod:`simstore.services.channels.fingerprint_search`), as every
    match tells its distance; what fsck checks of them is their generation's.
    """

    def warm(self, snapshot: Snapshot) -> None:
        """Read the resident index, where the store has one."""
        resident = snapshot.store.resident
        if resident is not None and snapshot.generation is not None:
            resident.current(snapshot.connection, snapshot, snapshot.generation)

    def put(self, snapshot: Snapshot, added: AddedTexts) -> None:
        """Link documents with their fingerprints; none before the first generation."""
        connection, generation = snapshot.connection, snapshot.generation
        if generation is None:
            check_generation(snapshot, snapshot.store.database.label)
            return
        if added.batch.words is not None:
            words = added.batch.words[list(added.places.values())]
        else:
            from simstore.services.features import corpus_statistics

            known = corpus_statistics.of_generation(snapshot, generation.generation_id)
            words = snapshot.scheme.fingerprints(added.counts(), known(added.feature_ids))
        counts = fingerprints.link_rows(
            connection,
            snapshot.scheme.bits,
            generation.generation_id,
            list(added.places),
            words,
            packed_count=generation.packed_count,
        )
        snapshot.store.note_added(snapshot, words, counts)

    def last_made(self, snapshot: Snapshot) -> int:
        """Return the largest number of a document that has a fingerprint, or 0."""
        if snapshot.generation is None:
            return 0
        return fingerprints.last_linked_document(
            snapshot.connection, snapshot.scheme.bits, snapshot.generation.generation_id
        )

    def drop(self, connection: Connection, document_ids: Sequence[int]) -> None:
        """Unlink documents from their fingerprints."""
        fingerprints.unlink_many(connection, document_ids)

    def pack_long_tail(self, opened: OpenStore) -> bool:
        """Pack fingerprints where the store is large and the tail long."""
        from simstore.services.channels import pack_fingerprints

        return pack_fingerprints.pack_long_tail(opened)
