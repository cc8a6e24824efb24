from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import xxhash

from simstore.errors import InvalidParameter
from simstore.fingerprint import counting_bloom
from simstore.fingerprint.counting_bloom import counting_filter, filter_similarity, roomy_size

Counts = Counter[bytes]
A: Counts = Counter({b"harbour": 3, b"boat": 1, "船".encode(): 2, b"": 1})
B: Counts = Counter({b"harbour": 1, b"boat": 4, b"bread": 2})


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


@pytest.mark.parametrize(("counters", "hashes"), [(1, 1), (8, 3), (64, 64), (1 << 12, 4)])
def test_filter_is_the_one_of_plain_loops(counters: int, hashes: int) -> None:
    assert filled(A, counters, hashes).tolist() == plain(A, counters, hashes)


def test_each_feature_adds_its_count_to_different_counters() -> None:
    cells = filled(Counter({b"boat": 5}), 64, 64)
    assert cells.tolist() == [5] * 64
    assert int(filled(A).sum()) == 4 * sum(A.values())


def test_many_features_are_added_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counter({b"%d" % number: number % 7 + 1 for number in range(100)})
    at_once = filled(counts)
    monkeypatch.setattr(counting_bloom, "_BLOCK", 9)
    assert filled(counts).tolist() == at_once.tolist()


def test_overlap_is_that_of_the_counts_where_no_features_collide() -> None:
    used = [place for cells in (plain(A, 1 << 16, 4), plain(B, 1 << 16, 4)) for place in cells]
    assert sum(map(bool, used)) == 4 * (len(A) + len(B))
    expected = sum((A & B).values()) / sum((A | B).values())
    assert filter_similarity(filled(A), filled(B)) == expected


@pytest.mark.parametrize("counters", [1, 2, 4, 8, 16, 32])
def test_collisions_only_raise_the_overlap(counters: int) -> None:
    exact = sum((A & B).values()) / sum((A | B).values())
    found = filter_similarity(filled(A, counters, 1), filled(B, counters, 1))
    assert found is not None
    assert exact <= found <= 1


def test_overlap_of_empty_filters() -> None:
    empty = filled(Counter())
    assert filter_similarity(empty, empty) is None
    assert filter_similarity(empty, filled(A)) == 0.0
    assert filter_similarity(filled(A), filled(A)) == 1.0


@pytest.mark.parametrize(
    ("features", "counters"),
    [
        (0, 1 << 16), (1, 1 << 16), (256, 1 << 16), (257, 1 << 17), (512, 1 << 17),
        (1 << 18, 1 << 26), (1 << 30, 1 << 26),
    ],
)  # fmt: skip
def test_roomy_filter_grows_with_the_features(features: int, counters: int) -> None:
    assert roomy_size(features) == counters


@pytest.mark.parametrize("count", [1, 100, 5_000])
def test_features_seldom_meet_in_a_roomy_filter(count: int) -> None:
    one, other = (Counter({b"%s %d" % (name, n): 1 for n in range(count)}) for name in (b"x", b"y"))
    filters = [filled(counts, roomy_size(2 * count)) for counts in (one, other)]
    found = filter_similarity(*filters)
    assert found is not None
    assert found < 0.01


@pytest.mark.parametrize(
    ("counters", "hashes"), [(0, 1), (3, 1), (-8, 1), (1 << 29, 1), (8, 0), (8, 9), (1 << 20, 65)]
)
def test_size_out_of_range_is_refused(counters: int, hashes: int) -> None:
    with pytest.raises(InvalidParameter):
        filled(A, counters, hashes)
