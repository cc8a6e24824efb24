"""Statistics that take the same short time however large the store is."""

from __future__ import annotations

from simstore.model import StoreVitals
from simstore.services.open_store.open_store import OpenStore
from simstore.storage import documents, duplicates, fingerprints, runs, sketches


def store_vitals(opened: OpenStore) -> StoreVitals:
    """Return a store's vital figures; no table is read but for counting its rows."""
    database = opened.database
    with database.read() as connection:
        state = opened.state(connection)
        count = documents.count(connection)
        total = packed = linked = 0
        if state.generation is not None:
            generation = state.generation
            total, packed = generation.fingerprint_count, generation.packed_count
            linked = fingerprints.link_count(
                connection, state.scheme.bits, generation.generation_id
            )
        waiting = count - linked if state.channels.simhash else 0
        layout = sketches.layout(connection, state.scheme_id)
        after = layout.packed_to if layout else 0
        return StoreVitals(
            document_count=count,
            fingerprint_count=total,
            tail_fingerprints=total - packed,
            sketch_count=sketches.count(connection, state.scheme_id),
            tail_sketches=sketches.count(connection, state.scheme_id, after),
            waiting=waiting,
            fresh=state.is_fresh and not waiting,
            follows_corpus=state.scheme.depends_on_corpus,
            duplicates=duplicates.counts(connection),
            reject_count=runs.reject_count(connection),
            changes=state.settings.changes,
            file_bytes=database.file_bytes(),
        )
