"""The exact join finds what comparing every pair finds, at every threshold."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.search import all_pairs as join
from simstore.search.all_pairs import all_pairs, resemblances

# Few values, so that sets overlap; some that differ in their top bits only.
VALUES = st.sampled_from([*range(30), *(n << 60 for n in range(1, 8)), 2**64 - 1])
SETS = st.lists(st.sets(VALUES, max_size=25), max_size=14)
SHARES = st.tuples(st.integers(1, 20), st.integers(1, 20)).map(
    lambda pair: Fraction(min(pair), max(pair))
)


def as_rows(sets: list[set[int]]) -> ShingleSets:
    return from_rows([np.array(sorted(one), np.uint64) for one in sets])


def every_pair(sets: list[set[int]], least: Fraction) -> list[tuple[int, int, Fraction]]:
    """Compare every pair of sets, in exact fractions."""
    found = []
    for (i, one), (j, other) in combinations(enumerate(sets), 2):
        if one and other:
            share = Fraction(len(one & other), len(one | other))
            if share >= least:
                found.append((i, j, share))
    return found


def joined(sets: list[set[int]], threshold: float) -> list[tuple[int, int, float]]:
    found = all_pairs(as_rows(sets), threshold)
    return list(
        zip(found.first.tolist(), found.second.tolist(), found.resemblance.tolist(), strict=True)
    )


@given(SETS, SHARES)
def test_join_is_the_comparison_of_every_pair(sets: list[set[int]], least: Fraction) -> None:
    expected = [(i, j, float(share)) for i, j, share in every_pair(sets, least)]
    assert joined(sets, float(least)) == expected


@given(SHARES, st.integers(1, 5), SETS)
def test_join_finds_pairs_at_exactly_the_threshold_and_none_below(
    share: Fraction, times: int, others: list[set[int]]
) -> None:
    common, union = share.numerator * times, share.denominator * times
    alone = union - common
    first = set(range(1000, 1000 + common + alone // 2))
    second = set(range(1000, 1000 + common)) | set(range(2000, 2000 + alone - alone // 2))
    sets = [first, *others, second]
    pair = (0, len(sets) - 1)
    assert pair in [found[:2] for found in joined(sets, float(share))]
    above = Fraction(common + 1, union)
    if above <= 1:
        assert pair not in [found[:2] for found in joined(sets, float(above))]


@given(SETS, SHARES, st.integers(1, 40))
def test_join_does_not_depend_on_the_size_of_its_blocks(
    sets: list[set[int]], least: Fraction, block: int
) -> None:
    expected = joined(sets, float(least))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "_BLOCK", block)
        assert joined(sets, float(least)) == expected


@given(SETS.filter(bool), st.data())
def test_resemblances_of_given_pairs_in_any_order(
    sets: list[set[int]], data: st.DataObject
) -> None:
    place = st.integers(0, len(sets) - 1)
    pairs = data.draw(st.lists(st.tuples(place, place), min_size=1, max_size=30))
    first, second = np.array(pairs, np.int64).T
    expected = [
        len(sets[i] & sets[j]) / len(sets[i] | sets[j]) if sets[i] and sets[j] else 0.0
        for i, j in pairs
    ]
    assert resemblances(as_rows(sets), first, second).tolist() == expected
