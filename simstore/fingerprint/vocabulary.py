"""Ranks: which features of a corpus take part in a fingerprint, and with which number."""

from __future__ import annotations

from collections.abc import Iterable


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
