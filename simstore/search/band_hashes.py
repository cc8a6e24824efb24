"""A set of band hashes in memory, with false positives: absent bands then cost no read.

A Bloom filter for each band. :mod:`simstore.search.band_filter` is made of what packed pages carry,
23 bits of a hash, so it passes one look-up in four to eight by chance; this one is made of whole
hashes, and passes one in fifty or fewer.

References:
    Bloom: Space/time trade-offs in hash coding with allowable errors, Communications of the ACM
    13(7), 1970. Kirsch, Mitzenmacher: Less hashing, same performance: building a better Bloom
    filter, ESA 2006 (all bits of an entry from two hashes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import pays
from simstore.search.band_hash_kernels import SET_BITS

# Bits that an entry sets, and how many there are for each at least; at most twice as many.
_SET_BITS = 4
_BITS_EACH = 8
_LEAST_BITS = 10
# Seconds that NumPy takes to add one.
_SECONDS_A_HASH = 4e-7
# Filters that would take more memory are not made.
_MOST_BYTES = 1 << 30


def filter_bytes(bands: int, count: int) -> int:
    """Return the memory of filters of so many bands and sketches, bytes."""
    return bands << (_size_bits(count) - 3)


def is_affordable(bands: int, count: int) -> bool:
    """Return whether filters take at most 1 GB: of 42 bands, those of up to 16 million sketches."""
    return filter_bytes(bands, count) <= _MOST_BYTES


class BandHashes:
    """Filters of the bands of some sketches; it says yes to all that were added, and to few others.

    Args:
        bands: How many bands a sketch has.
        count: Sketches that will be added, about.
    """

    def __init__(self, bands: int, count: int) -> None:
        size = _size_bits(count)
        self._mask = np.uint64((1 << size) - 1)
        self._bits = np.zeros((bands, 1 << (size - 3)), np.uint8)

    def has_room(self, count: int) -> bool:
        """Return whether so many sketches can be held, and as few others be passed."""
        return len(self._bits[0]) >= 1 << (_size_bits(count) - 3)

    def add(self, hashes: NDArray[np.uint64]) -> None:
        """Add sketches.

        Args:
            hashes: The hash of each of their bands, well mixed; shape (n, bands).
        """
        # A row a band: what is set at a time lies close together.
        columns = np.ascontiguousarray(hashes.T)
        if pays(_SECONDS_A_HASH * hashes.size):
            SET_BITS(self._bits, columns, self._mask, _SET_BITS)
            return
        for row, column in zip(self._bits, columns, strict=True):
            for places in self._places(column):
                marks = np.uint8(1) << (places & np.uint64(7)).astype(np.uint8)
                np.bitwise_or.at(row, places >> np.uint64(3), marks)

    def may_hold(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which bands one of the sketches may have.

        Args:
            hashes: Hashes of the first bands, or of all; shape (n, at most bands).
        """
        found = np.ones(hashes.shape, np.bool_)
        bands = np.arange(hashes.shape[1])
        for places in self._places(hashes):
            held = self._bits[bands, places >> np.uint64(3)]
            found &= held >> (places & np.uint64(7)).astype(np.uint8) & 1 > 0
        return found

    def _places(self, hashes: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
        """Return the bits of each hash, some at a time; same shape."""
        first = hashes & np.uint64(0xFFFFFFFF)
        # Odd, so that the steps of one hash meet different bits.
        step = hashes >> np.uint64(32) | np.uint64(1)
        return [(first + np.uint64(turn) * step) & self._mask for turn in range(_SET_BITS)]


def _size_bits(count: int) -> int:
    return max((_BITS_EACH * count - 1).bit_length(), _LEAST_BITS)
