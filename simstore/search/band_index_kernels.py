"""The compiled form of joining two levels of :mod:`simstore.search.band_index`."""

from __future__ import annotations

from typing import Any

from simstore.compiled import Kernel


def _joined(hashes: Any, rows: Any, more: Any, others: Any, made: Any, numbered: Any) -> None:
    """Merge two ascending sequences of hashes, each with its rows; of equal ones the first goes."""
    first = second = 0
    for place in range(len(made)):
        if second == len(more) or (first < len(hashes) and hashes[first] <= more[second]):
            made[place] = hashes[first]
            numbered[place] = rows[first]
            first += 1
        else:
            made[place] = more[second]
            numbered[place] = others[second]
            second += 1


JOINED = Kernel(
    _joined,
    ["void(uint64[::1], uint32[::1], uint64[::1], uint32[::1], uint64[::1], uint32[::1])"],
)
