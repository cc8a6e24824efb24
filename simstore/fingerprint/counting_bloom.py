"""Counting Bloom filters: compare texts by their feature counts, in tables of fixed size.

References:
    Fan, Cao, Almeida, Broder: Summary cache, IEEE/ACM Transactions on Networking 8(3), 2000,
    section V (counters in the place of bits). Kirsch, Mitzenmacher: Less hashing, same
    performance, ESA 2006 (the places from two hashes). Jain, Dahlin, Tewari: Using Bloom filters
    to refine web search results, WebDB 2005 (the overlap of two filters as a similarity; there,
    of bits).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.feature_hash import xxh3

MAX_COUNTERS = 1 << 28
# Features whose places are held at a time, and counters that are compared at a time.
_BLOCK = 1 << 16
_COUNTERS_A_FEATURE = 256
_LEAST_COUNTERS, _MOST_COUNTERS = 1 << 16, 1 << 26


def roomy_size(features: int) -> int:
    """Return a size at which features seldom meet in a counter by chance.

    Args:
        features: Distinct features of both texts.

    Returns:
        The least power of two that is 256 times as much, from 2**16 to 2**26.
    """
    wanted = 1 << (max(features * _COUNTERS_A_FEATURE, 1) - 1).bit_length()
    return min(max(wanted, _LEAST_COUNTERS), _MOST_COUNTERS)


def check_filter(counters: int, hashes: int) -> None:
    """Raise InvalidParameter unless a filter can have this size.

    Args:
        counters: A power of two, ``hashes <= counters <= 2**28``.
        hashes: Counters a feature, 1 to 64.
    """
    if not 1 <= counters <= MAX_COUNTERS or counters & (counters - 1):
        raise InvalidParameter(
            f"{counters:,} counters: choose a power of two, at most {MAX_COUNTERS:,}"
        )
    if not 1 <= hashes <= min(64, counters):
        raise InvalidParameter(
            f"{hashes} hashes: choose 1 to 64, no more than there are counters ({counters:,})"
        )


def counting_filter(
    terms: Sequence[bytes], counts: NDArray[np.int64], *, counters: int, hashes: int
) -> NDArray[np.uint32]:
    """Return the counting Bloom filter of counted features.

    Each feature adds its count to ``hashes`` different counters. The places follow from the two
    halves of its 128-bit XXH3: half one plus i times half two (made odd), modulo ``counters``.

    Args:
        terms: Distinct features.
        counts: How often each occurs, shape (terms,); their sum is below 2**32.
        counters: Size of the filter; see :func:`check_filter`.
        hashes: Counters a feature.

    Returns:
        uint32, shape (counters,); its sum is ``hashes`` times the sum of the counts.
    """
    check_filter(counters, hashes)
    filled = np.zeros(counters, np.uint32)
    for start in range(0, len(terms), _BLOCK):
        part = slice(start, start + _BLOCK)
        places = filter_places(terms[part], counters=counters, hashes=hashes)
        np.add.at(filled, places.ravel(), np.repeat(counts[part].astype(np.uint32), hashes))
    return filled


def filter_places(terms: Sequence[bytes], *, counters: int, hashes: int) -> NDArray[np.int64]:
    """Return the counters of each feature; int64, shape (terms, hashes).

    Args:
        terms: Features.
        counters: Size of the filter; see :func:`check_filter`.
        hashes: Counters a feature.
    """
    check_filter(counters, hashes)
    halves = xxh3(terms, 128)
    steps = np.arange(hashes, dtype=np.uint64)
    places = halves[:, :1] + (halves[:, 1:] | np.uint64(1)) * steps
    return (places & np.uint64(counters - 1)).astype(np.int64)


def filled_units(places: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a filter as a set: each counter's number once for each count, with its turn.

    What two filters have in common, counter by counter, is what two such sets have in common; so
    the resemblance of the sets is :func:`filter_similarity`, at a cost of the texts' lengths.

    Args:
        places: The counters of each feature, shape (terms, hashes); see :func:`filter_places`.
        counts: How often each feature occurs, shape (terms,).

    Returns:
        Ascending and distinct; uint64, shape (hashes times the sum of the counts,).
    """
    numbers, inverse = np.unique(places, return_inverse=True)
    sums = np.zeros(len(numbers), np.int64)
    np.add.at(sums, inverse.ravel(), np.repeat(counts, places.shape[1]))
    ends = np.cumsum(sums)
    turns = np.arange(int(sums.sum())) - np.repeat(ends - sums, sums)
    return (np.repeat(numbers, sums) << 32 | turns).astype(np.uint64)


def filter_similarity(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> float | None:
    """Return the overlap of two filters: the sum of the minima by the sum of the maxima.

    Features that share a counter by chance raise it; it is never below the same ratio of the
    counts themselves.

    Args:
        first: A counting filter.
        second: One of the same size and hashes.

    Returns:
        0 to 1; None where both filters are empty.
    """
    common = sum(
        int(np.minimum(first[start : start + _BLOCK], second[start : start + _BLOCK]).sum())
        for start in range(0, len(first), _BLOCK)
    )
    # What two numbers add up to is their minimum and their maximum.
    largest = int(first.sum()) + int(second.sum()) - common
    return common / largest if largest else None
