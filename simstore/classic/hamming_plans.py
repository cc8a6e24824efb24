"""Find fingerprints within a Hamming radius in memory, by classic published algorithms.

They give the answer of any other plan, and show what it costs without the planner's freedom.

References:
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3: probing
    every value near the query, storing every value near a stored one, and tables of permuted
    fingerprints; 4, 10, 16 and 20 tables for 64 bits and radius 3 are its examples.
    Perl, Itai, Avni: Interpolation search, a log log N search, CACM 21(7), 1978.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_words
from simstore.index.hamming import sortable
from simstore.search.hamming import verify
from simstore.search.methods import check_method
from simstore.search.table_lookup import expanded as expanded_ranges

# Stored fingerprints, with all that is near them, that are sorted at a time.
_EXPANDED_BLOCK = 1 << 22


class Answer(NamedTuple):
    """Matches of many queries, and the cost of finding them.

    Attributes:
        query_rows: Which query, ascending; int64, shape (matches,).
        words: The fingerprints found, distinct for each query; uint64, shape (matches, words).
        distances: In bits; int64, shape (matches,).
        probe_counts: Look-ups of each query; int64, shape (queries,).
        candidate_counts: Fingerprints compared with each query; int64, shape (queries,).
    """

    query_rows: NDArray[np.int64]
    words: NDArray[np.uint64]
    distances: NDArray[np.int64]
    probe_counts: NDArray[np.int64]
    candidate_counts: NDArray[np.int64]


def near_many_by(
    method: str,
    words: NDArray[np.uint64],
    bits: int,
    queries: NDArray[np.uint64],
    radius: int,
) -> Answer:
    """Return the matches of many queries, found by one of the classic methods.

    Args:
        method: The method.
        words: All stored fingerprints, distinct, shape (n, ceil(M / 64)).
        bits: M.
        queries: Fingerprints, shape (m, ceil(M / 64)).
        radius: Largest distance, in bits, inclusive.

    Raises:
        InvalidParameter: The method cannot do it.
    """
    check_method(method, bits, radius, len(words))
    rows, positions, probes, candidates = _LOOK_UPS[method](words, bits, queries, radius)
    # Several probes may find one fingerprint several times.
    codes = np.unique(rows * max(len(words), 1) + positions)
    rows, positions = codes // max(len(words), 1), codes % max(len(words), 1)
    kept, distances = verify(words[positions], queries[rows], radius)
    return Answer(
        rows[kept],
        words[positions[kept]],
        distances,
        np.full(len(queries), probes),
        candidates,
    )


# Rows of queries, positions of what may be near them, probes a query, candidates of each query.
_Found = tuple[NDArray[np.int64], NDArray[np.int64], int, NDArray[np.int64]]


def _probed(
    words: NDArray[np.uint64],
    bits: int,
    queries: NDArray[np.uint64],
    radius: int,
    places_of: Callable[..., tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> _Found:
    """Flip up to ``radius`` bits of each query in every way, and look each value up."""
    order, keys = _ordered(words)
    masks = _masks(bits, radius)
    rows, positions = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for row, query in enumerate(queries):
        found = order[places_of(keys, sortable(masks ^ query))[1]]
        rows.append(np.full(len(found), row))
        positions.append(found)
    all_rows = np.concatenate(rows)
    counts = np.bincount(all_rows, minlength=len(queries))
    return all_rows, np.concatenate(positions), len(masks), counts


def _expanded(
    words: NDArray[np.uint64], bits: int, queries: NDArray[np.uint64], radius: int
) -> _Found:
    """Sort every value near a stored one, and look each query up among them."""
    masks = _masks(bits, radius)
    sortable_queries = sortable(queries)
    rows, positions = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    step = max(_EXPANDED_BLOCK // len(masks), 1)
    for begin in range(0, len(words), step):
        some = words[begin : begin + step]
        values = (some[:, None, :] ^ masks[None, :, :]).reshape(-1, words.shape[1])
        order, keys = _ordered(values)
        firsts = np.searchsorted(keys, sortable_queries, "left")
        lasts = np.searchsorted(keys, sortable_queries, "right")
        for turns, places in expanded_ranges(firsts, lasts - firsts):
            rows.append(turns)
            positions.append(begin + order[places] // len(masks))
    all_rows = np.concatenate(rows)
    counts = np.bincount(all_rows, minlength=len(queries))
    return all_rows, np.concatenate(positions), 1, counts


def _tables4(
    words: NDArray[np.uint64], bits: int, queries: NDArray[np.uint64], radius: int
) -> _Found:
    """Look up four 16-bit prefixes: one of four blocks."""
    return _by_masks(words, queries, radius, _masks_of_blocks(bits, 4, 1))


def _tables10(
    words: NDArray[np.uint64], bits: int, queries: NDArray[np.uint64], radius: int
) -> _Found:
    """Look up ten prefixes of 25 or 26 bits: two of five blocks."""
    return _by_masks(words, queries, radius, _masks_of_blocks(bits, 5, 2))


def _tables16(
    words: NDArray[np.uint64], bits: int, queries: NDArray[np.uint64], radius: int
) -> _Found:
    """Look up sixteen 28-bit prefixes: one of four 16-bit blocks, one of four parts of the rest."""
    masks = []
    for block in range(4):
        for part in range(4):
            following = 16 * (block + 1) + 12 * part
            chosen = {16 * block + n for n in range(16)} | {(following + n) % 64 for n in range(12)}
            masks.append(sum(1 << bits - 1 - bit for bit in chosen))
    return _by_masks(words, queries, radius, masks)


def _tables20(
    words: NDArray[np.uint64], bits: int, queries: NDArray[np.uint64], radius: int
) -> _Found:
    """Look up twenty prefixes of 31 to 33 bits: three of six blocks."""
    return _by_masks(words, queries, radius, _masks_of_blocks(bits, 6, 3))


def _masks_of_blocks(bits: int, block_count: int, leading: int) -> list[int]:
    """Return the bits of each choice of blocks; what differs is in the others."""
    ends = [bits * number // block_count for number in range(block_count + 1)]
    blocks = [(1 << bits - begin) - (1 << bits - end) for begin, end in pairwise(ends)]
    return [sum(chosen) for chosen in combinations(blocks, leading)]


def _by_masks(
    words: NDArray[np.uint64], queries: NDArray[np.uint64], radius: int, masks: Sequence[int]
) -> _Found:
    """Look up one table a mask, sorted by the bits of the mask: what they permute to the front."""
    rows, positions = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    counts = np.zeros(len(queries), np.int64)
    for mask in masks:
        prefixes, wanted = (each[:, 0] & np.uint64(mask) for each in (words, queries))
        order = np.argsort(prefixes, kind="stable")
        ordered = prefixes[order]
        firsts = np.searchsorted(ordered, wanted, "left")
        lasts = np.searchsorted(ordered, wanted, "right")
        counts += lasts - firsts
        for turns, places in expanded_ranges(firsts, lasts - firsts):
            near, _ = verify(words[order[places]], queries[turns], radius)
            rows.append(turns[near])
            positions.append(order[places[near]])
    return np.concatenate(rows), np.concatenate(positions), len(masks), counts


def _ordered(words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.generic]]:
    keys = sortable(words)
    order = np.argsort(keys, kind="stable")
    return order, keys[order]


def _places_of(
    ordered: NDArray[np.generic], keys: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which of the keys are there, and where."""
    places = np.searchsorted(ordered, keys)
    inside = np.flatnonzero(places < len(ordered))
    inside = inside[ordered[places[inside]] == keys[inside]]
    return inside, places[inside]


