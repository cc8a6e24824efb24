"""Bytes that declare no encoding: detected where that is certain, else rejected."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from simstore.sources.encoding_detection import RecordDecoder, decoded, not_certain, wide_encoding
from simstore.sources.encodings import Decoded, declared_encoding

GBK = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。"
# Of its encodings' folders those whose name is not Python's; EUC-TW is none of Python's.
CODECS = {"TIS-620": "tis_620", "GB2312": "gb18030", "SHIFT_JIS": "cp932", "Big5": "big5hkscs"}
_LANGUAGE = re.compile(r"-(?!jp$|sig$)[a-z]{5,}$")


def read(data: bytes, **options: object) -> Decoded:
    found = decoded(data, **options)  # type: ignore[arg-type]
    assert isinstance(found, Decoded), found
    return found


def test_iso_2022_is_known_by_its_escapes_though_it_is_valid_ascii() -> None:
    for codec in ("iso2022_jp", "iso2022_kr", "iso2022_jp_2"):
        text = {
            "iso2022_jp": "日本語 text",
            "iso2022_kr": "한국어 text",
            "iso2022_jp_2": "中文 汉字",
        }
        found = read(text[codec].encode(codec))
        assert (found.text, found.encoding, found.is_detected) == (text[codec], codec, True), codec
        # Colours of a terminal are no such escapes.
        assert read(b"\x1b[31mred\x1b[0m $B").encoding == "utf-8", codec


def test_utf_16_without_a_mark_is_no_ascii_with_nul_characters() -> None:
    for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        found = read("plain text".encode(codec))
        assert (found.text, found.encoding, found.is_detected) == ("plain text", codec, True), codec
        assert read(b"plain\0text").text == "plain\0text", codec


def test_what_has_control_characters_when_decoded_is_no_text() -> None:
    data = GBK.encode("gbk")
    assert read(data).encoding == "gb18030"
    for control in (b"\x00", b"\x01", b"\x1f"):
        assert str(decoded(data + control)).startswith("not UTF-8 at byte 0, and which encoding")
    for kept in (b"\t", b"\r\n", b"\f", b"\x1a"):
        assert read(data + kept).text == GBK + kept.decode()


@pytest.mark.slow
def test_a_bad_byte_deep_in_a_long_ascii_text_is_found_and_told() -> None:
    ascii_text = b"plain text in lines\n" * 100_000
    for bad in (b"\x81\xff\x8d\n", b"caf\xe9\n"):
        data = ascii_text + bad
        assert decoded(data) == not_certain(data)
        place = len(data) - len(bad.lstrip(b"caf"))
        assert f"not UTF-8 at byte {place}," in not_certain(data)
    foreign = "Мой дядя самых честных правил, когда не в шутку занемог.\n".encode("cp1251")
    found = read(ascii_text + foreign + ascii_text)
    assert (found.encoding, found.replaced, found.is_detected) == ("cp1251", 0, True)


def test_one_damaged_byte_among_many_does_not_change_the_encoding() -> None:
    found = read(("天地玄黄" * 50).encode() + b"\xff")
    assert (found.encoding, found.replaced, found.is_detected) == ("utf-8", 1, False)
    # The declaration is believed where few of all bytes are damaged, though few tell anything.
    found = read(b"<p>plain text of a page " * 10 + b"\x81\x8d", declared="utf-8")
    assert (found.encoding, found.replaced) == ("utf-8", 2)
    assert decoded(b"\x81\x8d", declared="utf-8") == not_certain(b"\x81")


def test_record_is_read_the_same_whatever_was_read_before_it() -> None:
    head = f"1,{GBK}\n2,天地\n".encode("gbk")
    for _ in range(2):
        decoder = RecordDecoder(head)
        found = decoder.decoded("天地".encode("gbk"))
        assert isinstance(found, Decoded)
        assert (found.text, found.encoding, found.is_detected) == ("天地", "gb18030", True)
        assert decoder.decoded("天地".encode()) == Decoded("天地", "utf-8", 0)
        assert decoder.decoded(b"\xff") == not_certain(b"\xff")


def test_detection_of_foreign_files_keeps_its_share(foreign_encodings: Path) -> None:
    counts = {"right": 0, "rejected": 0, "wrong": 0}
    for path in sorted(foreign_encodings.glob("*/*")):
        data = path.read_bytes()
        name = _LANGUAGE.sub("", path.parent.name)
        try:
            meant = data.decode(CODECS.get(name, name))
        except (LookupError, UnicodeDecodeError):
            continue
        found = decoded(data, declared=declared_encoding(data), is_markup=False)
        if isinstance(found, str):
            counts["rejected"] += 1
        elif _plain(found.text) == _plain(meant):
            counts["right"] += 1
        else:
            counts["wrong"] += 1
    total = sum(counts.values())
    assert counts["right"] >= 0.95 * total, counts
    assert counts["wrong"] <= 0.02 * total, counts


def _plain(text: str) -> str:
    return "".join(text.split()).removeprefix("\ufeff")


CHINESE = "所有的人都是生而自由的，在尊严和权利上一律平等。\n他们有理性和良心。\n"
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"
JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n"
GREEK = "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.\n"
ENGLISH = "All human beings are born free and equal in dignity and rights.\n"


def test_utf_16_without_a_mark_is_known_by_its_control_characters() -> None:
    for codec, size in (("utf-16-le", 51), ("utf-16-be", 51), ("utf-16-le", 5_000)):
        for text in (CHINESE, RUSSIAN, JAPANESE, KOREAN, GREEK, ENGLISH):
            data = (text * 100).encode(codec)[:size]
            found = read(data)
            assert (found.encoding, found.is_detected) == (codec, True), (codec, text)
            assert found.replaced == size % 2, (codec, text)
            assert found.text == (text * 100)[: size // 2] + "\ufffd" * (size % 2), (codec, text)


def test_utf_8_with_control_characters_stays_utf_8() -> None:
    for text in (
        "form\x0cfeed and bell\x07",
        "N\x08NA\x08AM\x08ME\x08E is bold\n" * 20,
        CHINESE + "\0",
    ):
        assert read(text.encode()) == Decoded(text, "utf-8", 0), text


def test_hz_and_iso_2022_are_known_where_they_are_cut_off() -> None:
    for cut in range(1, 12):
        for text, codec in ((CHINESE, "hz"), (JAPANESE, "iso2022_jp"), (KOREAN, "iso2022_kr")):
            found = read(text.encode(codec)[:-cut])
            assert found.encoding == codec, cut
            assert text.startswith(found.text.replace("\ufffd", "").rstrip()), cut
            assert bool(found.replaced) == ("\ufffd" in found.text), cut


def test_braces_and_tildes_alone_are_not_hz() -> None:
    for text in ("a~{b}~ c", "~{~} and $x{~}", "for (~{i, j}) { ~}"):
        assert read(text.encode()).encoding == "utf-8", text


def test_character_cut_off_at_the_end_is_counted_and_changes_nothing() -> None:
    for text, codec in (
        (CHINESE, "gb18030"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "cp949"),
    ):
        whole = (text * 5).encode(codec)
        for cut in (1, 2, 3, 4):
            found = read(whole[:-cut])
            assert found.encoding == codec, text
            assert (text * 5).startswith(found.text.rstrip("\ufffd")), text
            assert bool(found.replaced) == ("\ufffd" in found.text), text
        cut_off = "prix fixé à dix francs, a".encode() + "é".encode()[:1]
        assert (read(cut_off).encoding, read(cut_off).replaced) == ("utf-8", 1), text


def test_text_that_mixes_encodings_is_rejected_and_one_foreign_word_is_counted() -> None:
    for lines in (
        [RUSSIAN.encode(), RUSSIAN.encode("cp1251")],
        [CHINESE.encode("gbk"), CHINESE.encode()],
    ):
        found = decoded(b"".join(lines) * 10)
        assert isinstance(found, str)
        assert found.startswith("some lines are UTF-8 and others are not: it mixes encodings")
    quoting = "It’s “naïve” — that’s the word’s meaning. ".encode() * 5 + b"caf\xe9\n"
    assert (read(quoting).encoding, read(quoting).replaced) == ("utf-8", 1)


def test_programs_and_pictures_are_no_texts_whatever_they_are_called() -> None:
    program = Path(sys.executable).read_bytes()
    for size in (300, 5_000, 300_000):
        assert isinstance(decoded(program[:size]), str), size
    picture = (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\x01\0\x08\x06\0\0\0" + bytes(range(256)) * 9
    )
    assert isinstance(decoded(picture), str)


def test_few_control_bytes_are_no_utf_16() -> None:
    for size in (2, 4, 6):
        assert wide_encoding(bytes(range(size))) is None, size
