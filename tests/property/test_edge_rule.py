"""The rule of an edge says what its words say, and of sets the same as of their sizes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simstore.search.resemblance import EdgeRule, overlap, size_ratios

sets = st.sets(st.integers(0, 12), max_size=12)
rules = st.builds(EdgeRule, st.sampled_from([None, 0.1, 0.5, 0.8, 1.0]), st.integers(0, 12))


def size_ratio(one: int, other: int) -> float:
    """The smaller size divided by the larger."""
    return min(one, other) / max(one, other, 1)


def holds_for(rule: EdgeRule, share: float, ratio: float, fewest: int) -> bool:
    return bool(rule.holds(np.array([share]), np.array([ratio]), np.array([fewest]))[0])


def hashes(one: set[int]) -> np.ndarray:
    return np.array(sorted(one), np.uint64)


@given(rules, sets, sets, st.integers(0, 20), st.integers(0, 20))
def test_rule_is_that_of_the_words(
    rule: EdgeRule, one: set[int], other: set[int], features: int, more: int
) -> None:
    share = overlap(hashes(one), hashes(other)).resemblance
    ratio = size_ratio(len(one), len(other))
    fewest = min(features, more)
    holds = holds_for(rule, share, ratio, fewest)
    least = rule.min_resemblance
    contained = bool(one and other) and (one <= other or other <= one)
    if least is None or share < least:
        assert not holds
    else:
        assert holds == (fewest >= rule.least_features or contained)


@given(rules, sets, sets)
def test_what_sizes_rule_out_has_no_edge(rule: EdgeRule, one: set[int], other: set[int]) -> None:
    sizes = np.array([len(one)]), np.array([len(other)])
    assert size_ratios(*sizes).tolist() == [size_ratio(len(one), len(other))]
    if not rule.may_hold(*sizes)[0]:
        share = overlap(hashes(one), hashes(other)).resemblance
        assert not holds_for(rule, share, size_ratio(len(one), len(other)), 10**6)
