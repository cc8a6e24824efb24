"""Channel 2: from sketches to the stored documents whose sketches agree with them in a band.

Packed sketches are looked up by their pages; those of the tail are held in memory and compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.channels import unpack_sketches
from simstore.fingerprint.minhash import band_values
from simstore.search.bands import BandTable, checks, distinct, page_numbers, unpack_page
from simstore.services.opened import OpenStore, State
from simstore.storage import sketches
from simstore.storage.engine import Connection
from simstore.storage.sketches import StoredSketch

# Sketches of a tail that are kept in memory from query to query: 256 MB of bands.
_KEPT_SKETCHES = 1_000_000


@dataclass(frozen=True, slots=True)
class KeptTail:
    """The bands of a tail, kept from query to query.

    Attributes:
        layout_id: The layout it is the tail of, 0 before the first.
        changes: The store's count of changes when it was read.
    """

    scheme_id: int
    layout_id: int
    changes: int
    table: BandTable


class SketchSearch:
    """A search by sketches in one snapshot of a store.

    Attributes:
        layout: The bands that sketches are cut into.
    """

    def __init__(self, opened: OpenStore, connection: Connection, state: State) -> None:
        self._opened = opened
        self._connection = connection
        self._state = state
        self._packed = sketches.layout(connection, state.scheme_id)
        self.layout = self._packed.layout if self._packed else state.channels.layout

    def find(self, wanted: NDArray[np.uint16]) -> list[dict[int, StoredSketch]]:
        """Return the stored sketches that agree with each in a band, by their documents.

        Args:
            wanted: Sketches of sets that are not empty, shape (samples, 128).
        """
        if not len(wanted):
            return []
        queries = band_values(wanted, self.layout)
        numbers = [self._packed_candidates(queries)]
        numbers += [table.candidates(queries) for table in self._tail()]
        found = []
        for query, parts in zip(queries, zip(*numbers, strict=True), strict=True):
            candidates = distinct(np.concatenate(parts))
            found.append(self._agreeing(query, candidates.tolist()))
        return found

    def _packed_candidates(self, queries: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
        empty = np.empty(0, np.int64)
        if self._packed is None:
            return [empty] * len(queries)
        places = page_numbers(queries, self._packed.key_bits)
        packed = sketches.pages(
            self._connection, self._packed.layout_id, distinct(places.ravel()).tolist()
        )
        wanted = checks(queries)
        found = []
        for pages, check_bits in zip(places.tolist(), wanted, strict=True):
            parts = [empty]
            for page, check in zip(pages, check_bits, strict=True):
                postings = packed.get(page)
                if postings is None:
                    continue
                try:
                    held, numbers = unpack_page(postings)
                except ValueError as error:
                    raise CorruptStore(self._opened.database.label, str(error)) from error
                parts.append(numbers[held == check])
            found.append(np.concatenate(parts))
        return found

    def _agreeing(self, query: NDArray[np.uint64], numbers: list[int]) -> dict[int, StoredSketch]:
        """Return the candidates that are still there and agree in a band, by document."""
        rows = sketches.by_numbers(self._connection, self._state.scheme_id, numbers)
        stored = [row for row in rows.values() if row.packed]
        if not stored:
            return {}
        bands = band_values(self._unpacked([row.packed for row in stored]), self.layout)
        agree = (bands == query).any(axis=1)
        return {row.document_id: row for row, agrees in zip(stored, agree, strict=True) if agrees}

    def _tail(self) -> Iterator[BandTable]:
        """Yield the bands of the sketches that are not packed."""
        opened, state = self._opened, self._state
        layout_id = self._packed.layout_id if self._packed else 0
        after = self._packed.packed_to if self._packed else 0
        kept = opened.kept_tail  # one read: another thread may put another in its place
        tables = []
        if kept and (kept.scheme_id, kept.layout_id) == (state.scheme_id, layout_id):
            if kept.changes == state.settings.changes:
                yield kept.table
                return
            if kept.changes < state.settings.changes and len(kept.table.numbers):
                tables = [kept.table]
                after = int(kept.table.numbers[-1])
        held = sum(len(table.numbers) for table in tables)
        for numbers, packed in sketches.read_after(self._connection, state.scheme_id, after):
            table = BandTable(band_values(self._unpacked(packed), self.layout), numbers)
            held += len(numbers)
            if held > _KEPT_SKETCHES:
                yield from tables
                tables = []
            tables.append(table)
        if held > _KEPT_SKETCHES:
            yield from tables
            return
        whole = _joined(tables, self.layout.bands)
        if kept is None or kept.changes <= state.settings.changes:
            opened.kept_tail = KeptTail(state.scheme_id, layout_id, state.settings.changes, whole)
        yield whole

    def _unpacked(self, packed: Sequence[bytes]) -> NDArray[np.uint16]:
        try:
            return unpack_sketches(packed)
        except ValueError as error:
            raise CorruptStore(self._opened.database.label, str(error)) from error


def _joined(tables: Sequence[BandTable], bands: int) -> BandTable:
    if len(tables) == 1:
        return tables[0]
    return BandTable(
        np.concatenate([np.empty((0, bands), np.uint64), *(table.bands for table in tables)]),
        np.concatenate([np.empty(0, np.int64), *(table.numbers for table in tables)]),
    )
