from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docx
import pytest
from pypdf import PdfReader as Pdf
from pypdf import PdfWriter
from reportlab.pdfgen.canvas import Canvas

from simstore.errors import MissingExtra
from simstore.model import Document, Rejection
from simstore.sources.isolated import READERS
from simstore.sources.pdf import PdfReader
from simstore.sources.registry import reader_named
from simstore.text.passages import sentences
from simstore.text.quotations import bibliography, quotations

from .reading import read_file, read_stream, reasons

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


def made_docx() -> bytes:
    made = docx.Document()
    made.core_properties.title = "On  ferries"
    made.add_heading("Ferries", 1)
    made.add_paragraph("The first paragraph, 第一段.")
    table = made.add_table(rows=1, cols=2)
    table.cell(0, 0).text = "left cell"
    table.cell(0, 1).text = "right cell"
    made.add_paragraph("one\ttab\nand a new line")
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def package(parts: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", "<Types/>")
        for name, part in parts.items():
            file.writestr(name, part)
    return stream.getvalue()


def of_body(body: str) -> bytes:
    return package(
        {"word/document.xml": f"<w:document {W} {MC}><w:body>{body}</w:body></w:document>"}
    )


def made_pdf(pages: list[list[str]], title: str = "On ferries") -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream)
    canvas.setTitle(title)
    for lines in pages:
        for number, line in enumerate(lines):
            canvas.drawString(72, 720 - 20 * number, line)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def one(records: list[Any]) -> Document:
    (found,) = records
    assert isinstance(found, Document), found
    return found


def test_docx_is_the_text_of_its_paragraphs_and_tables() -> None:
    data = made_docx()
    found = one(read_stream(reader_named("docx"), data))
    assert found.text.split("\n\n") == [
        "Ferries", "The first paragraph, 第一段.", "left cell", "right cell",
        "one\ttab\nand a new line",
    ]  # fmt: skip
    assert (found.key, found.title, found.end_offset) == ("name", "On ferries", len(data))


def test_docx_leaves_out_what_was_deleted_and_says_nothing_twice() -> None:
    text = "<w:r><w:t>{}</w:t></w:r>"
    box = (
        "<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>boxed</w:t></w:r></w:p></mc:Choice>"
        "<mc:Fallback><w:p><w:r><w:t>boxed</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
    )
    data = of_body(
        f"<w:p>{text.format('kept')}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        f"<w:ins>{text.format(' added')}</w:ins></w:p><w:p>{text.format('around')}{box}</w:p>"
    )
    assert one(read_stream(reader_named("docx"), data)).text.split("\n\n") == [
        "kept added", "boxed", "around",
    ]  # fmt: skip


def test_docx_leaves_out_what_was_moved_away_and_keeps_signs_within_words() -> None:
    text = "<w:r><w:t>{}</w:t></w:r>"
    data = of_body(
        f"<w:p><w:moveFrom>{text.format('moved')}</w:moveFrom>{text.format('stays')}</w:p>"
        f"<w:p><w:moveTo>{text.format('moved')}</w:moveTo></w:p><w:p>{text.format(' ')}</w:p>"
        "<w:p><w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r></w:p>"
    )
    found = one(read_stream(reader_named("docx"), data)).text
    assert found == "stays\n\nmoved\n\nwell\u2011known"


def with_notes(body: str, **notes: dict[str, str]) -> bytes:
    """A package with notes by number, ``footnotes`` and ``endnotes``."""
    parts = {
        f"word/{kind}.xml": f"<w:{kind} {W}>"
        + "".join(
            f'<w:{kind[:-1]} w:id="{number}">{said and PARAGRAPH.format(said)}</w:{kind[:-1]}>'
            for number, said in by_number.items()
        )
        + f"</w:{kind}>"
        for kind, by_number in notes.items()
    }
    document = f"<w:document {W}><w:body>{body}</w:body></w:document>"
    return package(parts | {"word/document.xml": document})


PARAGRAPH = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
FOOT, END = '<w:footnoteReference w:id="{}"/>', '<w:endnoteReference w:id="{}"/>'


def test_notes_of_a_docx_follow_the_paragraph_that_refers_to_them() -> None:
    run = "<w:r><w:t>{}</w:t>{}</w:r>"
    body = (
        f"<w:p>{run.format('One', FOOT.format(2))}{run.format(' and more.', FOOT.format(1))}</w:p>"
        f"<w:p>{run.format('Two', END.format(1))}"
        f"<w:del>{run.format('', FOOT.format(4))}</w:del></w:p>"
        f"{PARAGRAPH.format('References')}{PARAGRAPH.format('A book.')}"
    )
    data = with_notes(
        body,
        footnotes={"-1": "", "1": "first", "2": "second", "3": "unused", "4": "deleted"},
        endnotes={"1": "at the end"},
    )
    assert one(read_stream(reader_named("docx"), data)).text.split("\n\n") == [
        "One and more.", "second", "first", "Two", "at the end", "References", "A book.", "unused",
    ]  # fmt: skip


