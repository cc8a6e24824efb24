from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.fingerprint.features import FeatureCounts, count_features
from simstore.search import likeness
from simstore.search.likeness import likenesses, plain_vectors, term_vectors

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=6)


def counted(texts: list[list[str]]) -> FeatureCounts:
    return count_features(iter([text]) for text in texts)


def cosine(texts: list[list[str]], one: int, other: int) -> float:
    """The definition, with a dictionary a document."""
    frequencies = Counter(term for text in texts for term in set(text))

    def vector(text: list[str]) -> dict[str, float]:
        return {
            term: (1 + math.log(count)) * math.log((1 + len(texts)) / frequencies[term])
            for term, count in Counter(text).items()
        }

    a, b = vector(texts[one]), vector(texts[other])
    length = math.hypot(*a.values()) * math.hypot(*b.values())
    return sum(a[term] * b.get(term, 0.0) for term in a) / length if length else 0.0


@given(TEXTS, st.integers(1, 12))
def test_likeness_is_the_cosine_of_tf_idf(texts: list[list[str]], block: int) -> None:
    pairs = list(product(range(len(texts)), repeat=2))
    first, second = np.array(pairs, np.int64).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_BLOCK", block)
        found = likenesses(term_vectors(counted(texts)), first, second)
    expected = [cosine(texts, one, other) for one, other in pairs]
    assert found.tolist() == pytest.approx(expected)


def test_document_counts_of_a_larger_store() -> None:
    texts = [["a", "b"], ["a", "c"]]
    counts = counted(texts)
    held = np.array([{b"a": 1000, b"b": 1, b"c": 1}[term] for term in counts.terms])
    vectors = term_vectors(counts, held, 1000)
    common, rare = math.log(1001 / 1000), math.log(1001)
    found = likenesses(vectors, np.array([0]), np.array([1]))
    assert found.tolist() == pytest.approx([common**2 / (common**2 + rare**2)])


def test_plain_vectors_know_no_rarity() -> None:
    vectors = plain_vectors(counted([["a", "a", "b"], ["a", "c"]]))
    found = likenesses(vectors, np.array([0]), np.array([1]))
    twice = 1 + math.log(2)
    assert found.tolist() == pytest.approx([twice / math.hypot(twice, 1) / math.sqrt(2)])
