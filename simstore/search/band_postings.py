"""Many look-ups in packed pages of bands at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.search.table_lookup import expanded

Found = tuple[NDArray[np.int64], NDArray[np.int64]]


def matching_postings(
    pages: Sequence[bytes], asked: NDArray[np.int64], wanted: NDArray[np.uint8]
) -> Iterator[Found]:
    """Yield the postings of pages that carry the check bits that are looked for.

    The pages are those of :func:`simstore.search.bands.pages`. A page that is asked for
    several times is gone through as often, some postings at a time.

    Args:
        pages: Some pages.
        asked: The page that each look-up goes to, by its place, int64, shape (look-ups,).
        wanted: Check bits of each look-up, shape (look-ups,).

    Yields:
        Which look-ups, and the numbers that they find; int64, shape (found,) each.

    Raises:
        ValueError: A page is damaged.
    """
    lengths = np.fromiter(map(len, pages), np.int64, len(pages))
    if not lengths.all():
        raise ValueError("damaged page of bands")
    data = np.frombuffer(b"".join(pages), np.uint8)
    starts = lengths.cumsum() - lengths
    widths = data[starts + lengths - 1].astype(np.int64)
    counts = (lengths - 1) // (1 + widths)
    if ((widths < 1) | (widths > 8) | (counts * (1 + widths) != lengths - 1)).any():
        raise ValueError("damaged page of bands")
    for turns, places in expanded(starts[asked], counts[asked]):
        found = np.flatnonzero(data[places] == wanted[turns])
        turns, places = turns[found], places[found]
        page = asked[turns]
        # Behind the check bits of all postings of a page stand their numbers.
        firsts = starts[page] + counts[page] + (places - starts[page]) * widths[page]
        numbers = np.zeros(len(found), np.int64)
        for byte in range(int(widths[page].max(initial=0))):
            has_byte = byte < widths[page]
            values = data[np.where(has_byte, firsts + byte, 0)].astype(np.int64)
            numbers |= np.where(has_byte, values, 0) << (8 * byte)
        yield turns, numbers
