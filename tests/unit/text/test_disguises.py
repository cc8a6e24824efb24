"""What hides words from a program and not from a reader is folded, counted and located."""

from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest

from simstore.text.disguises import IGNORABLE, KNOWN_DISGUISES, fold_disguises
from simstore.text.folded_places import folded_places
from simstore.text.located import located_units
from simstore.text.normalization import DEFAULT, FOLDED
from simstore.text.scanning import joined, texts_to_fold
from simstore.text.tokens import tokens
from simstore.text.words import terms

CYRILLIC_E, CYRILLIC_A = "\u0435", "\u0430"


def counts(text: str) -> dict[str, int]:
    return fold_disguises(text).counts.counts()


def test_character_that_shows_nothing_is_dropped_within_a_word() -> None:
    for point in (
        0x200B,
        0x3164,
        0x115F,
        0x1160,
        0xFFA0,
        0x180E,
        *range(0x2061, 0x2065),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0xE0001,
        0xE0020,
        0xE007F,
        0xAD,
        0x200D,
    ):
        text = f"the wor{chr(point)}d goes on"
        assert fold_disguises(text).text == "the word goes on", point
        assert terms(text, FOLDED) == ["the", "word", "goes", "on"], point
        assert IGNORABLE.fullmatch(chr(point)), point


def test_hidden_characters_are_told_where_honest_texts_have_none() -> None:
    assert counts("wo\u200brd") == {"hidden_characters": 1}
    assert counts("w\u2060o\u202erd") == {"hidden_characters": 2}
    # Soft hyphens, joiners, a mark of order, selectors of emoji, blanks of no width in Thai.
    assert counts("co\u00adop क्\u200dष می\u200cخواهم \ufeffx ❤\ufe0f ภาษา\u200bไทย") == {}
    assert counts("word \u200b word") == {}


def test_words_of_mixed_scripts_get_the_letters_of_one() -> None:
    for text, folded in (
        (f"ch{CYRILLIC_E}{CYRILLIC_A}p", "cheap"),
        ("Всё пpивeт мир", "Всё привет мир"),
        ("ὁ λoγoς", "ὁ λογος"),
        ("fla\u0261ship", "flagship"),
        ("это с ней", "это с ней"),
        ("использовать diff и patch", "использовать diff и patch"),
        ("μm αβγ Δx", "μm αβγ Δx"),
        ("SMSка", "SMSка".replace("S", "\u0405").replace("M", "\u041c")),
    ):
        assert fold_disguises(text).text == folded, text
        assert bool(counts(text)) == (text != folded), text


def test_single_letters_between_words_of_another_script_are_folded_and_not_told() -> None:
    assert fold_disguises(f"the {CYRILLIC_A} dog").text == "the a dog"
    assert counts(f"the {CYRILLIC_A} dog") == {}
    assert counts("the \u0430\u0441\u0435 of it") == {"mixed_scripts": 1}


def test_words_of_letters_of_several_other_scripts_are_folded() -> None:
    # Cyrillic o, Armenian n and u, Cyrillic s, Greek o, Armenian n.
    word = "\u043e\u0578\u057d\u0455\u03bf\u0578"
    assert fold_disguises(f"the {word} of it").text == "the onuson of it"


def test_words_that_could_be_of_both_scripts_go_with_their_neighbours() -> None:
    # с, о, р, е: each of them is a letter that looks like a Latin one.
    assert fold_disguises("the c\u043e\u0440\u0435 of it").text == "the cope of it"
    assert fold_disguises("не в c\u043e\u0440\u0435 дело").text == "не в соре дело"


def test_entities_and_broken_words_are_made_whole() -> None:
    for text, folded in (
        ("fish &amp; chips", "fish & chips"),
        ("caf&eacute; &#99;&#x61;t", "café cat"),
        ("&amp;eacute;", "&eacute;"),
        ("a & b; R&D; &nosuchname;", "a & b; R&D; &nosuchname;"),
        ("exam-\nple of a co\u00ad\n  operation", "example of a cooperation"),
        ("exam\u2010\r\n   ple", "example"),
        ("the Anglo-\nSaxon, pages 3-\n4, x-\nray", "the Anglo-\nSaxon, pages 3-\n4, x-\nray"),
    ):
        assert fold_disguises(text).text == folded, text


