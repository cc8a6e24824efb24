"""Linear scan: compare every fingerprint with every query."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import Kernel, pays
from simstore.index.segments import bits_of
from simstore.search.hamming import verify

# Words of a block that stays in a core's cache while all queries are compared with it.
_BLOCK_WORDS = 1 << 14
# Fingerprints that are counted in a row; those of a run with hits are looked at one by one.
_RUN = 512
# Seconds that NumPy takes to compare one word.
_WORD_SECONDS = 1.5e-9

Scanned = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def scan_many(words: NDArray[np.uint64], queries: NDArray[np.uint64], radius: int) -> Scanned:
    """Return the fingerprints within a radius of each query.

    Args:
        words: Fingerprints, shape (n, words).
        queries: Fingerprints, shape (m, words).
        radius: Largest distance, in bits, inclusive.

    Returns:
        Rows of the queries, positions of the fingerprints, distances; int64, shape (found,) each,
        ascending by row, then position.
    """
    flat, flat_queries = (np.ascontiguousarray(each).ravel() for each in (words, queries))
    if pays(_WORD_SECONDS * len(flat) * len(queries)):
        rows, positions = _near_positions(flat, flat_queries, words.shape[1], radius, _BLOCK_WORDS)
    else:
        rows, positions = _near_by_numpy(words, queries, radius)
    kept, distances = verify(words[positions], queries[rows], radius)
    rows, positions = rows[kept], positions[kept]
    order = np.lexsort((positions, rows))
    return rows[order], positions[order], distances[order]


def _near_by_numpy(
    words: NDArray[np.uint64], queries: NDArray[np.uint64], radius: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and positions of what is near in the last word: candidates."""
    rows, positions = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    differences = np.empty(_BLOCK_WORDS, np.uint64)
    counts = np.empty(_BLOCK_WORDS, np.uint8)
    for begin in range(0, len(words), _BLOCK_WORDS):
        block = np.ascontiguousarray(words[begin : begin + _BLOCK_WORDS, -1])
        difference, count = differences[: len(block)], counts[: len(block)]
        for row, query in enumerate(queries[:, -1]):
            np.bitwise_xor(block, query, out=difference)
            np.bitwise_count(difference, out=count)
            near = np.flatnonzero(count <= radius)
            if len(near):
                rows.append(np.full(len(near), row))
                positions.append(near + begin)
    return np.concatenate(rows), np.concatenate(positions)


def _near(words: Any, queries: Any, step: Any, radius: Any, block: Any) -> Any:
    """Return rows and positions of what is near; a fingerprint is ``step`` words, 1 or 2."""
    rows = np.empty(1024, np.int64)
    positions = np.empty(1024, np.int64)
    found = 0
    for first in range(0, words.size, block):
        end = min(first + block, words.size) // step
        for row in range(queries.size // step):
            for begin in range(first // step, end, _RUN):
                stop = min(begin + _RUN, end)
                hits = _count_in(words, begin, stop, queries, row, step, radius)
                if hits == 0:
                    continue
                if found + hits > rows.size:
                    more = np.empty((2, 2 * (found + hits)), np.int64)
                    more[0, :found] = rows[:found]
                    more[1, :found] = positions[:found]
                    rows, positions = more[0], more[1]
                # Gone through again: few of these runs have hits.
                for place in range(begin, stop):
                    if _count_in(words, place, place + 1, queries, row, step, radius):
                        rows[found] = row
                        positions[found] = place
                        found += 1
    return rows[:found], positions[:found]


def _count_in(
    words: Any, begin: Any, end: Any, queries: Any, row: Any, step: Any, radius: Any
) -> Any:
    """Return how many fingerprints of a range are near one query."""
    reach = np.uint64(radius)
    count = np.int64(0)
    # Places without a sign: those below zero would keep the loops from becoming vectors.
    first, last = np.uint64(begin), np.uint64(end)
    if step == 1:
        query = queries[row]
        for place in range(first, last):
            count += np.int64(bits_of(words[place] ^ query) <= reach)
        return count
    high, low = queries[2 * row], queries[2 * row + 1]
    two = np.uint64(2)
    for place in range(first, last):
        total = bits_of(words[two * place] ^ high)
        total += bits_of(words[two * place + np.uint64(1)] ^ low)
        count += np.int64(total <= reach)
    return count


_near_positions = Kernel(
    _near,
    [
        "Tuple((int64[::1], int64[::1]))(Array(uint64, 1, 'C', True), "
        "Array(uint64, 1, 'C', True), int64, int64, int64)"
    ],
    parts=[bits_of, _count_in],
)
