from __future__ import annotations

from simstore.model import Document, Rejection
from simstore.sources.encoding_detection import not_certain
from simstore.sources.registry import reader_named

from .reading import documents, read_stream


def test_empty_file_is_an_empty_document() -> None:
    assert documents(read_stream(reader_named("text"), b"")) == [("name", "")]


def test_byte_order_mark_is_dropped_and_other_bytes_are_kept_on_request() -> None:
    (record,) = read_stream(reader_named("text"), b"\xef\xbb\xbfcaf\xe9\x00", encoding="keep")
    assert isinstance(record, Document)
    assert record.text == "caf\udce9\x00"


def test_wide_characters_with_their_mark_are_read() -> None:
    for codec in ("utf-16", "utf-32"):
        (record,) = read_stream(reader_named("text"), "größer, 更大".encode(codec))
        assert isinstance(record, Document), codec
        assert record.text == "größer, 更大", codec
        assert record.metadata == {"encoding": f"{codec}-le"}, codec
        # An article file of the course is bytes, whatever they look like.
        (record,) = read_stream(reader_named("text"), "a".encode(codec), texts_are_articles=True)
        assert isinstance(record, Document), codec
        assert record.text.startswith("\udcff\udcfe"), codec


def test_encoding_is_named_or_detected_and_told() -> None:
    data = ("人人生而自由，在尊严和权利上一律平等。" * 3).encode("gbk")
    detected = {"encoding": "gb18030", "encoding_detected": True}
    (record,) = read_stream(reader_named("text"), data)
    assert isinstance(record, Document)
    assert (record.text, record.metadata) == (data.decode("gbk"), detected)
    for encoding, told in (("auto", detected), ("gb18030", {"encoding": "gb18030"})):
        (record,) = read_stream(reader_named("text"), data + b"\xff", encoding=encoding)
        assert isinstance(record, Document)
        assert record.text == data.decode("gbk") + "\ufffd"
        assert record.metadata == told | {"replaced_bytes": 1}
    (record,) = read_stream(reader_named("text"), data, encoding="keep")
    assert isinstance(record, Document)
    assert record.text.encode("utf-8", "surrogateescape") == data


def test_what_is_in_no_certain_encoding_is_rejected_with_its_place_and_the_remedy() -> None:
    for data, place in ((b"caf\xe9", 3), (b"plain \xff", 6), (b"\x89PNG\r\n", 0)):
        (record,) = read_stream(reader_named("text"), data)
        assert isinstance(record, Rejection)
        assert record.reason == not_certain(data)
        assert record.reason.startswith(f"not UTF-8 at byte {place}, and which encoding it is in")
        assert "name it, as with --encoding " in record.reason
        assert (record.head, record.end_offset) == (data, len(data))


def test_text_that_declares_its_encoding_is_read_in_it() -> None:
    text = '<?xml version="1.0" encoding="KOI8-R"?><p>\N{CYRILLIC SMALL LETTER YA}</p>'
    (record,) = read_stream(reader_named("text"), text.encode("koi8-r"))
    assert isinstance(record, Document)
    assert (record.text, record.metadata) == (text, {"encoding": "koi8-r"})
    # A text may quote a declaration; what is UTF-8 throughout is UTF-8.
    quoting = "```<meta charset=gbk>``` 天地玄黄"
    assert documents(read_stream(reader_named("text"), quoting.encode())) == [("name", quoting)]
