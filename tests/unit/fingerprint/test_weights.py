from __future__ import annotations

import math

import numpy as np

from simstore.fingerprint.weights import SCALE, integer_weights


def test_logarithmic_weights_are_rounded_and_capped() -> None:
    counts = np.array([1, 2, 3, 10, 65_535, 65_536, 65_537, 10**9], np.int64)
    expected = [round(SCALE * (1 + math.log(min(n, 65_536)))) for n in counts.tolist()]
    assert integer_weights(counts, "log-tf").tolist() == expected
    assert expected[0] == 1024
    assert expected[-1] == expected[-3]


def test_no_weight_is_near_a_rounding_edge() -> None:
    n = np.arange(1, 65_537)
    fractions = np.modf(SCALE * (1 + np.log(n)))[0]
    assert np.abs(fractions - 0.5).min() > 1e-9
