from __future__ import annotations

import math

import numpy as np

from simstore.fingerprint.weights import SCALE, integer_weights


def test_counts_and_ones() -> None:
    counts = np.array([1, 7, 300], np.int64)
    assert integer_weights(counts, "tf").tolist() == [1, 7, 300]
    assert integer_weights(counts, "uniform").tolist() == [1, 1, 1]


def test_logarithmic_weights_are_rounded_and_capped() -> None:
    counts = np.array([1, 2, 3, 10, 65_535, 65_536, 65_537, 10**9], np.int64)
    expected = [round(SCALE * (1 + math.log(min(n, 65_536)))) for n in counts.tolist()]
    assert integer_weights(counts, "log-tf").tolist() == expected
    assert expected[0] == 1024
    assert expected[-1] == expected[-3]


def test_weight_of_a_count_does_not_depend_on_the_others() -> None:
    counts = [1000, 2, 5, 1, 70_000]
    alone = [integer_weights(np.array([n], np.int64), "log-tf").tolist() for n in counts]
    together = integer_weights(np.array(counts, np.int64), "log-tf").tolist()
    assert [[weight] for weight in together] == alone


def test_no_weight_is_near_a_rounding_edge() -> None:
    n = np.arange(1, 65_537)
    fractions = np.modf(SCALE * (1 + np.log(n)))[0]
    assert np.abs(fractions - 0.5).min() > 1e-9
