from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from simstore.text import unicode14
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


def test_runs_of_the_table_are_ascending_and_change_class() -> None:
    starts = np.array(unicode14.STARTS)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    assert starts[-1] <= 0x10FFFF
    assert len(starts) == len(unicode14.CLASSES)
    assert set(unicode14.CLASSES) == {"s", "w", "m", "u"}
    assert all(a != b for a, b in zip(unicode14.CLASSES, unicode14.CLASSES[1:], strict=False))


@pytest.mark.parametrize(
    ("character", "kind"),
    [
        ("a", WORD),
        ("7", WORD),
        ("ß", WORD),
        ("א", WORD),
        ("क", WORD),
        ("\u0301", WORD),
        ("船", CHARACTER),
        ("の", CHARACTER),
        ("ﾌ", CHARACTER),
        ("한", CHARACTER),
        ("ก", CHARACTER),
        ("ཀ", CHARACTER),
        ("က", CHARACTER),
        ("ក", CHARACTER),
        ("ກ", CHARACTER),
        ("𠀀", CHARACTER),
        ("\ue000", CHARACTER),
        ("\u0378", CHARACTER),
        (" ", SEPARATOR),
        ("_", SEPARATOR),
        ("。", SEPARATOR),
        ("🚤", SEPARATOR),
        ("\x00", SEPARATOR),
        ("\udcff", SEPARATOR),
    ],
)
def test_class_of_a_character(character: str, kind: int) -> None:
    assert class_table()[ord(character)] == kind


def test_tables_cannot_be_changed() -> None:
    for table in (class_table(), unknown_table()):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1


def test_code_points_keep_surrogates() -> None:
    assert code_points("a\udcff\U0001f600").tolist() == [0x61, 0xDCFF, 0x1F600]
    assert code_points("").tolist() == []
