"""Hold all current fingerprints in memory for fast search, and add new ones as they are stored.

The fingerprints are sorted by each segment. None is taken out: a fingerprint that was removed has
no document any more, and is found in vain. So the tables serve every snapshot since the one that
they were read from.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import word_count
from simstore.index import tuning
from simstore.search.sorted_tables import GrowingTables
from simstore.services.open_store.state import State
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints
from simstore.storage.generations import GenerationRow
from simstore.storage.sketches import WORDS


@dataclass(frozen=True, slots=True)
class ResidentTables:
    """All fingerprints of a generation in some snapshots, and some that were removed since.

    Attributes:
        generation_id: The generation.
        first_edition: Edition of the snapshot that they were read from.
        edition: All that stood at this one, and at those between, are here.
        last_sketch: Documents whose sketches have larger numbers may have come since.
        tables: The fingerprints.
    """

    generation_id: int
    first_edition: int
    edition: int
    last_sketch: int
    tables: GrowingTables

    def serves(self, row: GenerationRow) -> bool:
        """Return whether all fingerprints of a generation in a snapshot are here."""
        same = self.generation_id == row.generation_id
        return same and self.first_edition <= row.edition <= self.edition

    def is_newer(self, other: ResidentTables) -> bool:
        """Return whether these serve later snapshots, or are of a later one, than others."""
        mine, theirs = (
            (one.edition, one.first_edition, one.tables.is_merged) for one in (self, other)
        )
        return self.generation_id == other.generation_id and mine > theirs


class ResidentIndex:
    """Keeps the fingerprints of the generation that was last asked for, in this process.

    Writers note what they add; what other processes have added is read when it is asked for. What
    a writer has is its own until it commits. One writer at a time; any number of threads ask.
    """

    def __init__(self) -> None:
        self._kept: ResidentTables | None = None
        self._writer: Connection | None = None
        # What the writer under way has; None: what is kept.
        self._pending: ResidentTables | None = None
        self._lock = threading.Lock()

    def begin(self, connection: Connection) -> None:
        """Begin a writer's turn."""
        self._writer, self._pending = connection, None

    def end(self, *, committed: bool) -> None:
        """End a writer's turn; its additions are shared with all readers if it committed."""
        pending = self._pending
        self._writer = self._pending = None
        if committed and pending is not None:
            # Not for the lock: a commit does not wait for a reader that reads all.
            self._keep(pending)

    def current(self, connection: Connection, state: State, row: GenerationRow) -> ResidentTables:
        """Return all fingerprints of a generation in a snapshot, and perhaps some that have gone.

        Args:
            connection: The snapshot, or a writer.
            state: What stands in it.
            row: Its generation.
        """
        held = self._held(connection)
        if held is not None and held.serves(row):
            return held
        # Not twice at once: they may take much memory.
        with self._lock:
            held = self._held(connection)
            if held is None or not held.serves(row):
                held = _brought_up(connection, state, row, held)
                self._put(connection, held)
        return held

    def tables(self, connection: Connection, state: State, row: GenerationRow) -> GrowingTables:
        """Return exactly the fingerprints of a generation in a snapshot, in one level."""
        held = self.current(connection, state, row)
        held = replace(held, tables=held.tables.merged())
        if len(held.tables) != row.fingerprint_count:
            # Some have gone, or have come after this snapshot.
            held = _read(connection, state, row)
        with self._lock:
            self._put(connection, held)
        return held.tables

    def note_added(
        self,
        connection: Connection,
        before: GenerationRow,
        after: GenerationRow,
        words: NDArray[np.uint64],
    ) -> None:
        """Keep fingerprints that the writer under way has added, and no others.

        Args:
            connection: The writer.
            before: The generation at some moment of its transaction before it added them.
            after: The generation after it.
            words: The fingerprints, shape (n, ceil(M / 64)).
        """
        held = self._held(connection)
        if self._writer is connection and held is not None and held.serves(before):
            grown = replace(held, tables=held.tables.extended(words), edition=after.edition)
            self._pending = _unless_many_gone(grown, after)

    def _held(self, connection: Connection) -> ResidentTables | None:
        pending = self._pending  # one read: another thread may put another in its place
        return pending if pending is not None and self._writer is connection else self._kept

    def _put(self, connection: Connection, held: ResidentTables) -> None:
        if self._writer is connection:
            self._pending = held
        else:
            self._keep(held)

    def _keep(self, held: ResidentTables) -> None:
        kept = self._kept
        if kept is None or held.generation_id > kept.generation_id or held.is_newer(kept):
            self._kept = held


def _brought_up(
    connection: Connection, state: State, row: GenerationRow, held: ResidentTables | None
) -> ResidentTables:
    """Return what is held with what came until a snapshot; or all that is in it."""
    if (
        held is None
        or held.generation_id != row.generation_id
        or held.first_edition > row.edition
        or not state.channels.has_word_sketches
        or row.fingerprint_count > 2 * len(held.tables)
    ):
        return _read(connection, state, row)
    words, last = fingerprints.linked_after(
        connection, state.scheme.bits, row.generation_id, state.scheme_id, held.last_sketch
    )
    # What a writer of this process has added is here.
    new = np.ones(len(words), np.bool_)
    new[held.tables.near_many(words, 0).query_rows] = False
    made = replace(
        held, tables=held.tables.extended(words[new]), edition=row.edition, last_sketch=last
    )
    if len(made.tables) < row.fingerprint_count:
        return _read(connection, state, row)
    made = _unless_many_gone(made, row)
    return made if made.serves(row) else _read(connection, state, row)


def _read(connection: Connection, state: State, row: GenerationRow) -> ResidentTables:
    """Return what a snapshot holds."""
    last = WORDS.last_number(connection, state.scheme_id) if state.channels.has_word_sketches else 0
    tables = read_tables(connection, state.scheme.bits, row.generation_id)
    return ResidentTables(row.generation_id, row.edition, row.edition, last, tables)


def _unless_many_gone(held: ResidentTables, row: GenerationRow) -> ResidentTables:
    """Return the tables; expired if many of their fingerprints were removed."""
    gone = len(held.tables) - row.fingerprint_count
    if gone > row.fingerprint_count // tuning.GONE_SHARE:
        return replace(held, edition=held.first_edition - 1)
    return held


def read_tables(connection: Connection, bits: int, generation_id: int) -> GrowingTables:
    """Read all fingerprints of a generation and sort them.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        generation_id: The generation.
    """
    parts = [np.empty((0, word_count(bits)), np.uint64)]
    parts += fingerprints.scan(connection, bits, generation_id)
    return GrowingTables(bits, np.concatenate(parts))
