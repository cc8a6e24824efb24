"""Rank the most frequent features of a corpus, and compute fingerprints from ranked words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import pack

MAX_FEATURES = 1 << 24


def check_features(features: int) -> None:
    """Raise InvalidParameter unless ``1 <= features <= 16,777,216``."""
    if not 1 <= features <= MAX_FEATURES:
        raise InvalidParameter(f"N = {features} features: N must be from 1 to {MAX_FEATURES:,}")


def rank_features(totals: Iterable[tuple[bytes, int, int]], size: int) -> list[tuple[int, int]]:
    """Rank the most frequent features of a corpus: the feature vector of the course tool.

    By total count, descending; ties by the term's bytes, ascending.

    Args:
        totals: (term, feature number, occurrences in the whole corpus), in any order; terms are
            distinct. Features without an occurrence have no rank.
        size: Ranks to give, at most.

    Returns:
        (feature number, total count) of rank 0, 1, ...; fewer than ``size`` where the corpus has
        fewer features.
    """
    ordered = sorted((-total, term, number) for term, number, total in totals if total > 0)
    return [(number, -negative) for negative, _, number in ordered[:size]]


def rank_array(ranked: Sequence[tuple[int, int]], size: int) -> NDArray[np.int64]:
    """Return the rank of each feature number below ``size``, -1 where it has none.

    Args:
        ranked: (feature number, total count) in rank order.
        size: Feature numbers are below it.
    """
    ranks = np.full(size, -1, np.int64)
    if ranked:
        ranks[[number for number, _ in ranked]] = np.arange(len(ranked))
    return ranks


# Words at a time: their rows stay in the processor's cache.
_BLOCK_WORDS = 1 << 14
_BLOCK_PAGES = 1 << 10
# So many bits add up to at most 255: sums of a byte each, eight in one addition.
_WORDS_A_SUM = 255


def ranked_fingerprints(
    numbers: NDArray[np.int32],
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int32],
    rows: NDArray[np.uint8],
) -> NDArray[np.uint64]:
    """Compute the fingerprint of each page from its words.

    A bit is 1 where more of the page's ranked words have a 1 there than a 0.

    Args:
        numbers: The number of each word of each page, in order.
        offsets: Page d has the words ``offsets[d]:offsets[d + 1]``; int64, shape (pages + 1,).
        ranks: Rank of each number, -1 where it has none.
        rows: 0 or 1, shape (ranks, M): row i is the hash of rank i.

    Returns:
        uint64, shape (pages, ceil(M / 64)).
    """
    bits = rows.shape[1]
    padded = np.zeros((len(rows), (bits + 7) // 8 * 8), np.uint8)
    padded[:, :bits] = rows
    lanes = padded.view(np.uint64)
    made = [np.empty((0, (bits + 63) // 64), np.uint64)]
    for first in range(0, len(offsets) - 1, _BLOCK_PAGES):
        ones, counts = _sums(numbers, offsets[first : first + _BLOCK_PAGES + 1], ranks, lanes)
        made.append(pack(2 * ones[:, :bits] > counts[:, np.newaxis]))
    return np.concatenate(made)


def _sums(
    numbers: NDArray[np.int32],
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int32],
    lanes: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each bit is 1 on each page, and how many ranked words the page has."""
    page_count = len(offsets) - 1
    ones = np.zeros((page_count, 8 * lanes.shape[1]), np.int64)
    counts = np.zeros(page_count, np.int64)
    for first in range(int(offsets[0]), int(offsets[-1]), _BLOCK_WORDS):
        end = min(first + _BLOCK_WORDS, int(offsets[-1]))
        # Where rows are short, take is several times as fast as an index.
        found = ranks.take(numbers[first:end])
        ranked = found >= 0
        before = np.concatenate(([0], np.cumsum(ranked)))
        begun = before[np.clip(offsets, first, end) - first]
        block_counts = np.diff(begun)
        counts += block_counts
        pages = np.flatnonzero(block_counts)
        if not len(pages):
            continue
        starts = begun[pages]
        # A page's sum begins anew so often that none of its bytes overflows.
        cuts = np.union1d(starts, np.arange(0, before[-1], _WORDS_A_SUM))
        parts = np.add.reduceat(lanes.take(found[ranked], axis=0), cuts, axis=0).view(np.uint8)
        ones[pages] += np.add.reduceat(parts, np.searchsorted(cuts, starts), axis=0, dtype=np.int64)
    return ones, counts
