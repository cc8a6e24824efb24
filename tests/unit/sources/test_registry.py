"""Which files are meant, and which reader reads them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simstore.errors import InvalidParameter
from simstore.model import Document
from simstore.sources import registry
from simstore.sources.articles import holds_articles
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions

from .reading import documents, read_file, reasons, rejections

PAGES = b"one\nriver\n\ftwo\nstone\n\f"
AS_ARTICLES = [("one", "river\n"), ("two", "stone\n")]


def names(given: list[str], **options: object) -> tuple[list[str], list[str]]:
    sources, passed_over = open_sources(given, ReadOptions(**options))  # type: ignore[arg-type]
    return [source.name for source in sources], passed_over


def test_file_whose_pages_begin_with_ids_is_an_article_file(tmp_path: Path) -> None:
    for name in ("a.txt", "notes.log", "no ending", "a.TXT"):
        path = tmp_path / name
        path.write_bytes(PAGES)
        assert documents(read_file(path)) == AS_ARTICLES, name


def test_text_with_form_feeds_whose_pages_begin_otherwise_is_one_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (
        "A LICENCE\nfor everybody.\n\f\n  1. You may copy it.\n\f\n  2. And change it.\n",
        "Author    Standards Track   [Page 1]\n\fRFC 1   Hosts   April 1969\nMore.\n",
        "Contents\nFirst chapter\n\fHarbour\nA text.\n\fHarbour\nIts second page.\n",
        "1\nThe first page.\n\f2\nThe second page.\n\f3\nThe third.\n",
        "第一章\n总则\n\f第二章\n分则\n",
        "------\nA table\n\f======\nAnother\n",
        "Harbour\nOne page, and a form feed behind it.\n\f",
        "one\nAn id\n\ftwo words\nNo id\n\fthree\nAn id\n",
        "a word at its end\f",
    ):
        path = tmp_path / "licence.txt"
        path.write_text(text, encoding="utf-8")
        assert documents(read_file(path)) == [(str(path), text)], text
        assert from_standard_input(monkeypatch, text.encode()) == [("-", text)], text
        assert (
            len(documents(read_file(path, format="articles"))) == text.rstrip("\f").count("\f") + 1
        ), text


def test_ids_are_found_however_the_bytes_come() -> None:
    for cut in range(3, 30):
        for data, expected in (
            (PAGES, True),
            (b"\xef\xbb\xbf\n 1-1 \r\nriver\f\f \r\n1-2\rstone\f", True),
            (b"one\nriver\ftwo", True),
            (b"one\nriver\fone\nriver", False),
            (b"1-1\nriver\f1-2 and\nmore", False),
            (b"7\nriver\f9\nstone\f", True),
        ):
            pieces = [data[place : place + cut] for place in range(0, len(data), cut)]
            assert holds_articles(pieces) is expected, cut


def test_byte_of_a_form_feed_in_other_characters_makes_no_article_file(tmp_path: Path) -> None:
    for codec in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        text = "所有的人都是生而自由的，在尊严和权利上一律平等。\n他们有理性和良心。\n" * 4
        data = text.encode(codec)
        assert b"\x0c" in data, codec
        path = tmp_path / "a.txt"
        path.write_bytes(data)
        assert documents(read_file(path)) == [(str(path), text)], codec
        assert documents(read_file(path, encoding=codec)) == [(str(path), text)], codec
        path = tmp_path / "article.txt"
        path.write_bytes(data)
        (reason,) = reasons(read_file(path))
        assert reason.startswith("an article file in UTF-"), codec


def test_format_is_told_by_the_decoded_beginning(tmp_path: Path) -> None:
    for codec in ("utf-16", "utf-16-le", "utf-16-be"):
        path = tmp_path / "page"
        path.write_bytes(
            f"<!DOCTYPE html><title>天</title><p>{'天地玄黄，宇宙洪荒。' * 9}".encode(codec)
        )
        (document,) = read_file(path)
        assert isinstance(document, Document), codec
        assert (document.title, document.text) == ("天", "天地玄黄，宇宙洪荒。" * 9), codec
        path.write_bytes('{"id": "k", "text": "Все люди"}\n'.encode(codec))
        assert documents(read_file(path)) == [("k", "Все люди")], codec


def test_file_without_form_feed_is_one_text_named_by_its_path(tmp_path: Path) -> None:
    for name in ("a.txt", "particle.txt", "my-sample.txt", "article.log"):
        path = tmp_path / name
        path.write_bytes(b"one\nriver\n")
        assert documents(read_file(path)) == [(str(path), "one\nriver\n")], name


def test_file_called_article_or_sample_is_an_article_file(tmp_path: Path) -> None:
    for name in ("article.txt", "article-7.txt", "articles.txt", "sample_a.txt"):
        path = tmp_path / name
        path.write_bytes(b"one\nriver\n")
        assert documents(read_file(path)) == [("one", "river\n")], name


def test_jsonl_goes_by_its_ending(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.ndjson", "article.jsonl"):
        for suffix in ("", ".gz", ".zst"):
            path = tmp_path / (name + suffix)
            path.write_bytes(b'{"key": "k", "text": "a \\f b"}\n')
            for articles in (False, True):
                assert documents(read_file(path, texts_are_articles=articles)) == [
                    ("k", "a \f b")
                ], (name, suffix)


def test_as_decides_any_doubt(tmp_path: Path) -> None:
    path = tmp_path / "article.txt"
    path.write_bytes(PAGES)
    assert documents(read_file(path, format="text")) == [(str(path), PAGES.decode())]
    path = tmp_path / "a.txt"
    path.write_bytes(b'{"key": "k", "text": "t"}')
    assert documents(read_file(path, format="jsonl")) == [("k", "t")]
    path.write_bytes(b"one\nriver\n")
    assert documents(read_file(path, format="articles", texts_are_articles=True)) == [
        ("one", "river\n")
    ]
    assert documents(read_file(path, format="text", texts_are_articles=True)) == [
        (str(path), "one\nriver\n")
    ]


def test_form_feed_behind_a_page_longer_than_the_limit_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"long\n" + b"x " * 1_500_000 + b"\ftwo\nstone\n\f")
    records = read_file(path, max_document_bytes=1_000)
    assert documents(records) == [("two", "stone\n")]
    assert rejections(records) == [(0, 0)]


def test_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "[ab].txt"
    path.write_bytes(b"")
    assert names([str(path)])[0] == [str(path)]


def test_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"")
    assert names([str(path), str(path), str(tmp_path)])[0] == [str(path)]


def test_standard_input_can_be_named_once() -> None:
    with pytest.raises(InvalidParameter, match="once"):
        names(["-", "-"])


class _Input:
    """Stands for ``sys.stdin``."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def from_standard_input(
    monkeypatch: pytest.MonkeyPatch, data: bytes, **options: object
) -> list[tuple[str, str]]:
    monkeypatch.setattr(sys, "stdin", _Input(data))
    (source,), _ = open_sources(["-"], ReadOptions(**options))  # type: ignore[arg-type]
    assert source.total_bytes is None
    return documents(list(source.records()))


