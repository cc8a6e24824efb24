"""Mistakes of clusterings that are made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from simstore.search.agreement import ScoredPairs
from simstore.search.mistakes import find_mistakes


def scored(rows: list[tuple[int, int, bool, bool, float]]) -> ScoredPairs:
    """Pairs: two documents, labelled, in a band, resemblance."""
    count = len(rows)
    return ScoredPairs(
        first=np.array([row[0] for row in rows], np.int64),
        second=np.array([row[1] for row in rows], np.int64),
        labelled=np.array([row[2] for row in rows], np.bool_),
        distance=np.full(count, 64, np.int64),
        in_band=np.array([row[3] for row in rows], np.bool_),
        estimate=np.zeros(count),
        resemblance=np.array([row[4] for row in rows], np.float64),
        likeness=np.zeros(count),
        cosine=np.zeros(count),
        agreeing=np.zeros(count, np.int64),
        filter_overlap=np.zeros(count),
    )


# Documents 0 and 1 are canonical; 2 is like both and more like 1; 3 is like 1; 4 is like nothing.
# Labelled are {0, 2, 4} and {1}, {3}.
PAIRS = scored(
    [
        (0, 2, True, True, 0.6),
        (0, 4, True, False, 0.1),
        (1, 2, False, True, 0.9),
        (1, 3, False, True, 0.7),
        (2, 4, True, True, 0.2),
    ]
)
GROUPS = np.array([0, 1, 0, 2, 0])


def codes(found: object) -> dict[str, list[int]]:
    return {reason: some.tolist() for _, reason, some in found.classes}  # type: ignore[attr-defined]


def test_every_class_holds_the_pairs_that_belong_to_it() -> None:
    found = find_mistakes(PAIRS, GROUPS, 5, ("verified", 0.5), 3)
    assert found.stars.tolist() == [0, 1, 1, 1, 4]
    assert codes(found) == {
        "never a candidate": [0 * 5 + 4],
        "the rule said no": [2 * 5 + 4],
        "joined to another canonical document": [0 * 5 + 2],
        "the rule said yes": [1 * 5 + 2, 1 * 5 + 3],
        "each is like the canonical document": [2 * 5 + 3],
    }
    counts = found.counts
    assert (counts.common_count, counts.found_count, counts.labelled_count) == (0, 3, 3)
    # By hand: no pair is in both partitions, three pairs are in each, of ten in all; so
    # (0 - 3 * 3 / 10) / (3 - 3 * 3 / 10).
    assert found.ari == pytest.approx(-0.9 / 2.1)


def test_pairs_without_groups_are_judged_by_their_own_edge() -> None:
    found = find_mistakes(PAIRS, None, 5, ("verified", 0.5), 3)
    assert found.ari is None
    assert codes(found)["joined to another canonical document"] == []
    assert codes(found)["the rule said yes"] == [1 * 5 + 2, 1 * 5 + 3]
    assert found.counts.common_count == 1
