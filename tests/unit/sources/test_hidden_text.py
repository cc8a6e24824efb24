"""Text that files hide from a reader is left out, and told with its place."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor
from reportlab.pdfgen.canvas import Canvas

from simstore import Files, Store
from simstore.model import CheckedPaper, Document
from simstore.reports.check_html import html_report
from simstore.reports.check_lines import total_facts
from simstore.sources.registry import reader_named

from .reading import read_stream

TEXT = "The ferry leaves the harbour at nine and returns before the evening tide comes in."


def document(reader: str, data: bytes) -> Document:
    (found,) = read_stream(reader_named(reader), data)
    assert isinstance(found, Document), found
    return found


def places(found: Document) -> list[str]:
    return [place for warning in found.hidden for place in warning.places]


def made_docx(write: Callable[[docx.document.Document], None]) -> bytes:
    made = docx.Document()
    write(made)
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def made_pdf(write: Callable[[Canvas], None]) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=1)
    write(canvas)
    canvas.save()
    return stream.getvalue()


def white(run: docx.text.run.Run) -> None:
    run.font.color.rgb = RGBColor(255, 255, 255)


def shaded(run: docx.text.run.Run, fill: str) -> None:
    shade = OxmlElement("w:shd")
    shade.set(qn("w:fill"), fill)
    run._r.get_or_add_rPr().append(shade)


def white_between_words(made: docx.document.Document) -> None:
    paragraph = made.add_paragraph()
    for word in TEXT.split():
        paragraph.add_run(word)
        white(paragraph.add_run("x"))


def test_small_vanished_and_styled_text_of_a_docx_is_told_with_its_paragraph() -> None:
    def write(made: docx.document.Document) -> None:
        made.add_paragraph("First.")
        made.add_paragraph("Second ").add_run("small").font.size = Pt(1)
        made.add_paragraph("Third ").add_run("gone").font.hidden = True
        style = made.styles.add_style("Ghost", docx.enum.style.WD_STYLE_TYPE.CHARACTER)
        style.font.color.rgb = RGBColor(254, 255, 255)
        made.add_paragraph("Fourth").add_run("ghost", style="Ghost")

    found = document("docx", made_docx(write))
    assert found.text.split() == ["First.", "Second", "Third", "Fourth"]
    assert places(found) == [
        "paragraph 2: 5 characters smaller than 2 points",
        "paragraph 3: 4 characters marked as hidden",
        "paragraph 4: 5 characters in the background's colour",
    ]


def test_white_text_on_a_dark_ground_of_a_docx_is_seen() -> None:
    def write(made: docx.document.Document) -> None:
        run = made.add_paragraph().add_run("on black")
        white(run)
        shaded(run, "000000")
        cell = made.add_table(1, 1).cell(0, 0)
        white(cell.paragraphs[0].add_run("in a table"))
        made.add_paragraph().add_run("small print").font.size = Pt(6)

    found = document("docx", made_docx(write))
    assert found.text.split("\n\n") == ["on black", "in a table", "small print"]
    assert found.hidden == ()


def test_white_and_tiny_text_of_a_pdf_is_left_out_and_told_with_its_page() -> None:
    def write(canvas: Canvas) -> None:
        canvas.drawString(72, 720, "On the first page.")
        canvas.showPage()
        canvas.drawString(72, 720, "On the second page.")
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(72, 700, "white")
        canvas.setFillColorRGB(0, 0, 0)
        canvas.setFont("Helvetica", 1)
        canvas.drawString(72, 680, "tiny")

    found = document("pdf", made_pdf(write))
    assert "white" not in found.text
    assert "tiny" not in found.text
    assert "On the second page." in found.text
    assert sorted(places(found)) == [
        "page 2: 4 characters smaller than 2 points",
        "page 2: 5 characters in the background's colour",
    ]


def test_white_letters_between_the_words_of_a_pdf_are_blanks() -> None:
    def write(canvas: Canvas) -> None:
        line = canvas.beginText(72, 720)
        for word in TEXT.split():
            line.setFillColorRGB(0, 0, 0)
            line.textOut(word)
            line.setFillColorRGB(1, 1, 1)
            line.textOut("x")
        canvas.drawText(line)

    found = document("pdf", made_pdf(write))
    assert found.text.split() == TEXT.split()
    assert places(found) == ["page 1: 15 characters in the background's colour"]


def test_white_text_on_a_dark_ground_of_a_pdf_is_seen() -> None:
    def write(canvas: Canvas) -> None:
        canvas.setFillColorRGB(0, 0, 0.4)
        canvas.rect(60, 700, 300, 40, fill=1)
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(72, 710, "a white heading")
        canvas.setFillGray(0)
        canvas.scale(12, 12)
        canvas.setFont("Helvetica", 1)
        canvas.drawString(6, 50, "scaled text")

    found = document("pdf", made_pdf(write))
    assert found.text.split() == ["a", "white", "heading", "scaled", "text"]
    assert found.hidden == ()


def test_a_copy_hidden_behind_white_letters_is_found_and_warned_of(tmp_path: Path) -> None:
    pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
    (tmp_path / "paper.docx").write_bytes(made_docx(white_between_words))
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("ferry", TEXT)
        (paper,) = store.check_many(Files(str(tmp_path / "paper.docx")))
    assert isinstance(paper, CheckedPaper)
    assert paper.totals.share == 1.0
    assert paper.flags == ("hidden text",)
    said = "paragraph 1: 15 characters in the background's colour"
    assert paper.warnings[0].places == (said,)
    assert said in dict(total_facts(paper))["warning"]
    assert said.replace("'", "&#39;") in html_report([paper], generated_at=0)
