"""Filters of bands say yes to all that they hold, and to hardly anything else."""

from __future__ import annotations

import numpy as np
import pytest

from simstore.search.band_index import BandHashes, filter_bytes, is_affordable

from .kernels import kernels

BANDS = 7


def hashes(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (count, BANDS), np.uint64)


@pytest.mark.parametrize("on", [True, False])
def test_all_that_was_added_is_held_by_its_own_band(on: bool) -> None:
    made = BandHashes(BANDS, 5_000)
    held = hashes(1, 5_000)
    with kernels(on):
        for start in range(0, 5_000, 1_700):
            made.add(held[start : start + 1_700])
    assert made.may_hold(held).all()
    assert made.may_hold(held[:, :3]).all()
    # By chance: one in fifty at most.
    assert made.may_hold(hashes(2, 5_000)).mean() < 0.03
    assert made.may_hold(np.roll(held, 1, axis=1)).mean() < 0.03
    assert made.may_hold(held[:0]).shape == (0, BANDS)


def test_memory_is_bounded() -> None:
    assert filter_bytes(42, 1_000_000) == 42 << 20
    assert is_affordable(42, 10_000_000)
    assert not is_affordable(42, 40_000_000)
