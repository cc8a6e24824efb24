"""The resident index: all fingerprints of a generation in memory, sorted once for each segment."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from simstore.fingerprint.simhash import word_count
from simstore.search.sorted_tables import SortedTables
from simstore.storage import fingerprints
from simstore.storage.engine import Connection
from simstore.storage.generations import GenerationRow


@dataclass(frozen=True, slots=True)
class _Kept:
    """Tables, and the state of the store that they were made of."""

    moment: tuple[int, int]
    tables: SortedTables


class ResidentIndex:
    """Keeps the tables of the generation that was last asked for, in this process.

    They are made of a snapshot and serve every snapshot with the same generation and edition, which
    grows whenever a fingerprint comes or goes: no answer is stale.
    """

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        self._lock = threading.Lock()

    def tables(self, connection: Connection, bits: int, row: GenerationRow) -> SortedTables:
        """Return the tables of a generation in a snapshot; read where they are not kept."""
        moment = (row.generation_id, row.edition)
        kept = self._kept  # one read: another thread may put another in its place
        if kept is not None and kept.moment == moment:
            return kept.tables
        with self._lock:
            kept = self._kept
            if kept is None or kept.moment != moment:
                # Not both at once: they may take much memory.
                self._kept = None
                kept = _Kept(moment, sorted_tables(connection, bits, row.generation_id))
                self._kept = kept
        return kept.tables


def sorted_tables(connection: Connection, bits: int, generation_id: int) -> SortedTables:
    """Read all fingerprints of a generation and sort them.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        generation_id: The generation.
    """
    parts = [np.empty((0, word_count(bits)), np.uint64)]
    parts += fingerprints.scan(connection, bits, generation_id)
    return SortedTables(np.concatenate(parts), bits)
