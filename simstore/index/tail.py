"""Entries in memory that no run of an index has yet, in a few sorted parts.

References:
    Bentley, Saxe: Decomposable searching problems I: static-to-dynamic transformation,
    Journal of Algorithms 1, 1980, section 2 (the logarithmic method).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.index.pages import Entries
from simstore.index.postings import Found

# A part of up to so many entries takes in what comes, which moves all that is in it.
_SMALL_ENTRIES = 8_192


class Tail:
    """An immutable index of entries with one integer; growing it makes a new one.

    Args:
        after: The sources (a document, a sketch) with larger numbers than this are in it.
    """

    def __init__(self, after: int = 0) -> None:
        self.after = after
        # The largest number of a source.
        self.last = after
        self._parts: tuple[Entries, ...] = ()

    def __len__(self) -> int:
        return sum(len(part.keys) for part in self._parts)

    def extended(self, entries: Entries, last: int) -> Tail:
        """Return an index with more entries; this one does not change.

        Args:
            entries: The entries, in any order.
            last: The largest number of a source whose entries they are.
        """
        order = np.argsort(entries.keys, kind="stable")
        part, parts = entries.chosen(order), self._parts
        while parts and len(parts[-1].keys) <= max(len(part.keys), _SMALL_ENTRIES):
            part, parts = _merged(parts[-1], part), parts[:-1]
        return self._made(self.after, max(last, self.last), (*parts, part))

    def above(self, number: int) -> Tail:
        """Return an index of the sources with larger numbers than one."""
        kept = (part.chosen(part.values[:, 0] > np.uint64(number)) for part in self._parts)
        return self._made(number, max(self.last, number), tuple(kept))

    def look_up(self, keys: NDArray[np.uint64]) -> Found:
        """Return the entries that have one of some keys, in no order."""
        turns, parts = [np.empty(0, np.int64)], [Entries.none(1)]
        for part in self._parts:
            starts = part.keys.searchsorted(keys)
            # Most are not there: only of the others is looked where they end.
            near = part.keys.take(starts, mode="clip") if len(part.keys) else ~keys
            there = np.flatnonzero(near == keys)
            if not len(there):
                continue
            starts = starts[there]
            counts = part.keys.searchsorted(keys[there], "right") - starts
            steps = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
            turns.append(np.repeat(there, counts))
            parts.append(part.chosen(np.repeat(starts, counts) + steps))
        return Found(np.concatenate(turns), Entries.joined(parts))

    @staticmethod
    def _made(after: int, last: int, parts: tuple[Entries, ...]) -> Tail:
        made = Tail(after)
        made.last, made._parts = last, parts
        return made


def _merged(one: Entries, other: Entries) -> Entries:
    """Return the entries of two parts, each ascending, in order."""
    places = one.keys.searchsorted(other.keys)
    return Entries(
        np.insert(one.keys, places, other.keys),
        np.insert(one.values, places, other.values, axis=0),
    )