def test_standard_input_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    for data, expected in (
        (PAGES, AS_ARTICLES),
        (b"one\nriver\n", [("-", "one\nriver\n")]),
        (b'{"key": "k", "text": "t"}\n', [("k", "t")]),
        (b' \n\t{"key": "k", "text": "a\\fb"}\n', [("k", "a\fb")]),
        (b'\xef\xbb\xbf{"key": "k", "text": "t"}\n', [("k", "t")]),
        (b"", []),
        (
            b"one\n" + b"x" * 3_000_000 + b"\n\ftwo\nstone\n\f",
            [("one", "x" * 3_000_000 + "\n"), ("two", "stone\n")],
        ),
    ):
        assert from_standard_input(monkeypatch, data) == expected, data


def test_unknown_reader_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    with pytest.raises(InvalidParameter, match="no reader is called 'nothing': choose one of auto"):
        names([str(tmp_path / "a.txt")], format="nothing")


def test_file_that_begins_with_an_object_is_json_lines(tmp_path: Path) -> None:
    for name in ("crawl", "crawl.dump", "crawl.json.gz"):
        path = tmp_path / name
        path.write_bytes(b'\xef\xbb\xbf\n {"id": 1, "text": "a \\f b"}\n')
        assert documents(read_file(path)) == [("1", "a \f b")], name
        path = tmp_path / f"{name}.txt"
        path.write_bytes(b'{"id": 1, "text": "x"}\n')
        assert documents(read_file(path)) == [(str(path), '{"id": 1, "text": "x"}\n')], name


