from __future__ import annotations

import pytest

from simstore.errors import InvalidParameter
from simstore.services.compare.compared import characters, words
from simstore.text.normalization import DEFAULT, Normalization

RAW = Normalization(case="keep", width="keep")


def test_characters_are_normalized_with_single_blanks() -> None:
    assert characters(" The\r\n\t Harbour\u3000ＩＩ ", DEFAULT) == "the harbour ii"
    assert characters(" The\r\n\t Harbour\u3000ＩＩ ", RAW) == "The Harbour ＩＩ"
    assert characters("", DEFAULT) == characters(" \n", DEFAULT) == ""


def test_characters_as_they_are() -> None:
    for text in ("", " \r\n", " The  Harbour\x00\udcff"):
        assert characters(text, None) == text


def test_words() -> None:
    for text, expected in (
        ("Don't count 42 sheep!", ["don", "t", "count", "42", "sheep"]),
        ("船在Port靠岸", ["船", "在", "port", "靠", "岸"]),
        ("カタ 한국", ["カ", "タ", "한", "국"]),
        ("?! ...", ["?!", "..."]),
        (" \n", []),
        ("", []),
    ):
        assert words(text, DEFAULT) == expected, text


def test_segmenter_cuts_runs_of_han_and_leaves_the_rest() -> None:
    for segmenter in ("jieba", "forward-max", "backward-max", "bidirectional", "min-cut"):
        text = "图书馆 OPEN 图书馆カタ图书馆 한국"
        expected = ["图书馆", "open", "图书馆", "カ", "タ", "图书馆", "한", "국"]
        assert words(text, DEFAULT, segmenter) == expected, segmenter
        assert words("?! ...", DEFAULT, segmenter) == ["?!", "..."], segmenter
        assert words("", DEFAULT, segmenter) == [], segmenter


def test_case_and_width_are_kept_where_asked() -> None:
    assert words("The Ｈarbour", RAW) == ["The", "Ｈarbour"]


def test_unknown_segmenter_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="segmenter"):
        words("船", DEFAULT, "best")
