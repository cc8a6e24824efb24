from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from simstore.text.characters import (
    CHARACTER,
    SEPARATOR,
    WORD,
    class_table,
    code_points,
    unknown_table,
)


def category(code_point: int) -> str:
    return unicodedata.category(chr(code_point))


@pytest.mark.slow
@pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="this Python has another Unicode than 14.0"
)
def test_table_is_that_of_unicode_14() -> None:
    categories = np.array([category(code_point) for code_point in range(0x110000)])
    unknown = np.isin(categories, ["Cn", "Co"])
    of_words = np.isin(np.array([kind[0] for kind in categories]), ["L", "M", "N"])
    assert (unknown_table() == unknown).all()
    classes = class_table()
    assert (classes[unknown] == CHARACTER).all()
    assert (classes[of_words] != SEPARATOR).all()
    assert (classes[~of_words & ~unknown] == SEPARATOR).all()


def test_table_agrees_with_this_python_where_both_know_a_code_point() -> None:
    unknown, classes = unknown_table(), class_table()
    letters = [
        code_point
        for code_point in range(0, 0x110000, 7)
        if not unknown[code_point] and category(code_point)[0] == "L"
    ]
    assert len(letters) > 15_000
    assert (classes[letters] != SEPARATOR).all()


def test_class_of_a_character() -> None:
    for kind, characters in (
        (WORD, "a7ßאक\u0301"),
        (CHARACTER, "船のﾌ한กཀကកກ𠀀\ue000\u0378"),
        (SEPARATOR, " _。🚤\x00\udcff"),
    ):
        for character in characters:
            assert class_table()[ord(character)] == kind, character


def test_code_points_keep_surrogates() -> None:
    assert code_points("a\udcff\U0001f600").tolist() == [0x61, 0xDCFF, 0x1F600]
    assert code_points("").tolist() == []
