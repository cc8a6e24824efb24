"""Which check bits the packed pages of bands carry, in memory: most look-ups then read no page.

A page of 32 to 64 postings carries 31 to 57 of the 256 values of check bits, so it has what is
looked for by chance once in 4 to 8 times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_CHECK_BITS = 8
_BAND_SHIFT = 40
_MASK = np.int64((1 << _BAND_SHIFT) - 1)
# Filters that would take more memory are not made.
_MOST_BYTES = 64 << 20


def filter_bytes(bands: int, key_bits: int) -> int:
    """Return the memory of a filter, bytes."""
    return bands << (key_bits + _CHECK_BITS - 3)


def is_affordable(bands: int, key_bits: int) -> bool:
    """Return whether a filter takes at most 64 MB."""
    return filter_bytes(bands, key_bits) <= _MOST_BYTES


class BandFilter:
    """One bit for each page and value of check bits.

    Args:
        bands: How many bands a sketch has.
        key_bits: Leading bits of a band's hash that name its page.
    """

    def __init__(self, bands: int, key_bits: int) -> None:
        self._key_bits = key_bits
        self._bits = np.zeros(filter_bytes(bands, key_bits), np.uint8)

    def add(self, numbers: Sequence[int], pages: Sequence[bytes]) -> None:
        """Note the check bits of pages.

        Args:
            numbers: Number of each page, :func:`simstore.search.bands.page_numbers`.
            pages: The pages, of :func:`simstore.search.bands.pack_page`.

        Raises:
            ValueError: A page is damaged.
        """
        counts = []
        parts = []
        for page in pages:
            width = page[-1] if page else 0
            count, rest = divmod(len(page) - 1, 1 + width)
            if not 1 <= width <= 8 or rest:
                raise ValueError("damaged page of bands")
            counts.append(count)
            parts.append(page[:count])
        held = np.frombuffer(b"".join(parts), np.uint8)
        places = self._places(np.repeat(np.array(numbers, np.int64), counts), held)
        np.bitwise_or.at(self._bits, places >> 3, np.uint8(1) << (places & 7).astype(np.uint8))

    def may_hold(self, numbers: NDArray[np.int64], checks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether pages carry check bits; of pages that were not added: no.

        Args:
            numbers: Numbers of pages, any shape.
            checks: Check bits that are looked for in them, same shape.
        """
        places = self._places(numbers, checks)
        found: NDArray[np.bool_] = (
            self._bits[places >> 3] >> (places & 7).astype(np.uint8)
        ) & 1 > 0
        return found

    def _places(self, numbers: NDArray[np.int64], checks: NDArray[np.uint8]) -> NDArray[np.int64]:
        bands, pages = numbers >> _BAND_SHIFT, numbers & _MASK
        return (bands << self._key_bits | pages) << _CHECK_BITS | checks.astype(np.int64)
