"""A join by distance: all pairs of fingerprints within a radius, in memory.

By :class:`simstore.search.sorted_tables.SortedTables`, which holds distinct fingerprints; rows with
equal ones are told apart here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.search.pages import sortable
from simstore.search.plan import check_radius
from simstore.search.scan import scan_many
from simstore.search.sorted_tables import SortedTables
from simstore.search.table_lookup import expanded

# Fingerprints up to which comparing each with each is quicker than sorting them.
_FEW = 1_000

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def near_pairs(words: NDArray[np.uint64], bits: int, radius: int) -> Pairs:
    """Return all pairs of fingerprints within a radius; equal ones too.

    Args:
        words: Fingerprints of M bits, shape (n, ceil(M / 64)).
        bits: M.
        radius: Largest distance, in bits, inclusive.

    Returns:
        Rows of the one and of the other of each pair, the first smaller, ascending, distinct;
        int64, shape (pairs,) each.

    Raises:
        InvalidParameter: The radius is not from 0 to M.
    """
    check_radius(radius, bits)
    if len(words) <= _FEW:
        first, second, _ = scan_many(words, words, radius)
        later = second > first
        return first[later], second[later]
    keys = sortable(words)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(starts, append=len(words))
    distinct = ordered[starts]
    codes = [_codes_of_equals(order, starts, sizes)]
    for found in SortedTables(words[order[starts]], bits).near_pairs(radius):
        left, right = (np.searchsorted(distinct, sortable(side)) for side in found[:2])
        # Each row of the one with each row of the other.
        for pairs, ones in expanded(starts[left], sizes[left]):
            for places, others in expanded(starts[right[pairs]], sizes[right[pairs]]):
                codes.append(_codes(order[ones[places]], order[others], len(order)))
    # Sorted, not np.unique, which hashes first.
    ascending = np.sort(np.concatenate(codes))
    return ascending // len(words), ascending % len(words)


def _codes_of_equals(
    order: NDArray[np.int64], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the pairs of rows that hold one fingerprint."""
    places = np.arange(len(order))
    behind = np.repeat(starts + sizes, sizes) - places - 1
    codes = [np.empty(0, np.int64)]
    for ones, others in expanded(places + 1, behind):
        codes.append(_codes(order[ones], order[others], len(order)))
    return np.concatenate(codes)


def _codes(one: NDArray[np.int64], other: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return a number for each pair of rows, ascending as the pairs are."""
    return np.minimum(one, other) * count + np.maximum(one, other)
