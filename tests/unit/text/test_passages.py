from __future__ import annotations

import pytest

from simstore.errors import InvalidParameter
from simstore.text.passages import LONGEST_SENTENCE, sentences, windows


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_sentences() -> None:
    for text, expected in (
        ("", []),
        (" \n\t", []),
        ("?! ...", []),
        ("One harbour", ["One harbour"]),
        ("  It rained. We went home!  Why? ", ["It rained.", "We went home!", "Why?"]),
        ("他说：“好。”然后走了。天黑了！", ["他说：“好。”", "然后走了。", "天黑了！"]),
        ("真的吗？！是的……也许；不。", ["真的吗？！", "是的……", "也许；", "不。"]),
        ("今年增长3.5%。明年呢", ["今年增长3.5%。", "明年呢"]),
        ("第一行标题\n正文在这里。", ["第一行标题", "正文在这里。"]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("(It rained.) We left.", ["(It rained.)", "We left."]),
        ("Dr. Smith met Mr. J. Jones.", ["Dr. Smith met Mr. J. Jones."]),
        ("It is 3.14 m, e.g. There.", ["It is 3.14 m, e.g. There."]),
        ("The U.S. Army left. It rained.", ["The U.S. Army left.", "It rained."]),
        ("Well ... perhaps. No! he cried.", ["Well ... perhaps.", "No! he cried."]),
        (
            "See vol. 3, no. 4 of it. I say no. The sun sat.",
            ["See vol. 3, no. 4 of it.", "I say no.", "The sun sat."],
        ),
        ("It ended in 1999. Then nothing.", ["It ended in 1999.", "Then nothing."]),
        ("see example.com/a.html now", ["see example.com/a.html now"]),
        ("Title\n\nBody text", ["Title", "Body text"]),
        ("यह घर है। वह नाव है।", ["यह घर है।", "वह नाव है।"]),
        ("هل هذا بيت؟ نعم.", ["هل هذا بيت؟", "نعم."]),
        ("一.二.三", ["一.二.三"]),
    ):
        assert cut(text) == expected, text


def test_a_line_of_a_paragraph_goes_on() -> None:
    text = (
        "The harbour was quiet in the early morning and\nthe boats lay still.\nA short line\nNext."
    )
    assert cut(text) == [
        "The harbour was quiet in the early morning and\nthe boats lay still.",
        "A short line",
        "Next.",
    ]


def test_text_without_stops_is_cut_into_pieces() -> None:
    pieces = cut("harbour bridge, " * 100)
    assert all(len(piece) <= LONGEST_SENTENCE and piece.endswith(",") for piece in pieces)
    assert " ".join(pieces) == ("harbour bridge, " * 100).strip()
    pieces = cut("船在港口靠岸" * 100)
    assert all(len(piece) <= LONGEST_SENTENCE // 3 for piece in pieces)
    assert "".join(pieces) == "船在港口靠岸" * 100


def test_windows_follow_one_another() -> None:
    text = "船在港口靠岸的时候天已经黑了" * 5
    assert windows(text, 30) == [(0, 30), (30, 60), (60, 70)]
    assert windows(text, 100) == [(0, 70)]


def test_windows_cut_no_word() -> None:
    text = "The harbour was quiet in the early morning"
    assert [text[start:end] for start, end in windows(text, 10)] == [
        "The harbour",
        "was quiet",
        "in the early",
        "morning",
    ]
    assert [end for _, end in windows("a" * 25, 10)] == [10, 20, 25]


def test_a_window_has_a_character() -> None:
    with pytest.raises(InvalidParameter):
        windows("text", 0)
