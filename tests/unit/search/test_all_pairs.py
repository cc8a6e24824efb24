from __future__ import annotations

import numpy as np
import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.search.all_pairs import all_pairs


def sets(*rows: range | list[int]) -> ShingleSets:
    return from_rows([np.array(sorted(row), np.uint64) for row in rows])


def test_threshold_out_of_range_is_refused() -> None:
    for threshold in (0, -0.5, 1.01, float("nan")):
        with pytest.raises(InvalidParameter, match="at most 1"):
            all_pairs(sets([1], [1]), threshold)


def test_rare_shingles_name_the_candidates_so_that_few_pairs_are_compared() -> None:
    # 400 sets share a boilerplate of 30 shingles; every two neighbours are versions of one text.
    rows = [
        [*range(30), *(1000 + 100 * (number // 2) + n for n in range(70 - number % 2))]
        for number in range(400)
    ]
    found = all_pairs(sets(*rows), 0.8)
    assert len(found) == 200
    assert found.candidate_count == 200
    assert set(found.resemblance.tolist()) == {0.99}
