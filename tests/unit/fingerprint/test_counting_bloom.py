from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import xxhash

from simstore.errors import InvalidParameter
from simstore.fingerprint.counting_bloom import counting_filter, filter_similarity, roomy_size

Counts = Counter[bytes]
A: Counts = Counter({b"harbour": 3, b"boat": 1, "船".encode(): 2, b"": 1})


def filled(counts: Counts, counters: int = 1 << 16, hashes: int = 4) -> np.ndarray:
    return counting_filter(
        list(counts),
        np.array(list(counts.values()), np.int64),
        counters=counters,
        hashes=hashes,
    )


def plain(counts: Counts, counters: int, hashes: int) -> list[int]:
    """The same filter in plain loops."""
    cells = [0] * counters
    for term, count in counts.items():
        high, low = divmod(xxhash.xxh3_128_intdigest(term), 1 << 64)
        for number in range(hashes):
            cells[(high + number * (low | 1)) % counters] += count
    return cells


def test_filter_is_the_one_of_plain_loops() -> None:
    for counters, hashes in ((1, 1), (8, 3), (64, 64), (1 << 12, 4)):
        assert filled(A, counters, hashes).tolist() == plain(A, counters, hashes), counters


def test_roomy_filter_grows_with_the_features() -> None:
    for features, counters in (
        (0, 1 << 16),
        (1, 1 << 16),
        (256, 1 << 16),
        (257, 1 << 17),
        (512, 1 << 17),
        (1 << 18, 1 << 26),
        (1 << 30, 1 << 26),
    ):
        assert roomy_size(features) == counters, features


def test_features_seldom_meet_in_a_roomy_filter() -> None:
    for count in (1, 100, 5_000):
        one, other = (
            Counter({b"%s %d" % (name, n): 1 for n in range(count)}) for name in (b"x", b"y")
        )
        filters = [filled(counts, roomy_size(2 * count)) for counts in (one, other)]
        found = filter_similarity(*filters)
        assert found is not None, count
        assert found < 0.01, count


def test_size_out_of_range_is_refused() -> None:
    for counters, hashes in ((0, 1), (3, 1), (-8, 1), (1 << 29, 1), (8, 0), (8, 9), (1 << 20, 65)):
        with pytest.raises(InvalidParameter):
            filled(A, counters, hashes)
