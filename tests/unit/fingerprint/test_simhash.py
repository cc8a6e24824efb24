from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import (
    fingerprints,
    pack,
    to_hex,
    to_integers,
    to_words,
)


def hashes_of(signs: list[list[int]]) -> NDArray[np.uint64]:
    """Return a hash for each row of signs, its first bit the highest."""
    rows = ["".join("1" if sign > 0 else "0" for sign in row).ljust(64, "0") for row in signs]
    return np.array([[int(row, 2)] for row in rows], np.uint64)


def one_document(weights: list[int], signs: list[list[int]], tie: int = 0) -> int:
    count = len(weights)
    (value,) = to_integers(
        fingerprints(
            np.array([0, count], np.int64),
            np.arange(count, dtype=np.int64),
            np.array(weights, np.int64),
            hashes_of(signs),
            len(signs[0]),
            tie,
        )
    )
    return value


def test_bit_is_one_where_the_weighted_sum_is_positive() -> None:
    signs = [[1, -1, 1, -1], [-1, -1, 1, 1], [-1, 1, 1, -1]]
    assert one_document([3, 1, 1], signs) == 0b1010
    assert one_document([1, 1, 3], signs) == 0b0110


def test_zero_sum_gives_the_tie() -> None:
    for tie, expected in ((0, 0b001), (1, 0b111)):
        assert one_document([2, 2], [[1, -1, 1], [-1, 1, 1]], tie) == expected, tie


def test_document_without_features_has_only_zero_sums() -> None:
    for tie, expected in ((0, 0), (1, 0b111)):
        empty = np.empty(0, np.int64)
        made = fingerprints(
            np.array([0, 0, 0], np.int64), empty, empty, hashes_of([[1, -1, 1]]), 3, tie
        )
        assert to_integers(made) == [expected, expected], tie


def test_sums_are_exact_however_large_the_weights() -> None:
    for weight in (1 << 23, 1 << 24, (1 << 24) + 1, 1 << 30, 1 << 51):
        assert one_document([weight, weight, 1], [[1], [-1], [1]]) == 1, weight
        assert one_document([weight, weight, 1], [[1], [-1], [-1]]) == 0, weight
        assert one_document([weight, weight - 1], [[1], [-1]]) == 1, weight


def test_most_significant_word_comes_first() -> None:
    assert to_words([(5 << 64) | 7], 128).tolist() == [[5, 7]]
    assert to_words([1 << 64], 65).tolist() == [[1, 0]]


def test_first_bit_of_a_row_is_the_most_significant() -> None:
    rows = np.zeros((2, 70), bool)
    rows[0, 0] = rows[1, 69] = True
    assert to_integers(pack(rows)) == [1 << 69, 1]


def test_hexadecimal_is_padded_to_the_bits() -> None:
    assert to_hex(0, 1) == "0"
    assert to_hex(5, 16) == "0005"
    assert to_hex(5, 17) == "00005"
    assert to_hex((1 << 128) - 1, 128) == "f" * 32
