from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simstore.search.agreement import (
    Agreement,
    agreement,
    connected,
    pair_codes,
    pairs_of_clusters,
)

LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=12)


def codes(pairs: list[tuple[int, int]], count: int) -> NDArray[np.int64]:
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    return pair_codes(first, second, count)


def array(labels: list[int]) -> NDArray[np.int64]:
    return np.array(labels, np.int64)


def test_precision_recall_and_f1() -> None:
    found = np.array([True, True, True, True, False, False])
    labelled = np.array([True, True, False, False, True, False])
    counted = agreement(found, labelled)
    assert counted == Agreement(2, 4, 3)
    assert counted.precision == 0.5
    assert counted.recall == pytest.approx(2 / 3)
    assert counted.f1 == pytest.approx(4 / 7)


def test_nothing_found_is_precise_and_nothing_labelled_is_recalled() -> None:
    assert Agreement(0, 0, 3).precision == 1
    assert Agreement(0, 0, 3).f1 == 0
    assert Agreement(0, 3, 0).recall == 1
    assert Agreement(0, 3, 0).f1 == 0
    assert Agreement(0, 0, 0).f1 == 1


def test_a_pair_counts_once_in_either_order_and_a_document_is_no_pair() -> None:
    assert codes([(3, 1), (1, 3), (2, 2)], 10).tolist() == [13]


def test_pairs_of_clusters_leave_out_what_has_no_label() -> None:
    found = pairs_of_clusters(array([7, -1, 7, 3, 7, -1, 3]))
    assert found.tolist() == codes([(0, 2), (0, 4), (2, 4), (3, 6)], 7).tolist()
    assert pairs_of_clusters(array([-1, -1])).tolist() == []
    assert pairs_of_clusters(array([])).tolist() == []


@given(LABELS)
def test_pairs_of_clusters_are_all_pairs_with_one_label(labels: list[int]) -> None:
    count = len(labels)
    expected = [i * count + j for i, j in combinations(range(count), 2) if labels[i] == labels[j]]
    assert pairs_of_clusters(array(labels)).tolist() == expected


@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=14),
)
def test_connected_documents_share_the_place_of_their_first(pairs: list[tuple[int, int]]) -> None:
    expected = list(range(12))
    for _ in range(12):
        for one, other in pairs:
            expected[one] = expected[other] = min(expected[one], expected[other])
    first, second = array([p[0] for p in pairs]), array([p[1] for p in pairs])
    assert connected(first, second, 12).tolist() == expected
