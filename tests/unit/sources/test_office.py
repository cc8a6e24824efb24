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
from simstore.sources import isolated
from simstore.sources.office import DocxReader, MarkdownReader
from simstore.sources.pdf import PdfReader

from .reading import documents, read_file, read_stream, reasons

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
    found = one(read_stream(DocxReader(), data))
    assert found.text.split("\n") == [
        "Ferries", "The first paragraph, 第一段.", "left cell", "right cell", "one\ttab",
        "and a new line",
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
    assert one(read_stream(DocxReader(), data)).text.split("\n")[:3] == [
        "kept added", "boxed", "around",
    ]  # fmt: skip


def test_notes_of_a_docx_come_after_its_text() -> None:
    line = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    note = f"<w:footnotes {W}><w:footnote>{line.format('a note')}</w:footnote></w:footnotes>"
    body = f"<w:document {W}>{line.format('text')}</w:document>"
    data = package({"word/footnotes.xml": note, "word/document.xml": body})
    assert one(read_stream(DocxReader(), data)).text.split() == ["text", "a", "note"]


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (package({"word/document.xml": f"{BOMB}<x>&b;</x>"}), "no .docx file: DTDForbidden"),
        (package({"word/document.xml": f"{OUTSIDE}<x>&a;</x>"}), "no .docx file: DTDForbidden"),
        (package({"word/document.xml": "<w:p>"}), "no .docx file: unbound prefix"),
        (package({"other.xml": ""}), "it has no word/document.xml"),
        (made_docx()[:-500], "no .docx file: File is not a zip file"),
        (b"PK\x03\x04 and nothing else", "no .docx file: File is not a zip file"),
        (of_body(" " * 20_000_000), "word/document.xml has more than 16,000,000 bytes"),
        (of_body(f"<w:p><w:r><w:t>{'x' * 1_000_001}</w:t></w:r></w:p>"), "more bytes than the lim"),
    ],
)
def test_docx_that_cannot_be_used_is_rejected(data: bytes, reason: str) -> None:
    (found,) = reasons(read_stream(DocxReader(), data, max_document_bytes=1_000_000))
    assert reason in found


def test_docx_may_nest_its_elements_deep() -> None:
    deep = 50_000
    data = of_body("<w:sdt>" * deep + "<w:p><w:r><w:t>x</w:t></w:r></w:p>" + "</w:sdt>" * deep)
    assert one(read_stream(DocxReader(), data)).text.strip() == "x"


def test_pdf_is_the_text_of_its_pages() -> None:
    data = made_pdf([["The first line", "and the second"], ["Another page"]])
    found = one(read_stream(PdfReader(), data))
    assert found.text.split("\n") == ["The first line", "and the second", "Another page"]
    assert (found.key, found.title, found.end_offset) == ("name", "On ferries", len(data))


def encrypted(password: str) -> bytes:
    writer = PdfWriter(Pdf(io.BytesIO(made_pdf([["secret"]]))))
    writer.encrypt(password, algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (made_pdf([[], []]), "no text layer: its pages are pictures"),
        (b"%PDF-1.7\n", "the file is damaged: "),
        (b"%PDF-1.7\n" + bytes(range(256)) * 50, "the file is damaged: "),
        (encrypted("word"), "it is encrypted, and asks for a password"),
        (made_pdf([["x" * 90] * 30] * 10), "the text has more bytes than the limit of 20,000"),
    ],
)
def test_pdf_that_cannot_be_used_is_rejected(data: bytes, reason: str) -> None:
    (found,) = reasons(read_stream(PdfReader(), data, max_document_bytes=20_000))
    assert reason in found


def test_pdf_that_is_encrypted_without_a_password_is_read() -> None:
    assert one(read_stream(PdfReader(), encrypted(""))).text == "secret"


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
    reader = PdfReader()
    isolated.end_all()
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setenv("PYTHONHOME", "nowhere")
    (found,) = reasons(read_stream(reader, made_pdf([["a page"]])))
    assert found.startswith("the library that reads it ended by itself (status ")


def test_markdown_is_text_without_its_front_matter() -> None:
    for matter in ("", "---\ntitle: x\ntags: [a]\n---\n", "+++\r\ntitle = 1\r\n+++\r\n"):
        data = f"{matter}# Head\n\n---\n*text*\n".encode()
        assert documents(read_stream(MarkdownReader(), data)) == [
            ("name", "# Head\n\n---\n*text*\n")
        ]
    open_ended = b"---\nnot closed\n"
    assert documents(read_stream(MarkdownReader(), open_ended))[0][1] == open_ended.decode()


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


@pytest.mark.parametrize(
    ("reader", "package"), [(DocxReader(), "defusedxml"), (PdfReader(), "pypdf")]
)
def test_missing_library_is_named(
    reader: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"simstore\[office\]"):
        read_stream(reader, b"x")
