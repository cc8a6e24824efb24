"""An in-memory cache of the shingle sets of recently compared texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

Sets = dict[bytes, NDArray[np.uint64]]

# Shingles that are kept: 64 MB; 256 MB where the store keeps its indexes in memory, too.
_KEPT_SHINGLES = 8 << 20
_KEPT_RESIDENT = 32 << 20


class ShingleCache:
    """Caches shingle sets of recently compared texts, by digest: originals are compared again.

    There are two halves. What is asked for or made comes into the young one; once that is full it
    becomes the old one, and the old one is forgotten: what is asked for again and again stays.

    Args:
        scheme_id: The scheme by which they were made.
        most: Shingles that are kept at most, and one text's more.
    """

    def __init__(self, scheme_id: int, most: int) -> None:
        self.scheme_id = scheme_id
        self._half = most // 2
        self._young: Sets = {}
        self._old: Sets = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def of(self, digests: Iterable[bytes]) -> Sets:
        """Return the sets that are cached."""
        young, old = self._young, self._old  # one read: another thread may put others in place
        found: Sets = {}
        again: Sets = {}
        for digest in digests:
            held = young.get(digest)
            if held is None:
                held = old.get(digest)
                if held is None:
                    continue
                again[digest] = held
            found[digest] = held
        self._keep(again)
        return found

    def put(self, made: Mapping[bytes, NDArray[np.uint64]]) -> None:
        """Keep sets."""
        # Copies: a row would keep all sets alive that were made with it.
        self._keep({digest: one.copy() for digest, one in made.items()})

    def _keep(self, sets: Sets) -> None:
        for digest, one in sets.items():
            if self._size > self._half:
                self._old, self._young, self._size = self._young, {}, 0
            self._young[digest] = one
            self._size += len(one)


def most_kept(*, resident: bool) -> int:
    """Return how many shingles an open store keeps; more where its indexes are in memory too."""
    return _KEPT_RESIDENT if resident else _KEPT_SHINGLES
