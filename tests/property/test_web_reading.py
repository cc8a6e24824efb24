"""Readers of pages, web archives and office documents on any bytes: nothing is raised or lost."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from simstore.model import Document, Ignored, Rejection
from simstore.sources.encoding_detection import decoded, not_certain
from simstore.sources.encodings import codec_named, declared_encoding
from simstore.sources.reader import ReadOptions, ReadRequest, SourceReader
from simstore.sources.registry import reader_named
from simstore.sources.source import Record
from simstore.sources.warc import Response, UnreadableBody, parse_response, plain_body
from simstore.text.decoding import encode

# What once broke a reader, or came near it; a file's name says which reader it was for.
FOUND = sorted((Path(__file__).parent.parent / "data" / "fuzz").iterdir())
READERS: dict[str, SourceReader] = {
    "html": reader_named("html"),
    "warc": reader_named("warc"),
    "docx": reader_named("docx"),
    "pdf": reader_named("pdf"),
    "markdown": reader_named("markdown"),
}
pages = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"<p>", b"</p>", b"<a href=", b"'/x#y'>", b'"http://[bad">', b"<!--", b"-->",
                b"<html lang=", b"<base href=", b"<link rel=canonical href=//x>",
                b"<meta name=date content=", b"2026-05-01>",
                b"<script type='application/ld+json'>", b'{"datePublished":', b'"2026"}',
                b"</script>", b"<meta charset=", b"gbk>", b"utf-16>", b"&#0;", b"&#xd800;",
                b"\x00", b"\xff", b"<title>", b"<table><tr><td>", b"<svg><p>", b"<template>",
                b"</body>", b"<time datetime=9999-99-99>", b"<article>", "天地玄黄".encode("gbk"),
                "größer".encode(),
            ]
        ),
        st.binary(max_size=6),
    ),
    max_size=40,
).map(b"".join)  # fmt: skip
responses = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 404\n", b"Content-Type: text/html; charset=",
                b"gbk\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n",
                b"\r\n", b"\r\n\r\n", b"Content-Encoding: br, deflate\r\n", b"5\r\nab",
                b"0\r\n\r\n", b"ffffffffffffffff\r\n", gzip.compress(b"<p>packed"),
                zlib.compress(b"x"), b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b" goes on\r\n",
                b":\r\n",
            ]
        ),
        st.binary(max_size=6),
    ),
    max_size=20,
).map(b"".join)  # fmt: skip
archives = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"WARC/1.0\r\n",
                b"WARC/1.1\n",
                b"WARC-Type: response\r\n",
                b"WARC-Type: conversion\r\n",
                b"WARC-Type: revisit\r\n",
                b"WARC-Target-URI: http://e.example/\r\n",
                b"\r\n",
                b"\r\n\r\n",
                b"WARC-Date: 2026-05-01T12:00:00Z\r\n",
                b"Content-Length: 5\r\n",
                b"Content-Length: 0\r\n",
                b"Content-Length: 99999999999999999999\r\n",
                b"Content-Length: -1\r\n",
                b"hello",
                b"Content-Type: text/plain\r\n",
                b"Content-Type: application/http\r\n",
                b"\x00",
                b"WARC/",
                b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: u\r\n"
                b"Content-Type: text/plain\r\n"
                b"WARC-Date: 2026-05-01\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n",
            ]
        ),
        st.binary(max_size=5),
        responses,
    ),
    max_size=20,
).map(b"".join)


def read(
    reader: SourceReader, data: bytes, place: tuple[int, int] = (0, 0), encoding: str = "auto"
) -> list[Record]:
    stream = io.BufferedReader(io.BytesIO(data))
    stream.seek(0 if reader.needs_file else place[1])
    options = ReadOptions(max_document_bytes=100_000, encoding=encoding)
    return list(reader.read(stream, ReadRequest("name", *place, options, data[:65_536])))


def check(records: list[Record], size: int) -> None:
    """Check that records stand in order and hold nothing that a store refuses."""
    last = 0
    for number, record in enumerate(records):
        assert (record.position or 0) >= number
        assert last <= (record.byte_offset or 0) <= (record.end_offset or 0) <= size
        last = record.end_offset or 0
        if isinstance(record, Document):
            assert record.key
            encode("\n".join((record.text, record.title or "", *record.links)))
        elif isinstance(record, Rejection):
            assert record.reason
            assert "\n" not in record.reason
            assert len(record.head) <= 200
        else:
            assert isinstance(record, Ignored)


def damaged(data: st.DataObject, whole: bytes) -> bytes:
    """Return bytes of which some are others, and some are missing."""
    made = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(made) - 1))
        made[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not made:
            break
    return bytes(made)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_before_is_read(path: Path) -> None:
    data = path.read_bytes()
    reader = READERS[path.name.split("-")[0]]
    check(read(reader, data), len(data))


@given(pages)
@example(b"<html lang='en'><base href='http://[x'><a href='//[y/z'>")
def test_any_page_is_one_record(data: bytes) -> None:
    found = read(reader_named("html"), data)
    check(found, len(data))
    assert len(found) == 1


@given(archives)
def test_any_archive_is_read_to_its_end_and_on_from_anywhere(data: bytes) -> None:
    found = read(reader_named("warc"), data)
    check(found, len(data))
    for count, record in enumerate(found, start=1):
        place = (record.position or 0) + 1, record.end_offset or 0
        if not isinstance(record, Rejection):
            assert read(reader_named("warc"), data, place) == found[count:]


@given(responses)
def test_any_response_is_read_or_refused(data: bytes) -> None:
    response = parse_response(data)
    if response is None:
        return
    assert isinstance(response, Response)
    try:
        body = plain_body(response, 1_000)
    except UnreadableBody:
        return
    assert len(body) <= 1_000


@given(st.binary(max_size=200), st.sampled_from([None, "gbk", "utf-8", "utf-16", "koi8-r", "x"]))
def test_any_bytes_have_a_text_or_a_reason_why_not(data: bytes, declared: str | None) -> None:
    found = decoded(data, declared=declared)
    if isinstance(found, str):
        assert found == not_certain(data)
        with pytest.raises(UnicodeDecodeError):
            data.decode()
        return
    found.text.encode()
    assert found.replaced <= len(data)
    if not found.replaced and "\ufffd" not in found.text and found.encoding == "utf-8":
        assert found.text.encode() == data.removeprefix(b"\xef\xbb\xbf")


@given(st.text(max_size=50), st.binary(max_size=100))
def test_any_name_is_an_encoding_or_none(name: str, head: bytes) -> None:
    assert codec_named(name) is None or "".encode(codec_named(name) or "") is not None
    declared_encoding(b"<meta charset=" + head)


def whole_docx() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", "<Types/>")
        file.writestr(
            "word/document.xml",
            '<w:d xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:p><w:r>'
            "<w:t>the text of a paragraph</w:t></w:r></w:p></w:d>",
        )
    return stream.getvalue()


def whole_pdf() -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=1)
    canvas.drawString(72, 720, "the text of a page")
    canvas.save()
    return stream.getvalue()


@given(st.data())
@pytest.mark.parametrize(
    ("reader", "whole"), [(reader_named("docx"), whole_docx()), (reader_named("pdf"), whole_pdf())]
)
def test_any_damaged_document_is_read_or_rejected(
    reader: SourceReader, whole: bytes, data: st.DataObject
) -> None:
    made = damaged(data, whole)
    found = read(reader, made)
    check(found, len(made))
    assert len(found) == 1


@given(st.one_of(st.binary(max_size=100), st.binary(max_size=50).map(lambda data: b"---\n" + data)))
def test_any_markdown_is_one_record(data: bytes) -> None:
    (found,) = read(reader_named("markdown"), data)
    if isinstance(found, Rejection):
        assert found.reason == not_certain(data)
    (found,) = read(reader_named("markdown"), data, encoding="keep")
    assert isinstance(found, Document)
