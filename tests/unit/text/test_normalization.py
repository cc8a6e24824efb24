from __future__ import annotations

import unicodedata

import pytest

from simstore.text.normalization import normalize
from simstore.text.words import terms

# Assigned after Unicode 14.0, so that some Python versions know them and some do not:
# Kawi letters (15.0), ideographs of extension I (15.1), Garay capitals with a case pair (16.0).
NEWER = "\U00011f04\U0002ebf0\U00010d50"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ABC", "abc"),
        ("É", "é"),
        ("E\u0301", "é"),
        ("\u00adso\u00adft\u200c", "soft"),
        ("ｱ", "ア"),
        ("ｶﾞ", "ガ"),
        ("①", "1"),
        ("İ", "i\u0307"),
        ("\u1e9e", "ss"),
        ("\ufdfa", "صلى الله عليه وسلم"),
        ("\udcff", "\udcff"),
        ("", ""),
    ],
)
def test_normal_form_is_nfkc_folded_and_without_invisible_characters(
    text: str, expected: str
) -> None:
    assert normalize(text) == expected


@pytest.mark.parametrize("character", NEWER)
def test_code_point_newer_than_the_table_is_left_as_it_is(character: str) -> None:
    assert normalize(character) == character
    assert normalize(f"A{character}B") == f"a{character}b"
    assert normalize(f"A{character}\u0301É") == f"a{character}\u0301é"


def test_code_point_newer_than_the_table_is_a_character_of_its_own() -> None:
    first, second, third = NEWER
    assert terms(f"ab{first}cd") == ["ab", first, "cd"]
    assert terms(NEWER) == [first + second, second + third]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_texts_that_differ_in_composition_have_one_form(form: str) -> None:
    text = "Où naît l'été, Ǻ ﬁn ｶﾞ 각 đặng"
    assert normalize(unicodedata.normalize(form, text)) == normalize(text)


def test_every_case_of_a_letter_has_one_form() -> None:
    for code_point in range(0x80, 0x500):
        letter = chr(code_point)
        if letter.isalpha():
            assert normalize(letter.casefold()) == normalize(letter), hex(code_point)
