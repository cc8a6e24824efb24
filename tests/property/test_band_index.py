"""The index of bands that grows finds what a comparison of all bands finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.search import band_index
from simstore.search.band_index import BandIndex

from .kernels import kernels

BANDS = 3


@pytest.mark.slow
@given(
    st.lists(st.lists(st.tuples(*[st.integers(0, 6)] * BANDS), max_size=9), max_size=12),
    st.lists(st.tuples(*[st.integers(0, 6)] * BANDS), max_size=5),
    st.integers(1, 9),
    st.integers(0, 9),
    st.booleans(),
)
def test_all_that_agree_in_a_band_are_found_and_nothing_without_an_equal_hash(
    grown: list[list[tuple[int, ...]]],
    queries: list[tuple[int, ...]],
    buffered: int,
    compared: int,
    on: bool,
) -> None:
    with pytest.MonkeyPatch.context() as patch, kernels(on):
        patch.setattr(band_index, "_BUFFERED", buffered)
        patch.setattr(band_index, "_COMPARED_QUERIES", compared)
        index, held = BandIndex(BANDS), []
        states = []
        for rows in grown:
            numbers = np.arange(len(rows)) * 2 + 5 + 2 * len(held)
            bands = np.array(rows, np.uint64).reshape(-1, BANDS)
            index = index.extended(bands, numbers)
            held += list(zip(numbers.tolist(), rows, strict=True))
            states.append((index, len(held)))
        asked = np.array(queries, np.uint64).reshape(-1, BANDS)
        # Those of before stay as they were.
        for one, size in states:
            before = [one.may_agree(query) for query in asked]
            found = one.candidates(asked)
            after = [one.may_agree(query) for query in asked]
            assert len(one) == size
            assert one.last_number == (held[size - 1][0] if size else 0)
            for query, numbers, *may_agree in zip(queries, found, before, after, strict=True):
                assert numbers.tolist() == sorted(set(numbers.tolist()))
                agree = {n for n, row in held[:size] if any(map(int.__eq__, row, query))}
                alike = {n for n, row in held[:size] if set(row) & set(query)}
                assert agree <= set(numbers.tolist()) <= alike
                assert all(bool(agree) <= may <= bool(alike) for may in may_agree)


def test_levels_are_few_however_many_sketches_come_one_by_one() -> None:
    index = BandIndex(BANDS)
    random = np.random.default_rng(5)
    bands = random.integers(0, 2**63, (3_000, BANDS)).astype(np.uint64)
    for number, row in enumerate(bands):
        index = index.extended(row[None, :], np.array([number]))
    assert len(index._levels) <= 5
    assert [found.tolist() for found in index.candidates(bands[::97])] == [
        [number] for number in range(0, 3_000, 97)
    ]
