"""The file of a copy that is sent: it has a name only until it is whole."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from simstore import outputs
from simstore.errors import StorageError


def sent_copy(place: Path) -> Path:
    """Return the name of a copy of a store, always the same: one is made at a time."""
    return place.with_name(f".{place.name}.sent")


def drop_left(place: Path) -> None:
    """Delete what a server that was killed has left of a copy; nothing where that cannot be.

    Args:
        place: The store.
    """
    left = sent_copy(place)
    with suppress(OSError, StorageError):
        # Its drafts, too, where the process that made them is dead.
        outputs.draft_beside(left)
        outputs.delete_file(left)
