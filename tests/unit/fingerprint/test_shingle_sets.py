from __future__ import annotations

import numpy as np

from simstore.fingerprint.shingle_sets import mix, shingle_sets


def names(token_lists: list[list[str]], size: int) -> list[set[tuple[str, ...]]]:
    return [
        {tuple(one[i : i + size]) for i in range(max(len(one) - size + 1, min(len(one), 1)))}
        for one in token_lists
    ]


def test_sets_are_as_large_and_overlap_as_sets_of_tuples_do() -> None:
    for size in (1, 2, 3, 5):
        texts = [
            ["the", "boats", "came", "in", "with", "the", "tide", "the", "boats", "came", "in"],
            ["the", "boats", "came", "in", "with", "the", "wind"],
            ["tide", "the", "with", "in", "came", "boats", "the"],
            ["the", "boats"],
            ["boats", "the"],
            [],
            ["the"] * 50,
        ]
        sets, expected = shingle_sets(([one] for one in texts), size), names(texts, size)
        assert sets.sizes().tolist() == [len(one) for one in expected], size
        for i in range(len(texts)):
            assert (np.diff(sets.row(i).astype(object)) > 0).all(), size
            for j in range(len(texts)):
                common = np.intersect1d(sets.row(i), sets.row(j))
                assert len(common) == len(expected[i] & expected[j]), (i, j)


def test_hashes_are_the_same_for_ever() -> None:
    sets = shingle_sets([[["灯", "塔", "lamp", "\udcff"]], [["one"]]])
    assert [f"{value:016x}" for value in sets.hashes.tolist()] == [
        "5713201f6eedee13",
        "b965aa8e4e14914b",
        "38b56e62b6baca1c",
    ]
    assert sets.offsets.tolist() == [0, 2, 3]


def test_mix_is_one_to_one_on_a_sample() -> None:
    values = np.arange(1 << 16, dtype=np.uint64) << np.uint64(40)
    assert len(np.unique(mix(values))) == 1 << 16