def test_marks_beyond_those_of_an_orthography_are_dropped() -> None:
    for text, folded in (
        ("z\u0301\u0302\u0303\u0304a\u0300\u0301\u0302\u0303lgo", "zalgo"),
        ("s\u0336t\u0336r\u0336u\u0336c\u0336k", "struck"),
        ("t\u0309o\u0312w\u0313n", "town"),
        # Letters that were given with a mark keep it, the plain words among marked ones lose none.
        ("\u00e9\u0301t\u0346\u00e9 o\u0313n\u033a m\u0305 w\u0326r\u034de\u0344", "été on m wre"),
        ("a\u0301 t\u0309o\u0312w\u0313n o\u0313f\u033a e\u0301", "a town of e"),
        ("Việt Nam, Cafe\u0301, ᾄδω, naïve", "Việt Nam, Cafe\u0301, ᾄδω, naïve"),
        ("हिन्दी עִבְרִית العَرَبِيَّة ภาษาที่", "हिन्दी עִבְרִית العَرَبِيَّة ภาษาที่"),
    ):
        assert fold_disguises(text).text == folded, text


def test_marks_of_orthographies_stay() -> None:
    for form in ("NFC", "NFD"):
        for text in (
            "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
            "Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν, ᾧ ᾄδω ῥήτωρ ΐ ῧ.",
            "بِسْمِ اللَّهِ الرَّحْمَٰنِ الرَّحِيمِ",
            "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם",
            "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।",
            "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
            "Gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba. Ọ̀rọ̀ ẹ̀kọ́.",
            "dharmakṣetre kurukṣetre samavetā yuyutsavaḥ r̥ṣi l̥ kr̥ṣṇa m̐",
            "Все лю́ди рожда́ются свобо́дными и ра́вными в своём досто́инстве и права́х.",
            "Príliš žluťoučký kůň úpěl ďábelské ódy; zażółć gęślą jaźń; ė̃jo, vìsas, trę̃šti.",
            "Kò sí ẹni tí wọ́n gbọ́dọ̀ mú ní ẹrú; sùgbọ́n gbogbo wọn ni ó gbọ́dọ̀.",
        ):
            given = unicodedata.normalize(form, text)
            assert fold_disguises(given).text == given, (form, text)
            assert not counts(given), (form, text)


def test_text_with_some_marks_on_each_letter_folds_to_what_it_was() -> None:
    for language in ("en", "vi", "fr", "ru", "el"):
        text = {
            "en": "All human beings are born free and equal in dignity and rights; I am a man.",
            "vi": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm.",
            "fr": "Tous les êtres humains naissent libres et égaux, là où il a plu l'été dernier.",
            "ru": "Все люди рождаются свободными и равными в своём достоинстве и правах, и я.",
            "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.",
        }[language]
        draw = random.Random(language)
        marks = [chr(point) for point in range(0x300, 0x370) if point != 0x34F]
        for _ in range(20):
            disguised = "".join(
                c + "".join(draw.choices(marks, k=draw.randint(1, 3))) if c.isalpha() else c
                for c in text
            )
            assert fold_disguises(disguised).text == text, language
            assert "stacked marks" in fold_disguises(disguised).counts.flags(), language


def test_spaced_letters_are_joined_where_words_keep_wider_gaps() -> None:
    for text, folded in (
        ("h e l l o ,   w o r l d !", "hello,   world!"),
        ("see T H E  E N D now", "see THE  END now"),
        ("h\u2009e\u2009l\u2009l\u2009o w\u2009o\u2009r\u2009l\u2009d", "hello world"),
        ("搜 索 引 擎 判 断", "搜索引擎判断"),
        ("a b c d e f g", "a b c d e f g"),
        ("1 0  1 1  0 1  1 0", "1 0  1 1  0 1  1 0"),
        ("x y\nz w\nu v", "x y\nz w\nu v"),
        ("plan A or B", "plan A or B"),
    ):
        assert fold_disguises(text).text == folded, text


def test_plain_text_is_the_same_object() -> None:
    for text in ("Plain words. R&D costs 3 - 4.", "Слова и words — 字典", ""):
        folded = fold_disguises(text)
        assert folded.text is text
        assert folded.starts is None
        assert not folded.counts.counts()


