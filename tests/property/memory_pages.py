"""Pages of posting indexes in memory, and what an index is to find by a plain list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simstore.index.filters import Filters
from simstore.index.pages import DamagedPage, Entries
from simstore.index.postings import Row, Run

Entry = tuple[int, ...]


class MemoryPages:
    """The runs of one index; rows are asked for in ascending order, and written once."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._last_number = 0
        self._filters: dict[tuple[int, ...], Filters] = {}
        self.rows: dict[int, dict[int, bytes]] = {}
        self.read_count = 0
        self.statement_count = 0

    def runs(self) -> Sequence[Run]:
        return self._runs

    def add_run(self, run: Run) -> Run:
        self._last_number += 1
        made = replace(run, number=self._last_number)
        self._runs = [*self._runs, made]
        self.rows[made.number] = {}
        return made

    def set_totals(self, run: Run) -> None:
        self._runs = [run if one.number == run.number else one for one in self._runs]

    def drop_run(self, run: Run) -> None:
        self._runs = [one for one in self._runs if one.number != run.number]
        del self.rows[run.number]

    def read(self, run: Run, places: Sequence[int]) -> list[Row]:
        assert list(places) == sorted(set(places))
        self.read_count += len(places)
        held = self.rows[run.number]
        return [(place, held[place]) for place in places if place in held]

    def read_each(self, wanted: Sequence[tuple[Run, int]]) -> list[bytes | None]:
        self.read_count += len(wanted)
        self.statement_count += 1
        return [self.rows[run.number].get(place) for run, place in wanted]

    def read_between(self, run: Run, first: int, end: int) -> list[Row]:
        return [row for row in sorted(self.rows[run.number].items()) if first <= row[0] < end]

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        held = self.rows[run.number]
        for place, row in rows:
            assert place not in held
            held[place] = row

    def delete_between(self, run: Run, first: int, end: int) -> None:
        held = self.rows[run.number]
        self.rows[run.number] = {p: row for p, row in held.items() if not first <= p < end}

    def filters(self) -> Filters:
        numbers = tuple(run.number for run in self._runs)
        made = Filters([run.filter_words for run in self._runs])
        return self._filters.setdefault(numbers, made)

    def damaged(self, error: DamagedPage) -> Exception:
        return error


def entries_of(rows: Sequence[Entry], value_count: int) -> Entries:
    """Return entries (key, integers) as an index takes them."""
    table = np.array(rows, np.uint64).reshape(len(rows), 1 + value_count)
    return Entries(table[:, 0].copy(), table[:, 1:].copy())


def rows_of(entries: Entries) -> list[Entry]:
    """Return entries as (key, integers)."""
    return list(map(tuple, np.column_stack(entries).tolist()))
