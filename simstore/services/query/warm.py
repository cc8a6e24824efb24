"""Load the query indexes of a store into memory before the first query."""

from __future__ import annotations

from simstore.services.channels.store_part import parts_of
from simstore.services.open_store.open_store import OpenStore


def warm(opened: OpenStore) -> None:
    """Read what each channel of the store is searched by."""
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        for part in parts_of(snapshot):
            part.warm(snapshot)
