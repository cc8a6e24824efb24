from __future__ import annotations

import math
import random

import numpy as np
import pytest

from simstore.search.similarity import (
    cosine,
    dice_of_lists,
    euclidean_distance,
    value_ratio,
)


def test_ratio_is_the_smaller_value_by_the_larger() -> None:
    for first, second, expected in (
        (0, 0, 1.0),
        (0, 5, 0.0),
        (7, 0, 0.0),
        (3, 4, 0.75),
        (4, 3, 0.75),
        (9, 9, 1.0),
    ):
        assert value_ratio(first, second) == expected, first


def test_ratio_of_128_bit_values_is_within_its_range() -> None:
    largest = (1 << 128) - 1
    assert value_ratio(largest, largest - 1) <= 1.0
    assert value_ratio(1 << 127, largest) == pytest.approx(0.5)


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def test_cosine_is_within_its_range_and_like_the_plain_sum() -> None:
    for seed in range(20):
        source = random.Random(seed)
        a = [source.random() * 10 for _ in range(50)]
        b = [x * 1.7 for x in a] if seed % 2 else [source.random() for _ in a]
        found = cosine(vector(*a), vector(*b))
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        assert found == pytest.approx(dot / math.hypot(*a) / math.hypot(*b)), seed
        assert found is not None, seed
        assert 0 <= found <= 1, seed
        assert cosine(vector(*a), vector(*a)) == 1.0, seed
        assert euclidean_distance(vector(*a), vector(*b)) == pytest.approx(math.dist(a, b)), seed


def test_dice_of_lists_is_what_the_loops_of_the_blog_count() -> None:
    for seed in range(30):
        source = random.Random(seed)
        one, other = ([source.randrange(12) for _ in range(source.randrange(20))] for _ in "ab")
        found = dice_of_lists(np.array(one, np.uint64), np.array(other, np.uint64))
        count = 0
        for item in one:
            if item in other:
                count += 1
        total = len(one) + len(other)
        assert found == (count * 2 / total if total else None)
