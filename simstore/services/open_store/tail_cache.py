"""The fingerprints of a tail in memory, for a writer that looks up what it adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.growing_tables import GrowingTables
from simstore.services.open_store.open_store import OpenStore
from simstore.services.open_store.state import State
from simstore.storage import generations, tail
from simstore.storage.engine import Connection
from simstore.storage.generations import GenerationRow

# Fingerprints of a tail for each that was looked up, from which it is read as a whole.
_TAIL_EACH = 256
# Fingerprints that are kept; more are looked up in the file.
_MOST_KEPT = 4_000_000

_Moment = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CachedNearTail:
    """The tail of a generation, kept from look-up to look-up.

    Attributes:
        moment: Generation, edition, and fingerprints in pages: with all three the same, the tail
            holds no other fingerprint.
        asked: How many were looked up while it was not kept.
        tables: What the tail holds, and may be some that have left it; None: it was not read.
    """

    moment: _Moment
    asked: int
    tables: GrowingTables | None


def tail_tables(
    opened: OpenStore, connection: Connection, bits: int, row: GenerationRow, asked: int
) -> GrowingTables | None:
    """Return the tail of a generation in memory.

    Args:
        opened: The store.
        connection: A snapshot, or a writer.
        bits: Fingerprint length M.
        row: The generation in it.
        asked: How many fingerprints are about to be looked up.

    Returns:
        All that the tail holds; some may have left it. None: to read it would take longer than to
        look up in the file what was asked for so far, or it is too large to be kept.
    """
    kept = opened.kept_near  # one read: another thread may put another in its place
    moment = _moment(row)
    if kept is not None and kept.moment == moment and kept.tables is not None:
        return kept.tables
    asked += kept.asked if kept is not None and kept.moment[0] == row.generation_id else 0
    size = row.fingerprint_count - row.packed_count
    tables = None
    if not opened.is_beside and size <= min(asked * _TAIL_EACH, _MOST_KEPT):
        tables = GrowingTables(bits)
        for words in tail.scan(connection, bits, row.generation_id):
            tables = tables.extended(words)
    if not opened.is_beside:
        opened.kept_near = CachedNearTail(moment, 0 if tables is not None else asked, tables)
    return tables


def note_added(
    opened: OpenStore, connection: Connection, state: State, words: NDArray[np.uint64]
) -> None:
    """Keep fingerprints with what of the store was in memory when a transaction began to add them.

    Args:
        opened: The store.
        connection: The writer that has added them, and no others.
        state: What stood before.
        words: The fingerprints, shape (n, ceil(M / 64)).
    """
    kept, row, resident = opened.kept_near, state.generation, opened.resident
    if row is None or (kept is None and resident is None) or opened.is_beside:
        # Beside other writers, nobody knows what the tail holds by what this one has added.
        return
    now = generations.standing(connection)[2]
    if now is None:
        return
    if resident is not None:
        resident.note_added(connection, row, now, words)
    if kept is not None and kept.tables is not None and kept.moment == _moment(row):
        opened.kept_near = CachedNearTail(_moment(now), 0, kept.tables.extended(words))


def _moment(row: GenerationRow) -> _Moment:
    return row.generation_id, row.edition, row.packed_count
