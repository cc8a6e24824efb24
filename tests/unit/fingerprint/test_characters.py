from __future__ import annotations

import random

import numpy as np
import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.characters import (
    LAYOUTS,
    VALUES,
    CharacterSketching,
    similarity_sketches,
)
from simstore.fingerprint.minhash import band_values
from simstore.fingerprint.shingle_sets import from_rows
from simstore.fingerprint.sketching import sketch_texts, unpack_sketches
from simstore.text.normalization import FOLDED

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def plain_mix(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def plain_hash(shingle: str) -> int:
    value = 0
    for character in shingle:
        value = (value * GAMMA + ord(character)) & MASK
    return plain_mix(value)


def plain_sketch(hashes: set[int]) -> list[int]:
    """Return the sketch as its definition says: all 512 rounds, in Python's own integers."""
    least: list[tuple[int, int]] = [(2 * VALUES, 0)] * VALUES
    for turn in range(2 * VALUES):
        for one in hashes:
            drawn = plain_mix((one + turn * GAMMA) & MASK)
            place = drawn % VALUES if turn < VALUES else turn - VALUES
            least[place] = min(least[place], (turn, drawn >> 9))
    return [plain_mix(turn << 55 | draw) >> 56 for turn, draw in least]


def shingles(text: str) -> list[int]:
    return CharacterSketching().sets([text]).row(0).tolist()


def test_shingles_are_runs_of_six_letters_whatever_stands_between_them() -> None:
    expected = sorted(map(plain_hash, ("onetwo", "netwot", "etwoth", "twothr")))
    assert shingles("one two thr") == expected
    assert shingles("one two\nthr") == expected
    assert shingles("One, tw-o: THR!") == expected


def test_shingles_that_begin_with_a_chinese_character_are_runs_of_three() -> None:
    assert shingles("中文文本") == sorted(map(plain_hash, ("中文文", "文文本")))
    assert shingles("A中文字b") == sorted(map(plain_hash, ("中文字", "文字b")))


def test_text_shorter_than_a_run_is_one() -> None:
    assert shingles("a b") == [plain_hash("ab")]
    assert shingles("中") == [plain_hash("中")]
    assert shingles("") == []
    assert shingles(" \n") == []


def test_text_without_letters_has_runs_of_its_marks() -> None:
    assert shingles("?! ??") == [plain_hash("?!??")]


def test_sketch_is_what_its_definition_says() -> None:
    for size in (1, 2, 7, 100, 250):
        drawn = random.Random(size)
        sets = [{drawn.getrandbits(64) for _ in range(size)}, {0, MASK}, set()]
        made = similarity_sketches(from_rows([np.array(sorted(one), np.uint64) for one in sets]))
        assert made.dtype == np.uint8, size
        assert made.shape == (3, VALUES), size
        assert made[0].tolist() == plain_sketch(sets[0]), size
        assert made[1].tolist() == plain_sketch(sets[1]), size
        assert not made[2].any(), size


def test_share_of_equal_values_lies_about_the_resemblance() -> None:
    for resemblance in (0.1, 0.5, 0.8):
        for size in (8, 60, 400, 4_000):
            drawn = np.random.default_rng(7)
            common = round(size * resemblance)
            own = (size - common) // 2
            errors = []
            for _ in range(40):
                hashes = drawn.integers(0, MASK, common + 2 * own, dtype=np.uint64)
                one, other = np.sort(hashes[: common + own]), np.sort(hashes[own:])
                made = similarity_sketches(from_rows([one, other]))
                expected = common / len(hashes) + (1 - common / len(hashes)) / 256
                errors.append(float((made[0] == made[1]).mean()) - expected)
            # The standard error of one estimate is at most .031.
            assert abs(np.mean(errors)) < 0.025, (resemblance, size)
            assert np.std(errors) < 0.05, (resemblance, size)


def test_text_with_one_wrong_letter_in_twenty_agrees_in_a_band() -> None:
    drawn = random.Random(3)
    words = ["".join(drawn.choices("abcdefghijklmnop", k=drawn.randint(2, 9))) for _ in range(900)]
    texts = [" ".join(drawn.choices(words, k=200)) for _ in range(100)]
    noisy = [
        "".join("z" if letter != " " and drawn.random() < 0.05 else letter for letter in text)
        for text in texts
    ]
    sketching = CharacterSketching()
    _, stored = sketching.sketched(texts)
    _, asked = sketching.sketched(noisy)
    found = (band_values(stored, LAYOUTS[0]) == band_values(asked, LAYOUTS[0])).any(axis=1)
    assert found.all()


def test_sketches_are_packed_a_byte_a_value() -> None:
    sketching = CharacterSketching()
    texts = ["one two three four", "", "中文文本"]
    sizes, made = sketching.sketched(texts)
    packed = sketch_texts(sketching, texts)
    assert [size for size, _ in packed] == sizes.tolist()
    assert [len(data) for _, data in packed] == [VALUES, 0, VALUES]
    unpacked = unpack_sketches([data for _, data in packed if data], sketching)
    assert (unpacked == made[[0, 2]]).all()
    with pytest.raises(ValueError, match="damaged"):
        unpack_sketches([packed[0][1][1:]], sketching)


def test_recipe_is_made_again_from_its_record() -> None:
    for recipe in (CharacterSketching(), CharacterSketching(FOLDED, 5, 2)):
        record = recipe.record()
        assert CharacterSketching.from_record(record, recipe.normalization) == recipe
        assert recipe.comes_out(record)
    assert not CharacterSketching(shingle=5).comes_out(CharacterSketching().record())


def test_shingles_of_no_characters_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="0 characters"):
        CharacterSketching(wide=0)


def test_known_answers_are_the_same_for_ever() -> None:
    assert CharacterSketching().known_answers() == [
        "a68dfbb1d75c6e8d",
        "b51c7441ac6d2a81",
        "1e8582d04cf6d86b",
        "38ccf6e00740c3fe",
        "f9b2f7c295809fd4",
        "6ac793bc90b817e4",
        "ed0a815a03879e5d",
        "6ce957ac504b42c6",
        "80f366970afe8653",
        "be7f2ac8fee5a3f7",
        "6bbe66674531ff69",
    ]
