from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from simstore.search import bands as search_bands
from simstore.search.bands import colliding_pairs


def drawn(count: int, bands: int, values: int, seed: int = 1) -> np.ndarray:
    """Return band hashes of which many agree."""
    source = np.random.default_rng(seed)
    pool = source.integers(0, 1 << 64, values, dtype=np.uint64, endpoint=False)
    return pool[source.integers(0, values, (count, bands))]


def test_all_pairs_that_agree_in_a_band(monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (0, 1, 2, 50):
        for kept in (0, 40, 1 << 22):
            monkeypatch.setattr(search_bands, "_KEPT_PAIRS", kept)
            bands = drawn(count, 4, 30)
            expected = [
                [i, j] for i, j in combinations(range(count), 2) if (bands[i] == bands[j]).any()
            ]
            assert colliding_pairs(bands).tolist() == expected, (count, kept)
