from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urljoin

import pytest

from simstore.errors import MissingExtra
from simstore.model import Document
from simstore.sources.registry import reader_named

from .reading import read_file, read_stream, reasons

MAIN = [
    "The ferry to the island leaves the harbour every morning at seven, when the fog still lies on "
    "the water and the gulls sit in a row on the rail.",
    "Its captain has steered it for thirty years. He knows the rocks by their names, and the "
    "passengers by the newspapers that they read.",
    "In winter the crossing takes twice as long, since the ice must be broken first; nobody "
    "complains, for there is tea.",
]
PAGE = """<!DOCTYPE html><html lang="en-GB"><head><title> The ferry
 | Harbour News</title>
<link rel="canonical" href="/ferry"><meta property="article:published_time"
 content="2026-05-01T12:00:00+02:00"><script>var tracking = "never shown";</script></head><body>
<nav class="menu"><ul><li><a href="/">Home</a></li><li><a href="/sport#top">Sport</a></li></ul>
</nav><div class="cookie-banner">We value your privacy: accept all cookies</div>
<article><h1>The ferry</h1>%s</article>
<aside class="sidebar"><p>Advertisement: buy a boat</p></aside>
<div class="counter">Visitors: 12345</div>
<footer>Copyright Harbour News <a href="https://partner.example/x?a=1">Partner</a>
<a href="mailto:x@example.org">Mail</a><a href="javascript:void(0)">More</a></footer></body></html>
"""
URL = "https://news.example/2026/ferry.html"


def page(paragraphs: list[str] | None = None) -> bytes:
    return (PAGE % "".join(f"<p>{one}</p>" for one in paragraphs or MAIN)).encode()


def read_page(data: bytes, name: str = "name", **options: object) -> Document:
    (record,) = read_stream(reader_named("html"), data, name, **options)
    assert isinstance(record, Document), record
    return record


def test_page_says_what_it_is() -> None:
    found = read_page(page(), URL)
    assert found.key == URL
    assert found.title == "The ferry | Harbour News"
    assert found.published_at == 1_777_629_600
    assert found.metadata == {
        "canonical": "https://news.example/ferry", "language": "en", "extractor": "blocks 1",
    }  # fmt: skip
    assert found.links == (
        "https://news.example/", "https://news.example/sport", "https://partner.example/x?a=1",
    )  # fmt: skip
    assert (found.position, found.byte_offset, found.end_offset) == (0, 0, len(page()))


def test_links_are_joined_as_the_library_joins_them() -> None:
    for target in (
        "/a/b.html?c=d.e",
        "/a/../b",
        "/a/./b",
        "//other.example/x",
        "c.html",
        "../c",
        "?q=1",
        "/",
        "http://e.example/..",
        "https://e.example/a/..b/.c",
        "HTTP://E.example/x",
        "/a/..?b",
        "http://e.example",
        "/x y",
        "/..",
        "/...",
    ):
        (found,) = read_page(f'<a href="{target}#part">x</a>'.encode(), URL).links
        assert found == urljoin(URL, target), target


def test_relative_links_of_a_page_without_an_address_are_left_out() -> None:
    assert read_page(page()).links == ("https://partner.example/x?a=1",)
    based = page().replace(b"<head>", b'<head><base href="https://other.example/">')
    assert read_page(based).metadata["canonical"] == "https://other.example/ferry"
    assert "https://other.example/sport" in read_page(based).links


def test_date_of_publication_is_found_where_pages_have_it() -> None:
    for markup, day in (
        ('<meta name="pubdate" content="2026/5/1">', True),
        ('<meta itemprop="datePublished" content="2026-05-01">', True),
        ('<script type="application/ld+json">[{"datePublished": "2026-05-01"}]</script>', True),
        ('<script type="application/ld+json">{"datePublished": </script>', False),
        ("<article><time datetime=2026-05-01>1 May</time></article>", True),
        ('<meta name="date" content="yesterday">', False),
        ('<meta name="date" content="2026-05-01 at noon">', True),
        ("<time datetime=2026-05-01>an event</time>", False),
        ('<meta name="date" content="0001-01-01T00:00:00">', False),
        ('<meta name="date" content="1970-01-01T00:00:00Z">', False),
        (
            '<meta name=date content="0001-01-01"><article><time datetime=2026-05-01>1 May</time>',
            True,
        ),
    ):
        found = read_page(f"<html>{markup}<p>{MAIN[0]}".encode())
        assert found.published_at == (1_777_593_600 if day else None), markup


@pytest.mark.parametrize("declared", [True, False])
def test_chinese_page_in_gbk_is_read(declared: bool) -> None:
    text = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
    meta = '<meta http-equiv="Content-Type" content="text/html; charset=gb2312">'
    markup = f"<html><head>{meta if declared else ''}<title>宣言</title><body><p>{text * 3}</p>"
    found = read_page(markup.encode("gbk"))
    assert (found.title, found.text.strip()) == ("宣言", text * 3)
    told = {} if declared else {"encoding_detected": True}
    assert found.metadata == {"encoding": "gb18030", "extractor": "blocks 1"} | told


def test_pages_are_told_by_their_beginning_and_their_name(tmp_path: Path) -> None:
    for name, data in (
        ("page", b"\xef\xbb\xbf\n<!-- made by hand -->\n<!doctype HTML><p>seen"),
        ("other", b"<?xml version='1.0'?><html xmlns='x'><body>seen</body></html>"),
        ("named.htm", b"<p>seen"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert [one.text for one in read_file(path) if isinstance(one, Document)] == ["seen"]
    path = tmp_path / "about.txt"
    path.write_bytes(b"<html> is how a page begins")
    assert [getattr(one, "text", "") for one in read_file(path)] == ["<html> is how a page begins"]


def test_markup_that_would_take_hours_is_rejected() -> None:
    for markup, reason in (
        (b"<div>" * 20_000, "its elements stand more than 1,000 deep in each other"),
        (b"".join(b"<p><font color=%d>" % n for n in range(2_000)), "more than 500 deep"),
        (b"<div>" * 600 + b"<p>text" * 20_000, "20,600 tags stand up to "),
        (b"x" * 2_000, "the file has 2,000 bytes"),
    ):
        limit = 1_000 if markup.startswith(b"x") else None
        (found,) = reasons(read_stream(reader_named("html"), markup, max_document_bytes=limit))
        assert reason in found, markup


def test_attributes_in_thousands_are_left_out_and_scripts_are_no_tags() -> None:
    many = b"<p " + b" ".join(b"a%d" % n for n in range(20_000)) + b">text of it</p>"
    assert read_page(many).text == "text of it"
    script = b"<script>write('<bo'+" + b"a b " * 40_000 + b"</script>"
    found = read_page(b"<html><body>" + script + b"<p title='it'>text of it</p>")
    assert found.text == "text of it"


def test_large_ordinary_markup_is_read() -> None:
    rows = "".join(f"<tr><td>cell <b>{n}</b><td><a href=/{n}>link</a>" for n in range(8_000))
    found = read_page(f"<table>{rows}</table>".encode(), URL, extract="all")
    assert "7999" in found.text
    assert len(found.links) == 1_000
    items = "".join(f"<p>line {n}<br>" for n in range(20_000))
    assert "line 19999" in read_page(items.encode(), extract="all").text
    picture = f'<p>seen<img src="data:image/png;base64,{"A" * 100_000}">'
    assert "seen" in read_page(picture.encode(), extract="all").text


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resiliparse.parse.html", None)
    with pytest.raises(MissingExtra, match=r"extra 'web'"):
        read_stream(reader_named("html"), b"<p>x")
