"""A filter of the check bits in packed band pages: most look-ups then read no page.

A page of 32 to 64 postings carries 31 to 57 of the 256 values of check bits, so it has what is
looked for by chance once in 4 to 8 times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_CHECK_BITS = 8
_BAND_SHIFT = 40
_MASK = np.int64((1 << _BAND_SHIFT) - 1)
# Pages that are read at a time.
_READ_PAGES = 10_000
# Filters that would take more memory are not made.
_MOST_BYTES = 64 << 20


def filter_bytes(bands: int, key_bits: int) -> int:
    """Return the memory of a filter, bytes."""
    return bands << (key_bits + _CHECK_BITS - 3)


def is_affordable(bands: int, key_bits: int) -> bool:
    """Return whether a filter takes at most 64 MB."""
    return filter_bytes(bands, key_bits) <= _MOST_BYTES


class BandFilter:
    """One bit for each page and value of check bits, for some of the first bands.

    Args:
        bands: How many bands a sketch has.
        key_bits: Leading bits of a band's hash that name its page.

    Attributes:
        bands: Of how many bands, from the first, the pages were added.
    """

    def __init__(self, bands: int, key_bits: int) -> None:
        self.bands = 0
        self._key_bits = key_bits
        self._bits = np.zeros((bands, 1 << (key_bits + _CHECK_BITS - 3)), np.uint8)

    def add(self, band: int, pages: Iterable[tuple[int, bytes]]) -> None:
        """Note the check bits of all pages of a band.

        Args:
            band: Its place; all before it were added. Several threads may add the same.
            pages: Their numbers, :func:`simstore.search.bands.page_numbers`, and the pages, of
                :func:`simstore.search.bands.pages`.

        Raises:
            ValueError: A page is damaged.
        """
        marks = np.zeros(1 << (self._key_bits + _CHECK_BITS), np.bool_)
        every = iter(pages)
        while some := list(islice(every, _READ_PAGES)):
            numbers, postings = zip(*some, strict=True)
            marks[self._marked(numbers, postings)] = True
        self._bits[band] = np.packbits(marks, bitorder="little")
        self.bands = max(self.bands, band + 1)

    def may_hold(self, numbers: NDArray[np.int64], checks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether pages carry check bits; of pages that are not there: no.

        Args:
            numbers: Numbers of pages, any shape; of bands that were not added: yes.
            checks: Check bits that are looked for in them, same shape.
        """
        bands = numbers >> _BAND_SHIFT
        places = (numbers & _MASK) << _CHECK_BITS | checks.astype(np.int64)
        found: NDArray[np.bool_] = (
            self._bits[bands, places >> 3] >> (places & 7).astype(np.uint8)
        ) & 1 > 0
        return found | (bands >= self.bands)

    def _marked(self, numbers: Sequence[int], pages: Sequence[bytes]) -> NDArray[np.int64]:
        """Return page and check bits of each posting, as a place in its band."""
        counts = []
        parts = []
        for page in pages:
            width = page[-1] if page else 0
            count, rest = divmod(len(page) - 1, 1 + width)
            if not 1 <= width <= 8 or rest:
                raise ValueError("damaged page of bands")
            counts.append(count)
            parts.append(page[:count])
        held = np.frombuffer(b"".join(parts), np.uint8).astype(np.int64)
        owners = np.array(numbers, np.int64) & _MASK
        return np.repeat(owners << _CHECK_BITS, counts) | held
