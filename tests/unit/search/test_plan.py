from __future__ import annotations

from simstore.search.plan import (
    choose_plan,
    uniform_costs,
)


def test_small_store_is_scanned_and_a_large_one_is_not() -> None:
    for count, method in ((1, "scan"), (10_000_000, "segments")):
        assert choose_plan(uniform_costs(64, 3, count), 3, count).method == method


def test_large_radius_is_scanned() -> None:
    assert choose_plan(uniform_costs(64, 60, 100_000), 60, 100_000).method == "scan"
