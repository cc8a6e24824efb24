from __future__ import annotations

from simstore.fingerprint.simhash import to_words
from simstore.search.hamming import distances, verify


def test_distance_counts_bits_of_all_words() -> None:
    full = (1 << 128) - 1
    words = to_words([0, 1, full, full ^ (1 << 64), (1 << 64) | 1], 128)
    assert distances(words, to_words([0], 128)[0]).tolist() == [0, 1, 128, 127, 2]
    assert distances(words, to_words([full], 128)[0]).tolist() == [128, 127, 0, 1, 126]


def test_match_lies_within_the_radius_inclusive() -> None:
    for radius in range(6):
        words = to_words([0b11111, 0b1, 0, 0b111, 0b11, 0b1111], 64)
        positions, found = verify(words, to_words([0], 64)[0], radius)
        expected = [(p, d) for p, d in enumerate([5, 1, 0, 3, 2, 4]) if d <= radius]
        assert list(zip(positions.tolist(), found.tolist(), strict=True)) == expected, radius
