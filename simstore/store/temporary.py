"""Temporary stores: a file in a temporary folder, deleted when the store is closed.

SQLite's own databases in memory have no snapshots: a reader would keep the writer waiting for ever
in one thread. So such a store is a file, which the system keeps in memory while it is small.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


class TemporaryPlace:
    """A folder with room for one store; it is removed with the object, or when Python ends."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="simstore-")
        self.path = os.path.join(self._folder, "store.db")
        # A child of this process leaves it to the parent.
        self._remove = weakref.finalize(self, _removed, self._folder, os.getpid())

    def remove(self) -> None:
        """Remove the folder."""
        self._remove()


def _removed(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
