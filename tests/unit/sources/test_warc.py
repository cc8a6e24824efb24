from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastwarc.stream_io import BrotliWriter
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from simstore import Store
from simstore.model import Document, Ignored, Rejection
from simstore.sources.registry import reader_named
from simstore.sources.unpacking import zstd

from .reading import check_goes_on_anywhere, documents, read_file, read_stream, reasons
from .test_web import MAIN, page

DATE = "2026-05-01T12:00:00Z"
NOON = 1_777_636_800


class Writer(WARCWriter):  # type: ignore[misc]
    """The library's writer leaves its temporary files open."""

    _create_temp_file = staticmethod(io.BytesIO)


class Archive:
    """A web archive that warcio writes."""

    def __init__(self, *, packed: bool = False) -> None:
        self._stream = io.BytesIO()
        self._writer = Writer(self._stream, gzip=packed)

    def add(
        self,
        kind: str = "response",
        payload: bytes = b"<p>a text",
        content_type: str = "text/html",
        *,
        url: str | None = None,
        status: str = "200 OK",
        http: Mapping[str, str] | None = None,
        warc: Mapping[str, str] | None = None,
    ) -> Archive:
        url = url or f"https://e.example/{self._stream.tell()}"
        response = StatusAndHeaders(
            status, [("Content-Type", content_type), *(http or {}).items()], protocol="HTTP/1.1"
        )
        is_http = kind in ("response", "revisit")
        record = self._writer.create_warc_record(
            url,
            kind,
            payload=io.BytesIO(payload),
            http_headers=response if is_http else None,
            warc_content_type="" if is_http else content_type,
            warc_headers_dict={"WARC-Date": DATE, **(warc or {})},
        )
        self._writer.write_record(record)
        return self

    @property
    def data(self) -> bytes:
        return self._stream.getvalue()


def read(data: bytes, **options: Any) -> list[Any]:
    return read_stream(reader_named("warc"), data, **options)


def one_document(archive: Archive, **options: Any) -> Document:
    (found,) = read(archive.data, **options)
    assert isinstance(found, Document), found
    return found


def test_response_becomes_a_document_of_its_address() -> None:
    url = "https://news.example/2026/ferry.html"
    found = one_document(Archive().add(payload=page(), url=url))
    assert found.key == url
    assert all(paragraph in found.text for paragraph in MAIN)
    assert (found.title, found.seen_at) == ("The ferry | Harbour News", NOON)
    assert found.metadata["warc_offset"] == 0
    assert found.metadata["warc_record_id"].startswith("<urn:uuid:")
    assert found.metadata["canonical"] == "https://news.example/ferry"
    assert "https://news.example/sport" in found.links


def test_record_can_be_found_by_its_offset() -> None:
    data = Archive().add().add(payload=b"<p>second").data
    second = read(data)[1]
    (alone,) = read(data[second.metadata["warc_offset"] :])
    assert alone.text == second.text == "second"


# Without the time: the name of a test is the same in all processes.
BOMB = gzip.compress(bytes(50_000_000), mtime=0)
TEXT = "人人生而自由，在尊严和权利上一律平等。"


def chunked(body: bytes) -> bytes:
    parts = [body[at : at + 7] for at in range(0, len(body), 7)]
    lines = [b"%x;name=value\r\n%b\r\n" % (len(part), part) for part in parts]
    return b"".join([*lines, b"0\r\n\r\n"])


def of_brotli(body: bytes) -> bytes:
    stream = io.BytesIO()
    writer = BrotliWriter(stream)
    writer.write(body)
    writer.close()
    return stream.getvalue()


