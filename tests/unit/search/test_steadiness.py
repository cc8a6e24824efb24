from __future__ import annotations

import numpy as np
import pytest

from simstore.search.evaluation import highest, steadied


def test_mean_of_the_neighbours_and_nothing_beyond_the_ends() -> None:
    found = steadied([0.1, 0.2, 0.3, 0.6], [0.0, 0.6, 0.9, 1.0], 0.1)
    assert found.tolist() == pytest.approx([0.3, 0.5, 0.75, 1.0])


def test_width_of_nothing_is_the_score_itself() -> None:
    assert steadied([3, 1, 2], [0.5, 0.25, 1.0], 0).tolist() == [0.5, 0.25, 1.0]


def test_of_equally_high_means_the_middle_one() -> None:
    assert highest(np.array([0.2, 1.0, 1.0, 1.0, 0.4])) == 2
    assert highest(np.array([1.0])) == 0


def test_lonely_peak_loses_to_a_plateau() -> None:
    scores = [0.1, 0.1, 0.95, 0.1, 0.1, 0.9, 0.9, 0.9, 0.1]
    places = [0.1 * step for step in range(9)]
    assert steadied(places, scores, 0).argmax() == 2
    assert steadied(places, scores, 0.1).argmax() == 6