def test_a_copied_footnote_is_no_part_of_the_bibliography_of_a_docx() -> None:
    body = (
        f"<w:p><w:r><w:t>My own words.</w:t>{FOOT.format(1)}</w:r></w:p>"
        f"{PARAGRAPH.format('References')}{PARAGRAPH.format('A book.')}"
    )
    text = one(
        read_stream(reader_named("docx"), with_notes(body, footnotes={"1": "A copied note."}))
    ).text
    span = bibliography(text)
    assert span is not None
    assert text[slice(*span)] == "References\n\nA book."


def test_paragraphs_of_a_docx_are_joined_neither_by_sentences_nor_by_quotations() -> None:
    made, stream = docx.Document(), io.BytesIO()
    lines = [
        "A heading that is as long as a line of text and has no stop at its end",
        "the next paragraph begins with a small letter, and with “a mark that is never closed",
        "another one ends with such a mark” and goes on to the end of its line, which is long",
    ]
    for line in lines:
        made.add_paragraph(line)
    made.save(stream)
    text = one(read_stream(reader_named("docx"), stream.getvalue())).text
    assert [text[slice(*span)] for span in sentences(text)] == lines
    assert quotations(text) == []


STYLE = '<w:style w:type="paragraph" w:styleId="{}"><w:name w:val="{}"/>{}</w:style>'


