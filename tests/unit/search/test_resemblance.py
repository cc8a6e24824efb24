from __future__ import annotations

import numpy as np
import pytest

from simstore.search.resemblance import Overlap, estimated_overlap, overlap


def as_set(*values: int) -> np.ndarray:
    return np.array(sorted(values), np.uint64)


def test_overlap() -> None:
    for first, second, expected in (
        ((1, 2, 3, 4), (3, 4, 5), (2 / 5, 2 / 4, 2 / 3)),
        ((3, 4, 5), (1, 2, 3, 4), (2 / 5, 2 / 3, 2 / 4)),
        ((1, 2), (1, 2), (1.0, 1.0, 1.0)),
        ((2,), (1, 2, 3, 4), (1 / 4, 1.0, 1 / 4)),
        ((1, 2), (3, 4), (0.0, 0.0, 0.0)),
        ((0, (1 << 64) - 1), ((1 << 64) - 1,), (1 / 2, 1 / 2, 1.0)),
        ((), (1,), (0.0, 0.0, 0.0)),
        ((), (), (0.0, 0.0, 0.0)),
    ):
        assert overlap(as_set(*first), as_set(*second)) == Overlap(*expected, "text"), first


def test_estimated_overlap_is_exact_where_the_estimate_is() -> None:
    # 4 and 3 shingles, 2 in common.
    found = estimated_overlap(2 / 5, 4, 3)
    assert found.basis == "sketch"
    assert found.resemblance == 2 / 5
    assert found.containment == pytest.approx(2 / 4)
    assert found.containment_reverse == pytest.approx(2 / 3)


def test_estimated_containment_is_never_above_one() -> None:
    found = estimated_overlap(1.0, 10, 1000)
    assert (found.containment, found.containment_reverse) == (1.0, 0.01)


def test_empty_sets_resemble_nothing() -> None:
    assert estimated_overlap(1.0, 0, 0) == Overlap(0.0, 0.0, 0.0, "sketch")