def _places_by_interpolation(
    ordered: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which of the keys are there, and where, by interpolation search.

    Every other step halves what is left, so that values that are not spread evenly take at most
    twice the steps of a binary search.
    """
    if not len(ordered):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # The key is at ``low`` or after it, and before ``high``.
    low, high = np.zeros(len(keys), np.int64), np.full(len(keys), len(ordered), np.int64)
    left = np.arange(len(keys))
    halve = False
    while len(left):
        begin, end, key = low[left], high[left], keys[left]
        first, last = ordered[begin], ordered[end - 1]
        if halve:
            place = (begin + end) // 2
        else:
            inside = np.clip(key, first, last)
            share = (inside - first) / np.maximum(last - first, np.uint64(1))
            place = np.minimum(begin + (share * (end - 1 - begin)).astype(np.int64), end - 1)
        met = ordered[place]
        low[left] = np.where(met < key, place + 1, np.where(met == key, place, begin))
        high[left] = np.where(met > key, place, np.where(met == key, place + 1, end))
        done = (met == key) | (low[left] >= high[left])
        left = left[~done]
        halve = not halve
    open_rows = np.flatnonzero(low < high)
    return open_rows, low[open_rows]


_LOOK_UPS: dict[str, Callable[..., _Found]] = {
    "probe": partial(_probed, places_of=_places_of),
    "interpolation": partial(_probed, places_of=_places_by_interpolation),
    "expanded": _expanded,
    "tables4": _tables4,
    "tables10": _tables10,
    "tables16": _tables16,
    "tables20": _tables20,
}


@cache
def _masks(bits: int, radius: int) -> NDArray[np.uint64]:
    """Return all differences of up to ``radius`` bits, shape (differences, ceil(M / 64))."""
    numbers = [
        sum(1 << bit for bit in flipped)
        for flips in range(radius + 1)
        for flipped in combinations(range(bits), flips)
    ]
    return to_words(numbers, bits)