def test_codings_of_http_are_undone() -> None:
    for in_chunks in (True, False):
        for coding, encode in (
            ("gzip", gzip.compress),
            ("x-gzip", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
            ("deflate", zlib.compress),
            ("deflate", lambda body: zlib.compress(body)[2:-4]),
            ("zstd", zstd.compress),
            ("br", of_brotli),
            ("identity", bytes),
            # Some archives keep the body freed of its coding and the headers as they were.
            ("gzip", bytes),
        ):
            body = encode(f"<title>宣言</title><p>{TEXT}".encode("gbk"))
            http = {"Content-Encoding": coding}
            if in_chunks:
                body, http = chunked(body), {**http, "Transfer-Encoding": "chunked"}
            archive = Archive().add(
                payload=body, content_type='text/html; charset="GBK"', http=http
            )
            found = one_document(archive)
            assert (found.text, found.title) == (TEXT, "宣言"), (in_chunks, coding)
            assert found.metadata["encoding"] == "gb18030", (in_chunks, coding)


def test_damaged_body_costs_its_record_only() -> None:
    for payload, http, reason in (
        (gzip.compress(b"<p>x" * 99, mtime=0)[:-9], {"Content-Encoding": "gzip"}, "breaks off"),
        (b"\x1f\x8b\x08garbage", {"Content-Encoding": "gzip"}, "its body is no gzip"),
        (b"5\r\nab", {"Transfer-Encoding": "chunked"}, "breaks off between its chunks"),
        (b"2\r\nab\r\nno size", {"Transfer-Encoding": "chunked"}, "breaks off between its chunks"),
        (b"\x28\xb5\x2f\xfdgarbage", {"Content-Encoding": "zstd"}, "its body is no zstd"),
        (BOMB, {"Content-Encoding": "gzip"}, "the limit of 8,388,608"),
    ):
        found = read(Archive().add().add(payload=payload, http=http).add().data)
        assert [type(one) for one in found] == [Document, Rejection, Document], payload
        assert reason in found[1].reason, payload
        assert found[1].head, payload


def test_what_is_no_text_is_passed_over() -> None:
    for given, reason in (
        ({"content_type": "image/png", "payload": b"\x89PNG"}, "its type is image/png"),
        ({"status": "404 Not Found"}, "its status is 404"),
        ({"status": "301 Moved"}, "its status is 301"),
        ({"content_type": "", "payload": b"\x00\x01"}, "its type is not told"),
        ({"kind": "resource", "content_type": "text/dns"}, "its type is text/dns"),
    ):
        archive = Archive().add(**given) if given.get("content_type") != "" else None
        if archive is None:
            archive = Archive().add(payload=b"\x00\x01", content_type=" ")
        (found,) = read(archive.data)
        assert isinstance(found, Ignored), given
        assert found.reason == reason, given


def test_records_about_records_are_not_told() -> None:
    archive = Archive()
    for kind in ("warcinfo", "request", "metadata"):
        archive.add(kind, b"GET / HTTP/1.1\r\n\r\n", "application/http; msgtype=request")
    archive.add(payload=b"<p>a text")
    (found,) = read(archive.data)
    assert (found.text, found.position) == ("a text", 3)


def framed(*contents: bytes) -> bytes:
    return b"".join(
        b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: <http://e.example/%d>\r\n"
        b"WARC-Date: 2026-05-01T12:00:00Z\r\nContent-Type: text/plain\r\n"
        b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (number, len(content), content)
        for number, content in enumerate(contents)
    )


def test_malformed_record_costs_itself_only() -> None:
    for old, new, texts, reason in (
        (b"Content-Length: 3", b"Content-Length: x", ["two", "3rd"], "no record begins here"),
        (b"Content-Length: 3", b"X: 3", ["two", "3rd"], "a record without a usable"),
        (b"Content-Length: 3", b"Content-Length: 1", ["o", "two", "3rd"], "no record begins here"),
        (b"Content-Length: 3", b"Content-Length: 99999", [], "the last record breaks off"),
        (b"WARC/1.0", b"WORC/1.0", ["two", "3rd"], "no record begins here"),
        (b"WARC-Date: 2026", b"WARC-Date: 202x", ["two", "3rd"], "a usable WARC-Date"),
        (b"WARC-Target-URI", b"WARC-Other-URI", ["two", "3rd"], "without WARC-Target-URI"),
        (b"one\r\n\r\n", b"one\r\n\r\ngarbage\x00\r\n", ["one", "two", "3rd"], "no record begins"),
        (b"one\r\n\r\n", b"one", ["one", "two", "3rd"], None),
    ):
        data = framed(b"one", b"two", b"3rd").replace(old, new, 1)
        found = check_goes_on_anywhere(reader_named("warc"), data)
        assert [one.text for one in found if isinstance(one, Document)] == texts, old
        told = reasons(found)
        assert any(reason in one for one in told) if reason else told == [], old


def test_archive_that_breaks_off_gives_what_it_has() -> None:
    data = framed(b"one", b"two", b"third text")
    for missing in (5, 8, 60, 150):
        found = read(data[:-missing])
        assert documents(found)[:2] == [
            ("http://e.example/0", "one"),
            ("http://e.example/1", "two"),
        ]
        assert len(reasons(found)) == 1
    assert reasons(read(data[:-2])) == []


def test_reading_goes_on_anywhere() -> None:
    archive = Archive().add().add("metadata", b"x").add(status="404 No").add("resource", page())
    found = check_goes_on_anywhere(
        reader_named("warc"), archive.data + b"garbage\n" + framed(b"one")
    )
    assert len(found) == 5


def test_record_longer_than_the_limit_is_rejected_and_passed() -> None:
    data = framed(b"one", b"x" * 200_000, b"3rd")
    found = read(data, max_document_bytes=1_000)
    assert [key for key, _ in documents(found)] == ["http://e.example/0", "http://e.example/2"]
    assert reasons(found) == ["the record has 200,000 bytes, more than the limit of 1,000"]
    found = read(framed(b"x" * 2_000), max_document_bytes=1_000)
    assert reasons(found) == ["the record has 2,000 bytes, more than the limit of 1,000"]


def test_archives_are_read_from_files(tmp_path: Path) -> None:
    for ending in ("warc", "warc.gz", "warc.zst", "wet.gz", "data"):
        archive = Archive(packed=ending.endswith("gz")).add(url="https://e.example/a").add(
            url="https://e.example/b"
        )  # fmt: skip
        path = tmp_path / f"crawl.{ending}"
        path.write_bytes(zstd.compress(archive.data) if ending.endswith("zst") else archive.data)
        found = read_file(path)
        assert documents(found) == [
            ("https://e.example/a", "a text"), ("https://e.example/b", "a text"),
        ], ending  # fmt: skip


def test_archive_whose_compression_breaks_off_gives_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(Archive(packed=True).add().add(payload=page()).data[:-100])
    first, broken = read_file(path)
    assert isinstance(first, Document)
    assert isinstance(broken, Rejection)
    assert "breaks off" in broken.reason


def test_record_that_is_whole_is_read_though_damage_comes_right_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "crawl.wet.gz"
    path.write_bytes(gzip.compress(framed(b"one"))[:-8] + b"rubbish" * 9)
    first, broken = read_file(path)
    assert isinstance(first, Document)
    assert first.text == "one"
    assert isinstance(broken, Rejection)
    assert broken.position == 1
    path.write_bytes(gzip.compress(framed(b"one")[:-4])[:-4])
    assert [type(one) for one in read_file(path)] == [Document, Rejection]


def test_revisit_says_that_a_document_was_seen_again() -> None:
    (found,) = read(Archive().add("revisit", b"", url="https://e.example/a").data)
    assert isinstance(found, Ignored)
    assert (found.seen_key, found.seen_at) == ("https://e.example/a", NOON)


def revisited(store: Store, folder: Path, *dates: str) -> int:
    """Ingest revisits of a page; return when it was last seen."""
    archive = Archive()
    for date in dates:
        archive.add("revisit", b"", url="https://e.example/a", warc={"WARC-Date": date})
        archive.add("revisit", b"", url="https://e.example/never", warc={"WARC-Date": date})
    path = folder / f"{dates[0]}.warc"
    path.write_bytes(archive.data)
    summary = store.ingest([str(path)])
    assert (summary.passed_over, summary.rejected) == (2 * len(dates), 0)
    (version,) = store.duplicates.story("https://e.example/a").versions
    return version.last_seen


def test_revisits_move_the_last_sight_of_what_is_stored(tmp_path: Path) -> None:
    first = tmp_path / "first.warc"
    first.write_bytes(Archive().add(payload=page(), url="https://e.example/a").data)
    with Store.create(tmp_path / "a.db") as store:
        store.ingest([str(first)])
        assert revisited(store, tmp_path, "2026-05-02T12:00:00Z") == NOON + 86_400
        dates = ("2026-05-04T12:00:00Z", "2026-05-03T12:00:00Z")
        assert revisited(store, tmp_path, *dates) == NOON + 3 * 86_400
        # Before it was first seen, when it was last seen, and in between: nothing new.
        dates = ("2026-04-01T12:00:00Z", "2026-05-04T12:00:00Z", "2026-05-02T13:00:00Z")
        assert revisited(store, tmp_path, *dates) == NOON + 3 * 86_400
        assert len(store) == 1


def test_page_crawled_again_with_its_text_is_unchanged_and_keeps_its_place(tmp_path: Path) -> None:
    urls = ["http://e.example/a", "http://e.example/b"]
    for number, day in enumerate(["2026-05-01", "2026-05-03", "2026-05-02"]):
        archive = Archive()
        # Each archive has its records elsewhere.
        for url in urls[number % 2 :] + urls[: number % 2]:
            text = b"<p>other by now" if (number, url) == (1, urls[1]) else b"<p>a text"
            archive.add(payload=text, url=url, warc={"WARC-Date": f"{day}T12:00:00Z"})
        (tmp_path / f"{day}.warc").write_bytes(archive.data)
    ids = [
        [one.metadata["warc_record_id"] for one in read((tmp_path / f"{day}.warc").read_bytes())]
        for day in ("2026-05-01", "2026-05-03")
    ]
    with Store.create(tmp_path / "s.db") as store:
        assert store.ingest([str(tmp_path / "2026-05-01.warc")]).added == 2
        second = store.ingest([str(tmp_path / "2026-05-03.warc")])
        assert (second.unchanged, second.updated) == (1, 1)
        # Between two sights of one text, and before the sight of the other.
        assert store.ingest([str(tmp_path / "2026-05-02.warc")]).unchanged == 2
        same, changed = (store.seen(url) for url in urls)
        assert same is not None
        assert changed is not None
        day = 86_400
        assert (same.last_seen - same.first_seen, changed.last_seen) == (2 * day, NOON + 2 * day)
        first, other = (store.get(url) for url in urls)
        assert (first.metadata["warc_record_id"], first.revision) == (ids[0][0], 1)
        assert (other.metadata["warc_record_id"], other.revision) == (ids[1][0], 2)
