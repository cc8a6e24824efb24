"""The pigeonhole rule, and plans that obey it."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.index.segments import probe_count, probe_values, segment_values, segment_widths
from simstore.search.plan import cheapest_thresholds, choose_plan, uniform_costs

from .strategies import MAX_BITS, bits, bits_and_radius, fingerprints_of, flipped


def radii(width: int) -> list[int]:
    some = {0, 1, 2, 3, 4, 7, width // 2, width - 1, width}
    return sorted(radius for radius in some if 0 <= radius <= width)


def test_thresholds_spend_exactly_radius_plus_one_at_every_width() -> None:
    for width in range(1, MAX_BITS + 1):
        widths = segment_widths(width)
        for radius, count in product(radii(width), (1, 1_000_000)):
            costs = uniform_costs(width, radius, count)
            thresholds, cost = cheapest_thresholds(costs, radius)
            assert len(thresholds) == len(widths)
            assert sum(threshold + 1 for threshold in thresholds) == radius + 1
            assert all(-1 <= t <= w for t, w in zip(thresholds, widths, strict=True))
            spent = sum(row[t + 1] for row, t in zip(costs, thresholds, strict=True))
            assert cost == pytest.approx(spent)


@given(
    st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=4), min_size=1, max_size=4),
    st.data(),
)
def test_thresholds_are_the_cheapest_of_all_that_obey_the_rule(
    rows: list[list[int]], data: st.DataObject
) -> None:
    costs = [[0.0, *map(float, sorted(row))] for row in rows]
    radius = data.draw(st.integers(0, sum(len(row) - 1 for row in costs) - 1))
    every = [
        sum(row[more] for row, more in zip(costs, chosen, strict=True))
        for chosen in product(*(range(len(row)) for row in costs))
        if sum(chosen) == radius + 1
    ]
    thresholds, cost = cheapest_thresholds(costs, radius)
    assert cost == min(every)
    assert sum(threshold + 1 for threshold in thresholds) == radius + 1


@given(bits_and_radius(), st.integers(0, 2**20), st.data())
def test_two_fingerprints_within_the_radius_share_a_probe(
    shape: tuple[int, int], count: int, data: st.DataObject
) -> None:
    width, radius = shape
    query = data.draw(fingerprints_of(width))
    distance = data.draw(st.integers(0, radius))
    stored = data.draw(flipped(query, width, distance))
    thresholds, _ = cheapest_thresholds(uniform_costs(width, radius, count), radius)
    shared = [
        (mine ^ other).bit_count() <= threshold
        for mine, other, threshold in zip(
            segment_values(query, width), segment_values(stored, width), thresholds, strict=True
        )
    ]
    assert any(shared)


@given(bits_and_radius(), st.integers(0, 2**20), st.integers(1, 300))
def test_plan_takes_the_cheaper_method_unless_told_otherwise(
    shape: tuple[int, int], count: int, queries: int
) -> None:
    width, radius = shape
    costs = uniform_costs(width, radius, count)
    made = {
        method: choose_plan(costs, radius, count, query_count=queries, method=method)
        for method in ("auto", "scan", "segments")
    }
    assert made["scan"].method == "scan"
    assert made["segments"].method == "segments"
    assert made["auto"].cost == min(made["scan"].cost, made["segments"].cost)


@given(st.integers(1, 16), st.integers(-1, 16), st.data())
def test_probe_values_are_all_values_within_the_threshold(
    width: int, threshold: int, data: st.DataObject
) -> None:
    value = data.draw(st.integers(0, 2**width - 1))
    threshold = min(threshold, width)
    probed = probe_values(value, width, threshold)
    near = {other for other in range(2**width) if (other ^ value).bit_count() <= threshold}
    assert set(probed) == near
    assert len(probed) == len(near) == probe_count(width, threshold)
    assert probed[:1] == ([value] if threshold >= 0 else [])


@pytest.mark.parametrize("width", [1, 2, 7, 15, 16])
def test_probe_count_is_the_sum_of_binomials(width: int) -> None:
    for threshold in range(width + 1):
        expected = sum(comb(width, flips) for flips in range(threshold + 1))
        assert probe_count(width, threshold) == expected
    assert probe_count(width, -1) == 0
    assert probe_count(width, width) == 2**width


@given(bits, st.data())
def test_segments_are_the_fingerprint_cut_from_its_first_bit(
    width: int, data: st.DataObject
) -> None:
    value = data.draw(fingerprints_of(width))
    text = f"{value:0{width}b}"
    cut = [text[start : start + 16] for start in range(0, width, 16)]
    assert segment_values(value, width) == tuple(int(part, 2) for part in cut)
    assert segment_widths(width) == tuple(map(len, cut))
