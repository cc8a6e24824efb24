from __future__ import annotations

import numpy as np
import pytest

from simstore.services.check.reworded import Bags, BagTable, Fit, Side, stays_alone

UNITS, SENTENCES = 12, 9


def _table(rng: np.random.Generator, weights: np.ndarray) -> BagTable:
    counts = rng.poisson(0.5, (SENTENCES, UNITS)).astype(float)
    # What the other text has not weighs too.
    return BagTable(counts, counts @ weights + rng.random(SENTENCES))


def test_bags_count_the_units_of_each_sentence() -> None:
    codes = np.array([3, 1, 3, 0, 0, 2])
    bags = Bags.of(codes, np.array([[0, 3], [3, 6]]), 4)
    weights = np.array([8.0, 1.0, 2.0, 4.0])
    assert bags.bag(0, 2, 4).tolist() == [2, 1, 1, 2]
    assert bags.bag(1, 2, 4).tolist() == [2, 0, 1, 0]
    assert bags.units(0, 1).tolist() == [1, 3]
    # Of the paper's units each counts once, of all others each time.
    assert bags.sums(weights).tolist() == [5.0, 18.0]
    assert bags.totals(weights).tolist() == [9.0, 18.0]
    columns = np.array([-1, 0, -1, 1])
    assert bags.table(0, 2, columns, 2).tolist() == [[1.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("seed", range(6))
def test_a_pair_stays_alone_just_where_growing_takes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random(UNITS) + 0.1
    own, theirs = _table(rng, weights), _table(rng, weights)
    pairs = np.array([(a, b) for a in range(SENTENCES) for b in range(SENTENCES)])
    alone, common = stays_alone(own, theirs, pairs, weights)
    for (first, second), is_alone, shared in zip(pairs.tolist(), alone, common, strict=True):
        one, other = Side(own, first, first + 1), Side(theirs, second, second + 1)
        fit = Fit(one, other, weights)
        assert fit.both == pytest.approx(shared)
        fit.grow()
        size = one.end - one.first + other.end - other.first
        assert (size == 2) == is_alone
    assert 0 < alone.sum() < len(alone)


def test_trimming_leaves_out_what_makes_stretches_less_alike() -> None:
    counts = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    weights = np.ones(3)
    own = BagTable(counts, np.array([9.0, 1.0, 1.0]))
    theirs = BagTable(counts[1:], np.ones(2))
    one, other = Side(own, 0, 3), Side(theirs, 0, 2)
    fit = Fit(one, other, weights)
    fit.trim()
    assert (one.first, one.end, other.first, other.end) == (1, 3, 0, 2)
    assert 2 * fit.both == fit.total
