from __future__ import annotations

import math
import random

import numpy as np
import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.minhash import (
    VALUES,
    BandLayout,
    band_values,
    estimates,
    sketches,
)
from simstore.fingerprint.shingle_sets import from_rows
from simstore.fingerprint.sketching import SketchRecipe

MASK = (1 << 64) - 1


def plain_mix(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def plain_sketch(hashes: set[int]) -> list[int]:
    """Return the sketch as its definition says, in Python's own integers."""
    drawn = [
        plain_mix((place * 0x9E3779B97F4A7C15 + 0x73696D73746F7265) & MASK)
        for place in range(1, 2 * VALUES + 1)
    ]
    return [
        plain_mix(min(((drawn[j] | 1) * h + drawn[VALUES + j]) & MASK for h in hashes)) >> 48
        for j in range(VALUES)
    ]


def rows(sets: list[set[int]]) -> list[np.ndarray]:
    return [np.array(sorted(one), np.uint64) for one in sets]


def test_sketch_is_what_its_definition_says() -> None:
    for size in (1, 2, 255, 256, 257, 700):
        drawn = random.Random(size)
        sets = [{drawn.getrandbits(64) for _ in range(size)}, {0, MASK}, set()]
        made = sketches(from_rows(rows(sets)))
        assert made.dtype == np.uint16, size
        assert made.shape == (3, VALUES), size
        assert made[0].tolist() == plain_sketch(sets[0]), size
        assert made[1].tolist() == plain_sketch(sets[1]), size


def test_estimates_lie_about_the_resemblance() -> None:
    for resemblance in (0.1, 0.3, 0.5, 0.8, 0.95):
        drawn = random.Random(7)
        errors = []
        for _ in range(60):
            common = {drawn.getrandbits(64) for _ in range(round(400 * resemblance))}
            alone = [drawn.getrandbits(64) for _ in range(400 - len(common))]
            first = common | set(alone[::2])
            second = common | set(alone[1::2])
            made = sketches(from_rows(rows([first, second])))
            exact = len(first & second) / len(first | second)
            errors.append(float(estimates(made[:1], made[1])[0]) - exact)
        standard_error = math.sqrt(resemblance * (1 - resemblance) / VALUES)
        assert abs(np.mean(errors)) < 4 * standard_error / math.sqrt(60), resemblance
        assert np.std(errors) < 1.5 * standard_error, resemblance


def test_estimate_counts_equal_values() -> None:
    one = np.arange(VALUES, dtype=np.uint16)
    other = one.copy()
    other[:32] += 1
    assert estimates(np.stack((one, other)), one).tolist() == [1.0, 0.75]


def test_bands_are_equal_where_their_values_are() -> None:
    for layout in ((42, 3), (32, 4), (21, 6), (16, 8), (1, 128), (128, 1)):
        drawn = np.random.default_rng(3)
        # Few values, so that bands agree often.
        many = drawn.integers(0, 2, (60, VALUES)).astype(np.uint16)
        many[:, ::3] += np.uint16(65_000)
        bands = band_values(many, BandLayout(*layout))
        count, size = layout
        assert bands.shape == (60, count), layout
        for i in range(60):
            for place in range(count):
                part = slice(place * size, (place + 1) * size)
                same = (many[:, part] == many[i, part]).all(axis=1)
                assert ((bands[:, place] == bands[i, place]) == same).all(), layout


def test_probability_is_the_curve_of_the_bands() -> None:
    layout = BandLayout(32, 4)
    shares = np.array([0.0, 0.5, 0.8, 1.0])
    expected = [1 - (1 - s**4) ** 32 for s in shares.tolist()]
    assert layout.probability(shares) == pytest.approx(expected)
    assert str(layout) == "32x4"


def test_fewest_of_the_first_bands_that_miss_one_in_a_million() -> None:
    for least in (0.3, 0.6, 0.8, 0.95, 0.9999, 1.0):
        share = np.array([least])
        chosen = BandLayout().enough_for(least)
        assert chosen.rows == 3, least
        if chosen.bands < BandLayout().bands:
            assert 1 - chosen.probability(share)[0] <= 1e-6, least
        if chosen.bands > 1:
            fewer = BandLayout(chosen.bands - 1, 3)
            assert 1 - fewer.probability(share)[0] > 1e-6, least


def test_layout_that_does_not_fit_the_sketch_is_refused() -> None:
    for bands, size in ((0, 4), (4, 0), (65, 4), (257, 1), (-1, -1)):
        with pytest.raises(InvalidParameter, match="at most 256"):
            BandLayout(bands, size)


def test_layout_that_does_not_fit_the_sketches_of_its_channel_is_refused() -> None:
    for bands, size in ((33, 4), (129, 1)):
        with pytest.raises(InvalidParameter, match="at most 128"):
            SketchRecipe("minhash", layout=BandLayout(bands, size))


def test_bands_are_enough_for_any_least_resemblance() -> None:
    for layout in (BandLayout(32, 4), BandLayout(1, 128), BandLayout(42, 3)):
        for least in (1e-300, 1e-100, 1e-6, 1e-3):
            assert layout.enough_for(least) == layout, (layout, least)