def styled(*styles: str) -> bytes:
    """A package with a paragraph of each style, and a plain one."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{name}"/></w:pPr><w:r><w:t>said {name}</w:t></w:r></w:p>'
        for name in ("Zitat", "a3", "Mein", "Quote", "Text")
    )
    parts = {"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>"}
    if styles:
        parts["word/styles.xml"] = f"<w:styles {W}>{''.join(styles)}</w:styles>"
    return package(parts)


def quoted_in(data: bytes) -> list[str]:
    text = one(read_stream(reader_named("docx"), data)).text
    return [text[slice(*span)].strip("“”") for span in quotations(text)]


def test_paragraphs_in_a_style_of_quotations_are_quotations() -> None:
    made, stream = docx.Document(), io.BytesIO()
    made.add_paragraph("My own words.")
    made.add_paragraph("What somebody said.", style="Quote")
    made.add_paragraph("He said “this” and that.", style="Intense Quote")
    made.add_paragraph("“Marked already.”", style="Quote")
    made.save(stream)
    assert one(read_stream(reader_named("docx"), stream.getvalue())).text.split("\n\n") == [
        "My own words.", "“What somebody said.”", "«He said “this” and that.»", "“Marked already.”",
    ]  # fmt: skip


def test_styles_of_quotations_are_known_by_their_names_in_every_language() -> None:
    # Word translates identifiers and keeps names; a style may be made of another.
    based = '<w:basedOn w:val="{}"/>'
    styles = (
        STYLE.format("Mein", "Mein Stil", based.format("a3")),
        STYLE.format("Zitat", "Quote", ""),
        STYLE.format("a3", "Intense Quote", based.format("Text")),
        STYLE.format("Text", "Normal", based.format("Text")),
        STYLE.format("Quote", "Something else", ""),
    )
    assert quoted_in(styled(*styles)) == ["said Zitat", "said a3", "said Mein"]
    assert quoted_in(styled(STYLE.format("a3", "明显引用", ""))) == ["said a3", "said Quote"]
    assert quoted_in(styled()) == ["said Quote"]


def locked_docx() -> bytes:
    """A package that says of its parts that they are encrypted."""
    data = bytearray(of_body(""))
    place = -1
    while (place := data.find(b"PK\x01\x02", place + 1)) >= 0:
        data[place + 8] |= 1
    return bytes(data)


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


def test_docx_that_cannot_be_used_is_rejected() -> None:
    for data, reason in (
        (package({"word/document.xml": f"{BOMB}<x>&b;</x>"}), "word/document.xml declares a DTD"),
        (package({"word/document.xml": f"{OUTSIDE}<x>&a;</x>"}), "document.xml declares a DTD"),
        (package({"word/document.xml": "<w:p>"}), "a damaged Word document: word/document.xml is"),
        (of_body("")[:-60] + of_body("")[-59:], "it is not a Word document (.docx), or is damaged"),
        (package({"other.xml": ""}), "it is not a Word document (.docx): it has no word/document"),
        (made_docx()[:-500], "it is not a Word document (.docx), or is damaged"),
        (b"PK\x03\x04 and nothing else", "it is not a Word document (.docx), or is damaged"),
        (locked_docx(), "it is protected by a password"),
        (b"My paper", "it is not a Word document (.docx), or is damaged"),
        (of_body(" " * 20_000_000), "word/document.xml has more than 16,000,000 bytes"),
        (of_body(f"<w:p><w:r><w:t>{'x' * 1_000_001}</w:t></w:r></w:p>"), "more bytes than the lim"),
    ):
        (found,) = reasons(read_stream(reader_named("docx"), data, max_document_bytes=1_000_000))
        assert reason in found, reason


def test_docx_may_nest_its_elements_deep() -> None:
    deep = 50_000
    data = of_body("<w:sdt>" * deep + "<w:p><w:r><w:t>x</w:t></w:r></w:p>" + "</w:sdt>" * deep)
    assert one(read_stream(reader_named("docx"), data)).text.strip() == "x"


def test_pdf_is_the_text_of_its_pages() -> None:
    data = made_pdf([["The first line", "and the second"], ["Another page"]])
    found = one(read_stream(reader_named("pdf"), data))
    assert found.text.split("\n") == ["The first line", "and the second", "Another page"]
    assert (found.key, found.title, found.end_offset) == ("name", "On ferries", len(data))


def encrypted(password: str) -> bytes:
    writer = PdfWriter(Pdf(io.BytesIO(made_pdf([["secret"]]))))
    writer.encrypt(password, algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_pdf_that_cannot_be_used_is_rejected() -> None:
    for data, reason in (
        (made_pdf([[], []]), "no text layer: its pages are pictures"),
        (b"%PDF-1.7\n", "the file is damaged: "),
        (b"My paper", "it is not a PDF file"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 50, "the file is damaged: "),
        (encrypted("word"), "it is encrypted, and asks for a password"),
        (made_pdf([["x" * 90] * 30] * 10), "the text has more bytes than the limit of 20,000"),
    ):
        (found,) = reasons(read_stream(reader_named("pdf"), data, max_document_bytes=20_000))
        assert reason in found, reason


def test_pdf_that_is_encrypted_without_a_password_is_read() -> None:
    assert one(read_stream(reader_named("pdf"), encrypted(""))).text == "secret"


def hostile_pdf(depth: int, pages: int) -> bytes:
    """Return a small file of equal pages: each shows a form ten times, which shows another..."""
    names = [f"/F{number} {number + 4} 0 R" for number in range(depth)]
    resources = f"<< /XObject << {' '.join(names)} >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{'3 0 R ' * pages}] /Count {pages} >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources {resources} "
        "/Contents 4 0 R >>",
    ]
    for number in range(depth):
        content = f"/F{number + 1} Do " * 10 if number + 1 < depth else "BT (x) Tj ET"
        objects.append(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources {resources} "
            f"/Length {len(content)} >>\nstream\n{content}\nendstream"
        )
    data, places = b"%PDF-1.4\n", []
    for number, one_object in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{one_object}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    return data + (head + trailer).encode()


@pytest.mark.slow
def test_pdf_that_would_take_hours_is_rejected_and_the_next_one_is_read() -> None:
    reader = PdfReader(most_seconds=1)
    # The library has a limit for each page.
    hostile = hostile_pdf(12, 900)
    assert len(hostile) < 20_000
    assert one(read_stream(reader, hostile_pdf(2, 3))).text.count("x") == 30
    (found,) = read_stream(reader, hostile, max_document_bytes=None)
    assert isinstance(found, Rejection)
    assert found.reason == "reading it takes more than 1 s of processor time"
    assert (found.end_offset, found.head[:5]) == (len(hostile), b"%PDF-")
    assert one(read_stream(reader, made_pdf([["a page"]]))).text == "a page"


def test_pdf_whose_reader_ends_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_named("pdf")
    READERS.end()
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setenv("PYTHONHOME", "nowhere")
    (found,) = reasons(read_stream(reader, made_pdf([["a page"]])))
    assert found.startswith("the library that reads it ended by itself (status ")


def test_documents_are_told_by_content_and_by_name(tmp_path: Path) -> None:
    for name, data, text in (
        ("paper", made_docx(), "first paragraph"),
        ("paper.docx", made_docx(), "first paragraph"),
        ("scan", made_pdf([["a page"]]), "a page"),
        ("notes.md", b"# notes", "# notes"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert text in one(read_file(path)).text
    # What Word wrote before 2007 is no text.
    old = tmp_path / "old.doc"
    old.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))
    (reason,) = reasons(read_file(old))
    assert "an older Word document (.doc)" in reason


@pytest.mark.parametrize(
    ("reader", "package"), [(reader_named("docx"), "defusedxml"), (reader_named("pdf"), "pypdf")]
)
def test_missing_library_is_named(
    reader: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"extra 'office'"):
        read_stream(reader, b"x")
