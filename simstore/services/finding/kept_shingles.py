"""Shingle sets of stored texts that were compared lately, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from simstore.services.opened import OpenStore, State

# Shingles that are kept: 64 MB.
_KEPT_SHINGLES = 8 << 20


class KeptShingles:
    """Shingle sets of texts that were compared lately, by their digests: an original comes again.

    Args:
        scheme_id: The scheme by which they were made.
    """

    def __init__(self, scheme_id: int) -> None:
        self.scheme_id = scheme_id
        self._sets: dict[bytes, NDArray[np.uint64]] = {}
        self._size = 0

    def of(self, digests: Iterable[bytes]) -> dict[bytes, NDArray[np.uint64]]:
        """Return the sets that are kept."""
        sets = self._sets  # one read: another thread may put another in its place
        return {digest: sets[digest] for digest in digests if digest in sets}

    def put(self, made: Mapping[bytes, NDArray[np.uint64]]) -> None:
        """Keep sets; all others are forgotten once they take too much."""
        if self._size > _KEPT_SHINGLES:
            self._sets, self._size = {}, 0
        # Copies: a row would keep all sets alive that were made with it.
        self._sets.update((digest, one.copy()) for digest, one in made.items())
        self._size += sum(map(len, made.values()))


def kept_shingles(opened: OpenStore, state: State) -> KeptShingles:
    """Return what an open store keeps by the scheme that stands."""
    kept = opened.kept_shingles  # one read: another thread may put another in its place
    if kept is None or kept.scheme_id != state.scheme_id:
        kept = opened.kept_shingles = KeptShingles(state.scheme_id)
    return kept
