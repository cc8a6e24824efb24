from __future__ import annotations

import pytest

from simstore.errors import InvalidParameter
from simstore.search.plan import (
    cheapest_thresholds,
    check_radius,
    choose_plan,
    default_radius,
    uniform_costs,
)


def test_default_radius_is_three_or_the_bits() -> None:
    for bits, radius in ((1, 1), (2, 2), (3, 3), (4, 3), (64, 3), (128, 3)):
        assert default_radius(bits) == radius, bits


def test_radius_out_of_range_is_refused() -> None:
    for radius in (-1, 65, 1000):
        with pytest.raises(InvalidParameter, match=str(radius)):
            check_radius(radius, 64)


def test_radius_up_to_the_bits_is_allowed() -> None:
    for radius in (0, 3, 64):
        check_radius(radius, 64)


def test_plain_plan_of_64_bits_is_four_exact_look_ups() -> None:
    thresholds, _ = cheapest_thresholds(uniform_costs(64, 3, 1_000_000), 3)
    assert thresholds == (0, 0, 0, 0)


def test_plan_of_128_bits_looks_at_four_of_eight_segments() -> None:
    thresholds, _ = cheapest_thresholds(uniform_costs(128, 3, 1_000_000), 3)
    assert sorted(thresholds) == [-1] * 4 + [0] * 4


def test_plan_of_16_bits_flips_bits_in_the_one_segment() -> None:
    thresholds, _ = cheapest_thresholds(uniform_costs(16, 3, 1_000_000), 3)
    assert thresholds == (3,)


def test_plan_leaves_out_a_crowded_segment() -> None:
    rare, crowded = [0.0, 1.0, 20.0], [0.0, 10_000.0, 90_000.0]
    thresholds, cost = cheapest_thresholds([crowded, rare, rare, crowded], 3)
    assert thresholds == (-1, 1, 1, -1)
    assert cost == 40.0


def test_small_store_is_scanned_and_a_large_one_is_not() -> None:
    for count, method in ((1, "scan"), (10_000_000, "segments")):
        assert choose_plan(uniform_costs(64, 3, count), 3, count).method == method


def test_large_radius_is_scanned() -> None:
    assert choose_plan(uniform_costs(64, 60, 100_000), 60, 100_000).method == "scan"
