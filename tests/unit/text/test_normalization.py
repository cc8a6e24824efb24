from __future__ import annotations

import unicodedata
from itertools import product

import pytest

from simstore.errors import InvalidParameter
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.words import terms

# Assigned after Unicode 14.0, so that some Python versions know them and some do not:
# Kawi letters (15.0), ideographs of extension I (15.1), Garay capitals with a case pair (16.0).
NEWER = "\U00011f04\U0002ebf0\U00010d50"


def test_normal_form_is_nfkc_folded_and_without_invisible_characters() -> None:
    for text, expected in (
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
    ):
        assert DEFAULT.apply(text) == expected, text


def test_code_point_newer_than_the_table_is_a_character_of_its_own() -> None:
    first, second, third = NEWER
    assert terms(f"ab{first}cd") == ["ab", first, "cd"]
    assert terms(NEWER) == [first + second, second + third]


def test_texts_that_differ_in_composition_have_one_form() -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        text = "Où naît l'été, Ǻ ﬁn ｶﾞ 각 đặng"
        assert DEFAULT.apply(unicodedata.normalize(form, text)) == DEFAULT.apply(text), form


def test_every_case_of_a_letter_has_one_form() -> None:
    for code_point in range(0x80, 0x500):
        letter = chr(code_point)
        if letter.isalpha():
            assert DEFAULT.apply(letter.casefold()) == DEFAULT.apply(letter), hex(code_point)


def test_options_choose_what_counts_as_one() -> None:
    for options, text, expected in (
        ({}, "Ａé ﬁ", "aé fi"),
        ({"case": "keep"}, "Ａé ﬁ ABC", "Aé fi ABC"),
        ({"case": "keep"}, "ABC", "ABC"),
        ({"width": "keep"}, "ＡE\u0301 ﬁ ｱ", "ａé fi ｱ"),
        ({"width": "keep", "case": "keep"}, "ＡE\u0301 ﬁ", "ＡÉ ﬁ"),
        ({"accents": "strip"}, "Ǻ ñandú, Ёлка й, ἄνθρωπος", "a nandu, елка и, ανθρωποσ"),
        ({"accents": "strip"}, "ガ ｶﾞ 각 น้ำ हिन्दी שָׁלוֹם", None),
        ({"accents": "strip"}, "Ørsted łódź", "ørsted łodz"),
        ({"accents": "strip", "case": "keep"}, "CAFÉ", "CAFE"),
        ({"accents": "strip"}, "e" + "\u0301" * 100 + "x", "ex"),
    ):
        found = Normalization(**options).apply(text)  # type: ignore[arg-type]
        assert found == (DEFAULT.apply(text) if expected is None else expected), options


def test_code_point_newer_than_the_table_stays_with_every_option() -> None:
    for case, width, accents in product(("fold", "keep"), ("fold", "keep"), ("keep", "strip")):
        normalization = Normalization(case, width, accents)  # type: ignore[arg-type]
        for character in NEWER:
            assert normalization.apply(f"a{character}b") == f"a{character}b"


def test_unknown_value_is_refused() -> None:
    for name in ("case", "width", "accents", "han"):
        with pytest.raises(InvalidParameter, match=f"{name} 'other': choose one of"):
            Normalization(**{name: "other"})  # type: ignore[arg-type]


def test_parameters_come_back() -> None:
    chosen = Normalization(case="keep", accents="strip", han="simplified")
    parameters = chosen.parameters()
    assert parameters["opencc"]
    assert Normalization.from_parameters(parameters) == chosen
    assert "opencc" not in Normalization().parameters()
