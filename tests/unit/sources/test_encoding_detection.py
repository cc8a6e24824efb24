"""Bytes that declare no encoding: detected where that is certain, else rejected."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from simstore.sources import encoding_detection
from simstore.sources.encoding_detection import RecordDecoder, decoded, not_certain
from simstore.sources.encodings import Decoded, declared_encoding

GBK = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。"
# Of its encodings' folders those whose name is not Python's; EUC-TW is none of Python's.
CODECS = {"TIS-620": "tis_620", "GB2312": "gb18030", "SHIFT_JIS": "cp932", "Big5": "big5hkscs"}
_LANGUAGE = re.compile(r"-(?!jp$|sig$)[a-z]{5,}$")


def read(data: bytes, **options: object) -> Decoded:
    found = decoded(data, **options)  # type: ignore[arg-type]
    assert isinstance(found, Decoded), found
    return found


@pytest.fixture
def no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chardet", None)


@pytest.mark.usefixtures("no_detector")
def test_without_the_library_what_would_need_it_is_refused_with_both_remedies() -> None:
    assert read("größer".encode()).text == "größer"
    assert read("größer".encode("latin-1"), declared="latin-1").text == "größer"
    found = decoded(GBK.encode("gbk"))
    assert isinstance(found, str)
    assert found.startswith("not UTF-8 at byte 0: name its encoding, as with --encoding gb18030,")
    assert "pip install chardet" in found


@pytest.mark.parametrize("codec", ["iso2022_jp", "iso2022_kr", "iso2022_jp_2"])
@pytest.mark.usefixtures("no_detector")
def test_iso_2022_is_known_by_its_escapes_though_it_is_valid_ascii(codec: str) -> None:
    text = {"iso2022_jp": "日本語 text", "iso2022_kr": "한국어 text", "iso2022_jp_2": "中文 汉字"}
    found = read(text[codec].encode(codec))
    assert (found.text, found.encoding, found.is_detected) == (text[codec], codec, True)
    # Colours of a terminal are no such escapes.
    assert read(b"\x1b[31mred\x1b[0m $B").encoding == "utf-8"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.usefixtures("no_detector")
def test_utf_16_without_a_mark_is_no_ascii_with_nul_characters(codec: str) -> None:
    found = read("plain text".encode(codec))
    assert (found.text, found.encoding, found.is_detected) == ("plain text", codec, True)
    assert read(b"plain\0text").text == "plain\0text"


def test_what_has_control_characters_when_decoded_is_no_text() -> None:
    data = GBK.encode("gbk")
    assert read(data).encoding == "gb18030"
    for control in (b"\x00", b"\x01", b"\x1f"):
        assert decoded(data + control) == not_certain(data)
    for kept in (b"\t", b"\r\n", b"\f", b"\x1a"):
        assert read(data + kept).text == GBK + kept.decode()


def test_a_bad_byte_deep_in_a_long_ascii_text_is_found_and_told() -> None:
    ascii_text = b"plain text in lines\n" * 1_000_000
    for bad in (b"\x81\xff\x8d\n", b"caf\xe9\n"):
        data = ascii_text + bad
        assert decoded(data) == not_certain(data)
        place = len(data) - len(bad.lstrip(b"caf"))
        assert f"not UTF-8 at byte {place}," in not_certain(data)
    foreign = "Мой дядя самых честных правил, когда не в шутку занемог.\n".encode("cp1251")
    found = read(ascii_text + foreign + ascii_text)
    assert (found.encoding, found.replaced, found.is_detected) == ("cp1251", 0, True)


def test_detector_sees_little_of_a_long_text_and_whole_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    telling = encoding_detection._telling

    def noted(data: bytes) -> bytes:
        found = telling(data)
        found.decode("gb18030")
        seen.append(len(found))
        return found

    monkeypatch.setattr(encoding_detection, "_telling", noted)
    line = f"{GBK * 40} plain text\n".encode("gbk")
    assert read((b"plain\n" * 100_000 + line) * 20).encoding == "gb18030"
    (size,) = seen
    assert size < 250_000


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
