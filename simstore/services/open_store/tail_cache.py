"""An in-memory cache, for writers, of fingerprints not yet packed into index pages (the tail)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.storage.engine import Connection
from simstore.storage.fingerprints import tail
from simstore.storage.generations import GenerationRow

if TYPE_CHECKING:
    from simstore.search.sorted_tables import GrowingTables

# Fingerprints of a tail for each that was looked up, from which it is read as a whole.
_TAIL_EACH = 256
# Fingerprints that are kept; more are looked up in the file.
_MOST_KEPT = 4_000_000

_Moment = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CachedNearTail:
    """A cached tail: the fingerprints of a generation that are not in index pages yet.

    Attributes:
        moment: Generation, edition, and fingerprints in pages: with all three the same, the tail
            holds no other fingerprint.
        asked: How many were looked up while it was not kept.
        tables: What the tail holds, and may be some that have left it; None: it was not read.
    """

    moment: _Moment
    asked: int
    tables: GrowingTables | None


class TailCache:
    """Keeps the tail of the generation that was last asked for, in this process.

    Threads may share it: what is kept is replaced, never changed.
    """

    def __init__(self) -> None:
        self.kept: CachedNearTail | None = None

    def forget(self) -> None:
        """Drop the cached tail: fingerprints added to it were rolled back."""
        self.kept = None

    def current(self, row: GenerationRow) -> GrowingTables | None:
        """Return the cached tail of a generation; some fingerprints may have left it since."""
        kept = self.kept  # one read: another thread may put another in its place
        return kept.tables if kept is not None and kept.moment == _moment(row) else None

    def read(
        self, connection: Connection, bits: int, row: GenerationRow, asked: int
    ) -> GrowingTables | None:
        """Read the tail of a generation and keep it.

        Not for a writer beside others: what it adds is not all that comes.

        Args:
            connection: A snapshot, or a writer.
            bits: Fingerprint length M.
            row: The generation in it.
            asked: How many fingerprints are about to be looked up.

        Returns:
            All that the tail holds. None: to read it would take longer than to look up in the file
            what was asked for so far, or it is too large to be kept.
        """
        kept = self.kept  # one read: another thread may put another in its place
        asked += kept.asked if kept is not None and kept.moment[0] == row.generation_id else 0
        size = row.fingerprint_count - row.packed_count
        tables = None
        if size <= min(asked * _TAIL_EACH, _MOST_KEPT):
            from simstore.search.sorted_tables import GrowingTables

            tables = GrowingTables(bits)
            for words in tail.scan(connection, bits, row.generation_id):
                tables = tables.extended(words)
        self.kept = CachedNearTail(_moment(row), 0 if tables is not None else asked, tables)
        return tables

    def note_added(
        self, before: GenerationRow, after: GenerationRow, words: NDArray[np.uint64]
    ) -> None:
        """Keep fingerprints that a writer has added to the tail, and no others.

        Args:
            before: The generation when the transaction began to add them.
            after: The generation after it.
            words: The fingerprints, shape (n, ceil(M / 64)).
        """
        kept = self.kept
        if kept is not None and kept.tables is not None and kept.moment == _moment(before):
            self.kept = CachedNearTail(_moment(after), 0, kept.tables.extended(words))


def _moment(row: GenerationRow) -> _Moment:
    """Return generation, edition and fingerprints in pages: the same, the tail is the same."""
    return row.generation_id, row.edition, row.packed_count
