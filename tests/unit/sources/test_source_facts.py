"""Author and date of files, and the fields of records that say what they are."""

from __future__ import annotations

import datetime
import io
import json
from pathlib import Path

import docx
from reportlab.pdfgen.canvas import Canvas

from simstore import Store
from simstore.model import Document
from simstore.sources.reader import ReadOptions, SourceFields
from simstore.sources.registry import reader_named
from simstore.sources.web_pages import read_page

from .reading import read_stream


def metadata_of(reader: str, data: bytes) -> dict[str, object]:
    (found,) = read_stream(reader_named(reader), data)
    assert isinstance(found, Document)
    return dict(found.metadata)


def test_author_and_date_of_a_word_document_are_metadata() -> None:
    made = docx.Document()
    made.add_paragraph("The ferry is late.")
    made.core_properties.author = "Ann  Lee"
    made.core_properties.created = datetime.datetime(2021, 5, 6, 7, 8)
    stream = io.BytesIO()
    made.save(stream)
    assert metadata_of("docx", stream.getvalue()) == {"author": "Ann Lee", "date": "2021-05-06"}


def test_author_and_date_of_a_pdf_are_metadata_but_no_placeholder() -> None:
    for author, told in (("Ann Lee", {"author": "Ann Lee"}), ("anonymous", {})):
        stream = io.BytesIO()
        canvas = Canvas(stream, invariant=1)
        canvas.setAuthor(author)
        canvas.drawString(72, 720, "The ferry is late.")
        canvas.save()
        assert metadata_of("pdf", stream.getvalue()) == {**told, "date": "2000-01-01"}


def test_author_of_a_web_page_is_metadata_where_it_is_a_name() -> None:
    for said, author in (("Ann Lee", "Ann Lee"), ("https://example.org/ann", None)):
        page = read_page(
            f'<html><head><meta name="author" content="{said}"></head><p>Text</p>', "main", None
        )
        assert not isinstance(page, str)
        assert page.metadata.get("author") == author


def test_named_fields_are_shown_with_the_source_of_a_copy(tmp_path: Path) -> None:
    text = "The ferry leaves the harbour at nine and returns before the evening tide comes in."
    record = {"id": "a", "text": text, "head": "Ferries", "by": "Ann", "day": "May", "at": "//a.b"}
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(record), encoding="utf-8")
    names = SourceFields(title="head", author="by", date="day", url="at")
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.ingest(file, read=ReadOptions(source_fields=names))
        (source,) = store.check(text).sources
        assert store.get("a").metadata == {"author": "Ann", "date": "May", "url": "//a.b"}
    assert (source.title, source.author, source.date) == ("Ferries", "Ann", "May")
    assert source.url == "//a.b"
