"""Ranks: which features of a corpus take part in a fingerprint, and with which number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter

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