def test_each_place_of_the_folded_text_is_known_in_the_given_one() -> None:
    for text in KNOWN_DISGUISES:
        folded = fold_disguises(text)
        if folded.starts is None or folded.ends is None:
            return
        assert len(folded.starts) == len(folded.ends) == len(folded.text) <= len(text), text
        assert (np.diff(folded.starts) >= 0).all(), text
        assert (folded.ends > folded.starts).all(), text
        assert int(folded.ends[-1]) <= len(text), text


def test_places_that_are_compared_otherwise_are_whole_words_in_order() -> None:
    text = f"Buy ch{CYRILLIC_E}{CYRILLIC_A}p, fr\u200bee b o a t s   t o go &amp; bo-\nats. Or not."
    places = folded_places(text)
    assert [text[place.start : place.end] for place in places] == [one.given for one in places]
    assert [(place.given, place.compared) for place in places] == [
        (f"ch{CYRILLIC_E}{CYRILLIC_A}p,", "cheap,"),
        ("fr\u200bee", "free"),
        ("b o a t s", "boats"),
        ("t o", "to"),
        ("&amp;", "&"),
        ("bo-\nats.", "boats."),
    ]
    assert folded_places("Plain words.") == ()
    assert len(folded_places("fr\u200bee " * 50, most=3)) == 3


def test_megabytes_of_marks_are_folded_in_a_few_steps() -> None:
    heap = "e" + "\u0301\u0315" * 1_000_000
    assert fold_disguises(heap).text == "e"
    assert steps_of(heap) < 500


def test_units_of_a_disguised_text_have_their_places_in_it() -> None:
    text = f"Buy ch{CYRILLIC_E}\u200b{CYRILLIC_A}p bo-\nats &amp; 軟體"
    units = located_units(text, FOLDED)
    spans = zip(units.starts.tolist(), units.ends.tolist(), strict=True)
    shown = [text[start:end] for start, end in spans]
    assert shown == ["Buy", f"ch{CYRILLIC_E}\u200b{CYRILLIC_A}p", "bo-\nats", "軟", "體"]
    plain = located_units("buy cheap boats 软体", DEFAULT)
    assert units.hashes.tolist() == plain.hashes.tolist()


def test_text_of_nothing_but_hidden_characters_keeps_its_term() -> None:
    assert terms("\u200b\u2060", FOLDED) == ["\u200b\u2060"]
    assert tokens(FOLDED.apply("\u200b")) == []


def test_of_many_texts_those_with_something_to_fold_are_found() -> None:
    pytest.importorskip("numba")
    texts = [
        "plain & R&D - é-", "a &amp; b", "x", "br-\noken", "l e t   t e r", "more – words",
        "x y", "", "many plain words, " * 100 + "l, e t   t e r", "- - - - - -   | | | | |",
        "Signed-\nOff, and so-\n called",
    ]  # fmt: skip
    found = texts_to_fold(*joined([text.encode() for text in texts]))
    assert found.tolist() == [1, 3, 4, 8, 10]


def test_letters_far_from_single_characters_are_not_joined_for_their_sake() -> None:
    apart = "a,  b,  c,  d,  e,\n"
    assert fold_disguises(apart).text == fold_disguises(f"{apart} and x y ").text[: len(apart)]
    assert fold_disguises("a b c d e   f").counts.spaced_letters > 0


def test_steps_of_folding_grow_with_the_text_and_no_faster() -> None:
    """Folding twice the text takes twice the steps: calls and lines run, not seconds."""
    for unit in (
        "\u0301",
        "\u0336",
        "\U000e0041",
        "\u200b",
        "a ",
        "a  ",
        "b c   ",
        "&amp;",
        "&",
        "a-\n",
        "ab-\ncd",
        f"a{CYRILLIC_E}",
        f"{CYRILLIC_A} ",
        f"z{CYRILLIC_A}b ",
        "\u00ad\n",
        "-",
        "e\u0301\u0327",
        "字 ",
        "\n",
        "α\u0301",
        " \u2009",
    ):
        steps = [steps_of(unit * count) for count in (2_000, 4_000)]
        assert steps[1] <= 2.2 * steps[0] + 500, unit


def steps_of(text: str) -> int:
    """Return how many lines of this module's functions run while a text is folded."""
    import sys
    from types import FrameType
    from typing import Any

    count = 0

    def tracer(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if "disguises" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return tracer

    fold_disguises("é &amp; x")  # the tables are made before
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        fold_disguises(text)
    finally:
        sys.settrace(before)
    return count
