from __future__ import annotations

import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.features import count_features
from simstore.search.likeness import TermVectors, alike_pairs, term_vectors


def vectors(*texts: str) -> TermVectors:
    return term_vectors(count_features(iter([text.split()]) for text in texts))


def test_threshold_out_of_range_is_refused() -> None:
    for threshold in (0, -0.5, 1.01, float("nan")):
        with pytest.raises(InvalidParameter, match="at most 1"):
            alike_pairs(vectors("a"), threshold)


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
