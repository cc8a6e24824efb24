from __future__ import annotations

from simstore.text import words
from simstore.text.words import terms

# A sentence or two of each script, with the number of its terms where blanks part the words.
LANGUAGES = {
    "English": ("The boats came in with the tide", 7),
    "German": ("Über den Dächern läutet es", 5),
    "Vietnamese": ("Thuyền vào bến lúc bình minh", 6),
    "Greek": ("Τα καράβια μπήκαν στο λιμάνι", 5),
    "Russian": ("Лодки вошли в гавань", 4),
    "Armenian": ("Նավակները մտան նավահանգիստ", 3),
    "Georgian": ("ნავები ნავსადგურში შევიდნენ", 3),
    "Hebrew": ("הסירות נכנסו לנמל", 3),
    "Arabic": ("دخلت القوارب إلى الميناء", 4),
    "Hindi": ("नावें बंदरगाह में आईं", 4),
    "Bengali": ("নৌকাগুলি বন্দরে এল", 3),
    "Tamil": ("படகுகள் துறைமுகத்தில் நுழைந்தன", 3),
    "Amharic": ("ጀልባዎቹ ወደ ወደቡ ገቡ", 4),
    "Cherokee": ("ᎠᎹ ᏥᏳ ᎤᏬᏢ", 3),
    "Mongolian": ("ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ", 2),
    "Tibetan": ("བོད་སྐད་ཡིག", None),
    "Burmese": ("လှေများဆိပ်ကမ်းသို့ဝင်လာသည်", None),
    "Khmer": ("ទូកចូលកំពង់ផែ", None),
    "Lao": ("ເຮືອເຂົ້າທ່າ", None),
    "Thai": ("เรือเข้าท่าเรือตอนเช้า", None),
    "Chinese, simplified": ("船在黎明时进港", 6),
    "Chinese, traditional": ("船在黎明時進港", 6),
    "Japanese": ("船が夜明けに港へ入った", 10),
    "Japanese, half width": ("ﾌﾈｶﾞﾐﾅﾄ", None),
    "Korean": ("배가 새벽에 항구로 들어왔다", 8),
    "Yi": ("ꆈꌠꉙ", 2),
    "Emoji alone": ("🚤🌅", 1),
    "Signs alone": ("---- *** ≈≈", 3),
    "One letter": ("x", 1),
    "One ideograph": ("船", 1),
    "Private use": ("\ue000\ue001", 1),
    "Bytes that are no text": ("\udcff\udcfe", 1),
    "NUL": ("\x00", 1),
    "Combining mark alone": ("\u0301", 1),
    "Soft hyphen alone": ("\u00ad", 1),
    "Joiner alone": ("\u200d", 1),
    "Byte order mark alone": ("\ufeff", 1),
}


def test_every_language_has_terms() -> None:
    for language in LANGUAGES:
        text, count = LANGUAGES[language]
        found = terms(text)
        assert found, language
        assert all(found), language
        if count is not None:
            assert len(found) == count, language


def test_terms_are_folded_words_and_pairs_of_characters() -> None:
    for text, expected in (
        ("Don't re-count 3.14 snake_case", ["don", "t", "re", "count", "3", "14", "snake", "case"]),
        ("naïve CAFÉ", ["naïve", "café"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
        ("ﬁnd Straße", ["find", "strasse"]),
        ("co\u00adoperate zero\u200dwidth", ["cooperate", "zerowidth"]),
        ("x²", ["x2"]),
        ("搜索引擎", ["搜索", "索引", "引擎"]),
        ("用Python写", ["用", "python", "写"]),
        ("港へ。入った", ["港へ", "入っ", "った"]),
        ("항구로", ["항구", "구로"]),
        ("e\u0301t e\u0301t\u00e9", ["ét", "été"]),
        ("a\U0001f600b", ["a", "b"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδόσ"]),
    ):
        assert terms(text) == expected, text


def test_long_text_without_line_break_is_not_cut() -> None:
    text = "é" * (words._PIECE + 5)
    assert terms(text) == [text]
