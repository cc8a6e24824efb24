"""The join by likeness finds what comparing every pair finds, at every threshold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.fingerprint.features import count_features
from simstore.search import likeness
from simstore.search.likeness import (
    TermVectors,
    alike_pairs,
    likenesses,
    plain_vectors,
    term_vectors,
)

TEXTS = st.lists(st.lists(st.sampled_from("abcdefghijkl"), max_size=12), max_size=12)
LEAST = st.floats(0.01, 1)


def vectors_of(texts: list[list[str]], *, rare: bool) -> TermVectors:
    counts = count_features(iter([text]) for text in texts)
    return term_vectors(counts) if rare else plain_vectors(counts)


def every_pair(vectors: TermVectors, count: int, least: float) -> list[tuple[int, int, float]]:
    pairs = list(combinations(range(count), 2))
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    shares = likenesses(vectors, first, second).tolist()
    return [(*pair, share) for pair, share in zip(pairs, shares, strict=True) if share >= least]


def joined(vectors: TermVectors, least: float) -> list[tuple[int, int, float]]:
    found = alike_pairs(vectors, least)
    return list(
        zip(found.first.tolist(), found.second.tolist(), found.likeness.tolist(), strict=True)
    )


@given(TEXTS, LEAST, st.booleans())
def test_join_is_the_comparison_of_every_pair(
    texts: list[list[str]], least: float, rare: bool
) -> None:
    vectors = vectors_of(texts, rare=rare)
    assert joined(vectors, least) == every_pair(vectors, len(texts), least)


@given(TEXTS, st.integers(0, 65), st.booleans())
def test_pair_at_exactly_the_threshold_is_found(
    texts: list[list[str]], chosen: int, rare: bool
) -> None:
    vectors = vectors_of(texts, rare=rare)
    shares = [share for _, _, share in every_pair(vectors, len(texts), 1e-9)]
    if shares:
        least = min(shares[chosen % len(shares)], 1.0)
        assert joined(vectors, least) == every_pair(vectors, len(texts), least)


@given(TEXTS, LEAST, st.integers(1, 20), st.sampled_from([0.0, 0.3, 1.0]))
def test_blocks_and_lengths_of_prefixes_change_nothing(
    texts: list[list[str]], least: float, block: int, rest: float
) -> None:
    vectors = vectors_of(texts, rare=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_BLOCK", block)
        patch.setattr(likeness, "_REST", rest)
        assert joined(vectors, least) == every_pair(vectors, len(texts), least)
