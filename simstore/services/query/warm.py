"""Read into memory what queries go by, before they are asked."""

from __future__ import annotations

from simstore.services.open_store.open_store import OpenStore
from simstore.services.query.minhash_channel import MinhashChannel


def warm(opened: OpenStore) -> None:
    """Read the resident index, where the store has one, and the bands of its sketches."""
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        if opened.resident is not None and snapshot.generation is not None:
            opened.resident.current(snapshot.connection, snapshot, snapshot.generation)
        if snapshot.channels.has_word_sketches:
            MinhashChannel(snapshot).warm()
