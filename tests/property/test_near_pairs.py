"""The join by distance finds what comparing every pair finds, at every M and radius."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import to_words
from simstore.search import near_pairs as join
from simstore.search.near_pairs import near_pairs

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


# Above all, the way by the segments; a free probe makes it the cheaper one, else all are compared.
@pytest.mark.parametrize("probe_cost", [0.0, 1e9])
@given(case=planted(), block=st.sampled_from([1, 7, 1 << 20]))
def test_join_is_the_comparison_of_every_pair(
    probe_cost: float, case: tuple[list[int], int, int], block: int
) -> None:
    values, width, radius = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "_PROBE_COST", probe_cost)
        patch.setattr(join, "_BLOCK", block)
        if not probe_cost:
            patch.setattr(join, "_costs", lambda column, width, radius: free_costs(width, radius))
        if radius > 40 and not probe_cost:
            return  # too many values to flip to for a test
        assert joined(values, width, radius) == every_pair(values, radius)


def free_costs(width: int, radius: int) -> list[float]:
    """Costs that make every plan cheaper than comparing all; few flips in each segment."""
    return [0.0, *(-1.0 / (threshold + 1) for threshold in range(min(radius, width) + 1))]


@pytest.mark.parametrize("radius", [-1, 65])
def test_radius_out_of_range_is_refused(radius: int) -> None:
    with pytest.raises(InvalidParameter):
        near_pairs(to_words([1, 2], 64), 64, radius)
