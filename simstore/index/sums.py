"""Compare what an index holds with what it should hold: counts and checksums of entries by source.

The source of an entry is the first integer beside its key: the number of a sketch, or of a text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import begins_run
from simstore.index.pages import Entries
from simstore.index.postings import PostingIndex
from simstore.text.tokens import GAMMA, mix

_Sums = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]


class EntrySums:
    """A count of the entries of each source, and a sum modulo 2**64 that no order changes."""

    def __init__(self) -> None:
        none = np.empty(0, np.uint64)
        self._parts: list[_Sums] = [(none, np.empty(0, np.int64), none)]

    def add(self, entries: Entries) -> None:
        """Count entries in."""
        hashes = mix(entries.keys * GAMMA)
        for column in entries.values.T[1:]:
            hashes = mix(hashes + column * GAMMA)
        ones = np.ones(len(entries.keys), np.int64)
        self._parts.append(_summed(entries.values[:, 0], ones, hashes))

    def of(self, source: int) -> tuple[int, int]:
        """Return the count and the sum of a source; (0, 0): it has no entries."""
        sources, counts, sums = self._totals()
        place = int(np.searchsorted(sources, np.uint64(source)))
        if place == len(sources) or sources[place] != source:
            return 0, 0
        return int(counts[place]), int(sums[place])

    def differing(self, derived: EntrySums) -> NDArray[np.uint64]:
        """Return the sources of entries that were derived whose entries here are others."""
        sources, counts, sums = self._totals()
        wanted, *expected = derived._totals()
        places = np.minimum(np.searchsorted(sources, wanted), max(len(sources) - 1, 0))
        if not len(sources):
            return wanted
        are_same: NDArray[np.bool_] = sources[places] == wanted
        for held, right in zip((counts, sums), expected, strict=True):
            are_same &= held[places] == right
        different: NDArray[np.uint64] = wanted[~are_same]
        return different

    def count_beyond(self, last: int) -> int:
        """Return how many entries are of sources above the last."""
        sources, counts, _ = self._totals()
        return int(counts[sources > np.uint64(last)].sum())

    def _totals(self) -> _Sums:
        if len(self._parts) > 1:
            self._parts = [_summed(*map(np.concatenate, zip(*self._parts, strict=True)))]
        return self._parts[0]


def sums_of(index: PostingIndex) -> EntrySums:
    """Return the sums of all entries in the runs of an index.

    Raises:
        DamagedPage: A row is none.
    """
    sums = EntrySums()
    for run in index.runs:
        for entries in index.scan(run):
            sums.add(entries)
    return sums


def _summed(
    sources: NDArray[np.uint64], counts: NDArray[np.int64], sums: NDArray[np.uint64]
) -> _Sums:
    """Return counts and sums, added up for each source, by ascending source."""
    order = np.argsort(sources, kind="stable")
    sources = sources[order]
    starts = np.flatnonzero(begins_run(sources))
    if not len(starts):
        return sources, counts, sums
    return (
        sources[starts],
        np.add.reduceat(counts[order], starts),
        np.add.reduceat(sums[order], starts),
    )