def test_file_that_begins_with_names_of_fields_is_csv(tmp_path: Path) -> None:
    for first in ("id,text", "\ufeffid;body;site.name", '"id"\t"text"', "content|key", "id,text\r"):
        lines = f"{first}\n" + first.replace("\r", "").replace("\ufeff", "").translate(
            str.maketrans("abcdefghijklmnopqrstuvwxyz", "e" * 26)
        )
        path = tmp_path / "crawl"
        path.write_bytes(lines.encode() + b"\n")
        (document,) = read_file(path)
        assert isinstance(document, Document), first
        assert set(document.text) == {"e"}, first
        path = tmp_path / "crawl.txt"
        path.write_bytes(lines.encode())
        assert [key for key, _ in documents(read_file(path))] == [str(path)], first


def test_file_that_begins_with_other_words_is_a_text(tmp_path: Path) -> None:
    for first in ("text", "Hello, text, all", "content and body, he said", "id,title", "id text"):
        path = tmp_path / "notes"
        path.write_text(f"{first}\nmore,words\n")
        assert documents(read_file(path)) == [(str(path), f"{first}\nmore,words\n")], first


READER = """
from simstore.model import Document

class HexReader:
    name = "hex"
    suffixes = (".hex",)
    needs_file = False
    record_ends = (b"\\n",)

    def recognises(self, head):
        return head.startswith(b"HEX1")

    def read(self, stream, request):
        for number, line in enumerate(stream):
            yield Document(f"{request.name}:{number}", line.decode().strip(), position=number)

broken = 1 / 0 if __name__ == "broken_reader" else None
"""


@pytest.fixture
def install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], None]]:
    """Put a package with a reader beside those that are installed."""

    def put(module: str, point: str) -> None:
        folder = tmp_path / "site"
        information = folder / f"{module}-1.0.dist-info"
        information.mkdir(parents=True)
        (folder / f"{module}.py").write_text(READER)
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n"
        )
        (information / "entry_points.txt").write_text(
            f"[simstore.readers]\nhex = {module}:{point}\n"
        )
        monkeypatch.syspath_prepend(str(folder))
        registry.added_readers.cache_clear()

    yield put
    registry.added_readers.cache_clear()


@pytest.mark.parametrize("point", ["HexReader", "HexReader()"])
def test_installed_package_adds_a_reader(
    tmp_path: Path, install: Callable[[str, str], None], point: str
) -> None:
    module = "hex_reader_class" if point == "HexReader" else "hex_reader_object"
    install(module, "HexReader" if point == "HexReader" else "ready")
    source = tmp_path / "site" / f"{module}.py"
    source.write_text(f"{READER}\nready = HexReader()\n")
    files = {"a.hex": b"6162", "unnamed": b"HEX1", "b.txt": b"HEX1", "c.jsonl": b""}
    folder = tmp_path / "data"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    assert documents(read_file(folder / "a.hex")) == [(f"{folder / 'a.hex'}:0", "6162")]
    assert documents(read_file(folder / "unnamed")) == [(f"{folder / 'unnamed'}:0", "HEX1")]
    assert documents(read_file(folder / "b.txt")) == [(str(folder / "b.txt"), "HEX1")]
    assert len(documents(read_file(folder / "b.txt", format="hex"))) == 1
    found, passed_over = names([str(folder)])
    assert [os.path.basename(name) for name in found] == ["a.hex", "b.txt", "c.jsonl"]
    assert [os.path.basename(name) for name in passed_over] == ["unnamed"]


def test_reader_that_cannot_be_loaded_is_named(
    tmp_path: Path, install: Callable[[str, str], None]
) -> None:
    install("broken_reader", "HexReader")
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "x"}\n')
    # Nobody needs it here.
    assert len(read_file(path)) == 1
    with pytest.raises(
        InvalidParameter, match=r"the reader hex \(broken_reader:HexReader\) cannot"
    ):
        read_file(tmp_path / "a.jsonl", format="hex")
