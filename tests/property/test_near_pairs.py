"""The join by distance finds what comparing every pair finds, at every M and radius."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import to_words
from simstore.search import sorted_tables, table_lookup, table_plans
from simstore.search import sorted_tables as join
from simstore.search.sorted_tables import near_pairs

from .kernels import kernels
from .plans import by_scan, by_segments
from .strategies import bits_and_radius, fingerprints_of, flipped


@st.composite
def planted(draw: st.DrawFn) -> tuple[list[int], int, int]:
    """Return fingerprints with pairs at radius and radius + 1, M and the radius."""
    width, radius = draw(bits_and_radius())
    values = draw(st.lists(fingerprints_of(width), max_size=20))
    for value in draw(st.lists(fingerprints_of(width), max_size=4)):
        values += [value, draw(flipped(value, width, radius))]
        if radius < width:
            values.append(draw(flipped(value, width, radius + 1)))
    return draw(st.permutations(values)), width, radius


def every_pair(values: list[int], radius: int) -> list[tuple[int, int]]:
    return [
        (i, j)
        for (i, one), (j, other) in combinations(enumerate(values), 2)
        if (one ^ other).bit_count() <= radius
    ]


def joined(values: list[int], width: int, radius: int) -> list[tuple[int, int]]:
    first, second = near_pairs(to_words(values, width), width, radius)
    return list(zip(first.tolist(), second.tolist(), strict=True))


@pytest.mark.slow
@given(case=planted(), block=st.sampled_from([1, 7, 1 << 20]), compiled_too=st.booleans())
def test_join_by_tables_is_the_comparison_of_every_pair(
    case: tuple[list[int], int, int], block: int, compiled_too: bool
) -> None:
    values, width, radius = case
    # Beyond, a segment has more values to flip to than a test can wait for.
    assume(radius <= 12)
    with pytest.MonkeyPatch.context() as patch, kernels(compiled_too):
        patch.setattr(join, "_FEW", 0)
        patch.setattr(table_lookup, "_BLOCK", block)
        patch.setattr(sorted_tables, "_HELD_PAIRS", block)
        patch.setattr(table_plans, "choose_plan", by_segments)
        assert joined(values, width, radius) == every_pair(values, radius)


@given(case=planted(), few=st.sampled_from([0, 1_000]), compiled_too=st.booleans())
def test_sweep_is_the_comparison_of_every_pair(
    case: tuple[list[int], int, int], few: int, compiled_too: bool
) -> None:
    values, width, radius = case
    with pytest.MonkeyPatch.context() as patch, kernels(compiled_too):
        patch.setattr(join, "_FEW", few)
        patch.setattr(sorted_tables, "_SCAN_ROWS", 3)
        patch.setattr(table_plans, "choose_plan", by_scan)
        assert joined(values, width, radius) == every_pair(values, radius)


def test_radius_out_of_range_is_refused() -> None:
    for radius in (-1, 65):
        with pytest.raises(InvalidParameter):
            near_pairs(to_words([1, 2], 64), 64, radius)
