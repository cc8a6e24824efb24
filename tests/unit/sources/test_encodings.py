from __future__ import annotations

import pytest

from simstore.errors import InvalidParameter
from simstore.sources.encoding_detection import decoded
from simstore.sources.encodings import (
    Decoded,
    checked_codec,
    codec_named,
    declared_encoding,
    decoded_as,
)

# The first article of the Universal Declaration of Human Rights, and sentences after it, as the
# languages have them.
TEXTS = {
    "zh-hans": "人人生而自由,在尊严和权利上一律平等。"
    "他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "zh-hant": "人人生而自由，在尊嚴和權利上一律平等。"
    "他們賦有理性和良心，並應以兄弟關係的精神相對待。",
    "ja": "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。"
    "人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 "
    "이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены "
    "разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués "
    "de raison et de conscience et doivent agir les uns envers les autres dans un esprit de "
    "fraternité.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft "
    "und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen.",
}
IN = [
    ("zh-hans", "gbk", "gb18030"),
    ("zh-hans", "gb2312", "gb18030"),
    ("zh-hans", "gb18030", "gb18030"),
    ("zh-hant", "big5", "big5hkscs"),
    ("ja", "shift_jis", "cp932"),
    ("ja", "euc_jp", "euc_jp"),
    ("ja", "iso2022_jp", "iso2022_jp"),
    ("ko", "euc_kr", "cp949"),
    ("ru", "koi8-r", "koi8-r"),
    ("ru", "cp1251", "cp1251"),
    ("fr", "latin-1", "cp1252"),
    ("de", "cp1252", "cp1252"),
]


def read(data: bytes, declared: str | None = None) -> Decoded:
    found = decoded(data, declared=declared)
    assert isinstance(found, Decoded), found
    return found


def test_text_is_read_as_declared() -> None:
    for language, codec, named in IN:
        data = TEXTS[language].encode(codec)
        found = read(data, declared=codec)
        assert (found.text, found.encoding, found.replaced) == (TEXTS[language], named, 0), language
        assert found.metadata == {"encoding": named}, language


def test_encoding_is_recognised_where_none_or_a_wrong_one_is_declared() -> None:
    for declared in (None, "utf-8", "no-such-encoding"):
        for language, codec in [
            (language, codec) for language, codec, _ in IN if codec[:3] != "iso"
        ]:
            found = read(TEXTS[language].encode(codec), declared=declared)
            assert (found.text, found.replaced, found.is_detected) == (TEXTS[language], 0, True), (
                declared,
                language,
            )


def test_byte_order_mark_tells_more_than_what_is_declared() -> None:
    for codec in ("utf-8-sig", "utf-16", "utf-32", "utf-16-be"):
        for language in TEXTS:
            data = TEXTS[language].encode(codec)
            if codec == "utf-16-be":
                data = b"\xfe\xff" + data
            assert read(data, declared="gbk").text == TEXTS[language], (codec, language)


def test_utf_8_that_is_declared_to_be_single_bytes_is_utf_8() -> None:
    for declared in ("iso-8859-1", "windows-1252", "koi8-r", None):
        found = decoded(TEXTS["fr"].encode(), declared=declared)
        assert (found.text, found.metadata) == (TEXTS["fr"], {})


def test_two_byte_encoding_that_is_declared_goes_before_utf_8() -> None:
    data = "牛奶".encode("gbk")
    assert read("联通".encode("gbk"), declared="gb2312").text == "联通"
    assert read(data, declared="gbk").text == "牛奶"


def test_bytes_that_cannot_be_read_are_replaced_and_counted() -> None:
    text = TEXTS["zh-hans"] * 3
    data = text.encode("gbk")
    found = read(data + b"\xff\xff", declared="gbk")
    assert found.text == f"{text}��"
    assert found.metadata == {"encoding": "gb18030", "replaced_bytes": 2}
    found = read(b"plain \xff text " * 20 + "天地玄黄".encode() * 50, declared="utf-8")
    assert (found.encoding, found.replaced) == ("utf-8", 20)
    assert found.metadata == {"replaced_bytes": 20}
    found = read(b"\xff" + "天地玄黄".encode() * 50)
    assert found.metadata == {"replaced_bytes": 1}
    # A replacement character that stands in the text was not put there.
    assert read("was lost: �".encode()).replaced == 0


def test_counts_are_of_one_text() -> None:
    assert decoded_as(b"\xff\xff", "utf-8").replaced == 2
    assert decoded_as(b"\xff", "utf-8").replaced == 1
    assert decoded_as(b"", "utf-8").replaced == 0


def test_text_has_no_surrogates() -> None:
    for data in (b"\xff\xfe\x00\xd8a\x00", b"\x00\xd8a\x00", b"\xed\xa0\x80", b"\xfe\xff\xd8"):
        for declared in ("utf-16", "utf-8", "gbk", None):
            found = decoded(data, declared=declared)
            (found if isinstance(found, str) else found.text).encode("utf-8")


def test_page_declares_its_encoding() -> None:
    for head, codec in (
        (b'<html><head><meta charset="gbk">', "gb18030"),
        (b"<META CONTENT='text/html; charset=Big5' http-equiv=Content-Type>", "big5hkscs"),
        (b"<meta charset=shift_jis/>", "cp932"),
        (b'<?xml version="1.0" encoding="euc-kr"?><html>', "cp949"),
        (b"<!-- <meta charset=gbk> --><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=utf-16le>", "utf-8"),
        (b"<meta charset=unicode_escape>", None),
        (b"<meta name=charset-of-nothing>", None),
        (b"<p>charset=gbk", None),
        (b" " * 5_000 + b"<meta charset=gbk>", None),
    ):
        assert declared_encoding(head) == codec, head


def test_only_encodings_of_texts_have_names() -> None:
    for name, codec in (("IBM855", "cp855"), ("MacCyrillic", "mac-cyrillic"), ("johab", "johab")):
        assert codec_named(name) == codec
    for name in ("utf-7", "zip", "rot13", "unicode_escape", "idna", "cp037", "\0", "x" * 99, ""):
        assert codec_named(name) is None
    assert codec_named(" GB2312 ") == "gb18030"
    with pytest.raises(InvalidParameter, match="no encoding is called 'klingon'"):
        checked_codec("klingon")
