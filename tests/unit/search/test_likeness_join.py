from __future__ import annotations

import numpy as np
import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.features import count_features
from simstore.search.likeness import TermVectors, alike_pairs, term_vectors


def vectors(*texts: str) -> TermVectors:
    return term_vectors(count_features(iter([text.split()]) for text in texts))


@pytest.mark.parametrize("threshold", [0, -0.5, 1.01, float("nan")])
def test_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidParameter, match="at most 1"):
        alike_pairs(vectors("a"), threshold)


def test_documents_without_terms_are_like_nothing() -> None:
    found = alike_pairs(vectors("", "a b", "", "a b", "c"), 0.01)
    assert (found.first.tolist(), found.second.tolist()) == ([1], [3])
    assert found.likeness.tolist() == [1.0]
    assert len(alike_pairs(vectors(), 0.5)) == 0


def test_rare_terms_name_the_candidates_so_that_few_pairs_are_compared() -> None:
    # 300 documents of one template; every two neighbours are versions of one text.
    template = " ".join(f"form{place}" for place in range(40))
    texts = [
        f"{template} " + " ".join(f"own{number // 2}x{place}" for place in range(12))
        for number in range(300)
    ]
    found = alike_pairs(vectors(*texts), 0.5)
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == [
        (number, number + 1) for number in range(0, 300, 2)
    ]
    assert found.candidate_count == 150


def test_rows_are_taken_in_the_order_given() -> None:
    made = vectors("a b", "c d d", "", "a b")
    taken = made.take(np.array([3, 2, 1]))
    assert np.diff(taken.offsets).tolist() == [2, 0, 2]
    assert taken.columns[:2].tolist() == made.columns[-2:].tolist()
    assert taken.weights[2:].tolist() == made.weights[2:4].tolist()
    assert len(made.take(np.empty(0, np.int64)).columns) == 0
