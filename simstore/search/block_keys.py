"""Choose bit masks (block keys) so that any two fingerprints within a radius agree under one.

The bits are cut into b blocks. Two fingerprints within r bits differ in at most r of them, so they
agree in some b - r: a key for each choice of b - r blocks finds every pair. More blocks make longer
keys, so fewer meet by chance, and more of them.

References:
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_words
from simstore.search.plan import check_radius

# Only the relation of the two counts: a key of a fingerprint that is sorted, and a meeting of two.
_ROW_COST = 1.0
_MEETING_COST = 0.002
# How many times as often fingerprints of texts meet as random ones, by keys of one block, of two
# and so on: text has fewer values than bits could hold. Measured on a
# million texts, docs/explanation/scale.md.
_CROWDING = (6.0, 160.0, 2_100.0, 2_400.0)
_MOST_KEYS = 60


@dataclass(frozen=True, slots=True)
class BlockKeys:
    """The keys of fingerprints of M bits.

    Attributes:
        bits: M.
        blocks: Blocks b that the bits are cut into, of widths that differ by one at most.
        agreeing: Blocks that a key is made of.
    """

    bits: int
    blocks: int
    agreeing: int

    @property
    def count(self) -> int:
        """Return how many keys a fingerprint has."""
        return comb(self.blocks, self.agreeing)

    def masks(self) -> list[int]:
        """Return the bits of each key; an integer below 2**M each."""
        bounds = [self.bits * place // self.blocks for place in range(self.blocks + 1)]
        blocks = [(1 << end) - (1 << start) for start, end in pairwise(bounds)]
        return [sum(chosen) for chosen in combinations(blocks, self.agreeing)]

    def mask_words(self) -> NDArray[np.uint64]:
        """Return the bits of each key as words of 64 bits, the highest first.

        Returns:
            uint64, shape (keys, words).
        """
        return to_words(self.masks(), self.bits)

    def meetings(self, fingerprint_count: int) -> float:
        """Return how many pairs of random fingerprints share a key, each key counted."""
        pairs = fingerprint_count * fingerprint_count / 2
        return sum(pairs / 2.0 ** mask.bit_count() for mask in self.masks())

    def __str__(self) -> str:
        return f"{self.blocks} choose {self.agreeing}"


def block_keys(bits: int, radius: int, fingerprint_count: int) -> BlockKeys:
    """Choose the keys that cost least for so many fingerprints.

    Args:
        bits: Fingerprint length M.
        radius: Largest distance to find, in bits, inclusive.
        fingerprint_count: Distinct fingerprints.

    Raises:
        InvalidParameter: The radius is not from 0 to M.
    """
    check_radius(radius, bits)
    best: tuple[float, BlockKeys] | None = None
    for agreeing in range(1, bits - radius + 1):
        keys = BlockKeys(bits, radius + agreeing, agreeing)
        if best is not None and keys.count > _MOST_KEYS:
            break
        cost = _ROW_COST * keys.count * fingerprint_count
        crowding = _CROWDING[min(agreeing, len(_CROWDING)) - 1]
        cost += _MEETING_COST * crowding * keys.meetings(fingerprint_count)
        if best is None or cost < best[0]:
            best = cost, keys
    # A radius of all bits: everything meets.
    return best[1] if best else BlockKeys(bits, max(radius, 1), 0)
