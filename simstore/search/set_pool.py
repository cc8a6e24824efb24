"""A cache of shingle sets that compares one set with many, and stops early below a threshold.

Two sets of resemblance t have at least t / (1 + t) * (|A| + |B|) shingles in common. A pair is
given up as soon as what is left of the other set cannot make up that many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.compiled import Kernel
from simstore.fingerprint.shingle_sets import ShingleSets

# Shingles that are held, unless those of one comparison are more: 128 MB.
POOL_SHINGLES = 16 << 20
_FIRST_SHINGLES = 1 << 16
# A threshold is a rounded number; a bound that it gives is taken this much lower.
_SLACK = 1e-9
# What a shingle of a comparison takes without Numba.
_SECONDS_A_SHINGLE = 2e-8

Read = Callable[[NDArray[np.int64]], ShingleSets]


class SetPool:
    """A cache of recently used shingle sets, which reads those that it does not hold.

    When it is full, all are forgotten: what is still wanted is read again.

    Args:
        count: Texts that there are.
        read: Returns the sets of some texts, in the order given.
        least: Least resemblance that matters, above 0; 0: all of it.
        most: Shingles that are held, or those of one call of :meth:`hold` where they are more.

    Attributes:
        compared_count: Pairs that were compared.
    """

    def __init__(self, count: int, read: Read, least: float, most: int = POOL_SHINGLES) -> None:
        self._read = read
        self._share = least / (1 + least)
        self._most = most
        self._pool = np.empty(min(_FIRST_SHINGLES, most), np.uint64)
        self._used = 0
        self._starts = np.full(count, -1, np.int64)
        self._sizes = np.zeros(count, np.int64)
        self.compared_count = 0

    def hold(self, texts: NDArray[np.int64]) -> None:
        """Read the sets of some distinct texts, as far as they are not held."""
        missing = texts[self._starts[texts] < 0]
        if not len(missing):
            return
        sets = self._read(missing)
        if self._used + len(sets.hashes) > self._most and self._used:
            self._starts[:] = -1
            self._used = 0
            if len(missing) < len(texts):
                missing, sets = texts, self._read(texts)
        needed = self._used + len(sets.hashes)
        if needed > len(self._pool):
            room = max(needed, min(2 * len(self._pool), self._most))
            self._pool = np.concatenate(
                (self._pool[: self._used], np.empty(room - self._used, np.uint64))
            )
        self._pool[self._used : needed] = sets.hashes
        self._starts[missing] = sets.offsets[:-1] + self._used
        self._sizes[missing] = sets.sizes()
        self._used = needed

    def sizes(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shingles of texts that are held, or were."""
        return self._sizes[texts]

    def resemblances(self, text: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the resemblance of a text to others; -1 where it is below the least.

        Args:
            text: A text that is held.
            others: Others that are held, shape (others,).
        """
        self.compared_count += len(others)
        common = np.empty(len(others), np.int64)
        both = self._sizes[others] + self._sizes[text]
        least = np.ceil(self._share * both - _SLACK).astype(np.int64)
        if compiled.pays(_SECONDS_A_SHINGLE * float(both.sum())):
            _COMMON(self._pool, self._starts, self._sizes, text, others, least, common)
        else:
            own = self._set(text)
            for place, other in enumerate(others.tolist()):
                common[place] = _common(own, self._set(other))
            common[common < least] = -1
        result = np.full(len(others), -1.0)
        enough = common >= 0
        result[enough] = common[enough] / np.maximum(both[enough] - common[enough], 1)
        return result

    def _set(self, text: int) -> NDArray[np.uint64]:
        start = self._starts[text]
        return self._pool[start : start + self._sizes[text]]


def _common(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    if not len(few):
        return 0
    places = np.minimum(np.searchsorted(many, few), len(many) - 1)
    return int(np.count_nonzero(many[places] == few))


_int: Any = np.int64


def _common_counts(
    pool: Any, starts: Any, sizes: Any, text: Any, others: Any, least: Any, common: Any
) -> None:
    """Count what a set has in common with each of others; -1 where it is less than the least."""
    start, size = starts[text], sizes[text]
    # The set as a hash table a quarter full at most. Hashes are mixed, so their low bits serve; a
    # slot of 0 is empty, and the shingle 0, the first of its set, is looked at apart.
    slots = _int(16)
    while slots < 4 * size:
        slots *= 2
    table = np.zeros(slots, np.uint64)
    mask = np.uint64(slots - 1)
    for place in range(start, start + size):
        slot = pool[place] & mask
        while table[slot]:
            slot = slot + np.uint64(1) & mask
        table[slot] = pool[place]
    has_zero = size > 0 and pool[start] == 0
    for number in range(len(others)):
        first, end = starts[others[number]], starts[others[number]] + sizes[others[number]]
        count = _int(0)
        if first < end and pool[first] == 0:
            count += has_zero
            first += 1
        while first < end:
            # Not after each shingle, so that the look-ups of several go on side by side.
            stop = min(first + 32, end)
            for place in range(first, stop):
                shingle = pool[place]
                slot = shingle & mask
                while table[slot] and table[slot] != shingle:
                    slot = slot + np.uint64(1) & mask
                count += table[slot] == shingle
            first = stop
            if count + end - first < least[number]:
                break
        common[number] = count if count >= least[number] else -1


_COMMON = Kernel(
    _common_counts,
    [
        "void(uint64[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1], int64[::1])",
    ],
)
