"""Load the query indexes of a store into memory before the first query."""

from __future__ import annotations

from simstore.services.channels.store_part import parts_of
from simstore.services.open_store.open_store import OpenStore


def warm(opened: OpenStore) -> None:
    """Load the query indexes of each channel of the store."""
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        for part in parts_of(snapshot):
            part.warm(snapshot)
