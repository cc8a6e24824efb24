from __future__ import annotations

from simstore.text.decoding import decode, encode, well_formed


def test_byte_order_mark_is_dropped_at_the_start_only() -> None:
    assert decode(b"\xef\xbb\xbfab\xef\xbb\xbf") == "ab\ufeff"
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbf") == "\ufeff"


def test_bytes_that_are_not_utf8_come_back() -> None:
    assert decode(b"caf\xe9\xff") == "caf\udce9\udcff"
    assert encode("caf\udce9\udcff") == b"caf\xe9\xff"
    assert encode("café") == b"caf\xc3\xa9"


def test_lone_surrogates_become_replacement_characters() -> None:
    for text, expected in (
        ("plain", "plain"),
        ("é字\U0001f600", "é字\U0001f600"),
        ("\ud800", "\ufffd"),
        ("a\udcffb", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ):
        assert well_formed(text) == expected, text
