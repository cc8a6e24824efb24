"""Fingerprints in memory that grow by some at a time, to be asked for those near others.

New ones come into a buffer, which is compared as a whole. A full buffer becomes sorted tables; two
of about the same size become one, so that there are few, and each fingerprint is sorted again only
as often as its tables double.

References:
    Bentley, Saxe: Decomposable searching problems I: static-to-dynamic transformation,
    Journal of Algorithms 1, 1980, section 2 (the logarithmic method).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.search.scan import scan_many
from simstore.search.sorted_tables import SortedTables

# Fingerprints of a buffer: a thousand queries compare with them in some milliseconds.
_BUFFERED = 2_048

_Level = tuple[NDArray[np.uint64], SortedTables]


class GrowingTables:
    """Some fingerprints; it never changes: growing makes another.

    Args:
        bits: M, from 1 to 128.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._levels: tuple[_Level, ...] = ()
        self._buffer = np.empty((0, -(-bits // 64)), np.uint64)

    def __len__(self) -> int:
        return len(self._buffer) + sum(len(words) for words, _ in self._levels)

    def words(self) -> NDArray[np.uint64]:
        """Return all that was put in, shape (n, ceil(M / 64)), in no order."""
        return np.concatenate((self._buffer, *(words for words, _ in self._levels)))

    def extended(self, words: NDArray[np.uint64]) -> GrowingTables:
        """Return these and more fingerprints; this one stays as it is.

        Args:
            words: Fingerprints, shape (n, ceil(M / 64)).
        """
        if not len(words):
            return self
        grown = GrowingTables(self._bits)
        grown._levels, grown._buffer = self._levels, np.concatenate((self._buffer, words))
        if len(grown._buffer) >= _BUFFERED:
            last, levels = grown._buffer, self._levels
            while levels and len(levels[-1][0]) <= len(last):
                last = np.concatenate((levels[-1][0], last))
                levels = levels[:-1]
            grown._levels = (*levels, (last, SortedTables(last, self._bits)))
            grown._buffer = words[:0]
        return grown

    def near_many(
        self, words: NDArray[np.uint64], radius: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the fingerprints within a radius of each of many.

        Args:
            words: Fingerprints, shape (m, ceil(M / 64)).
            radius: Largest distance, in bits, inclusive.

        Returns:
            Rows of ``words``, int64, shape (found,), and what is near them, uint64, shape
            (found, ceil(M / 64)); in no order, one as often as it was put in, or fewer times.
        """
        rows, places, _ = scan_many(self._buffer, words, radius)
        parts = [(rows, self._buffer[places])]
        for _, tables in self._levels:
            found = tables.near_many(words, radius)
            parts.append((found.query_rows, found.words))
        return np.concatenate([one for one, _ in parts]), np.concatenate([two for _, two in parts])
