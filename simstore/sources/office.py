"""Office documents: the text of .docx files, and of Markdown; .pdf: :mod:`~.pdf`."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simstore.errors import MissingExtra
from simstore.model import Document, Rejection
from simstore.sources.isolated import IsolatedReader
from simstore.sources.plain import plain_document, read_whole
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.text.decoding import well_formed

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # a type only  # nosec B405

# XML of a text is longer than the text, by its markup.
_MARKUP = 16
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# What programs write that keep to the strict form of the standard (ISO 29500).
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_PARTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:.*\r?\n)*?\1[ \t]*(?:\r?\n|$)")


class MarkdownReader:
    """Reads Markdown: as plain text, without the front matter that some programs put before it.

    The markup stays: without it, texts that differ in markup only would be the same.
    """

    name = "markdown"
    suffixes = (".md", ".markdown")
    needs_file = False
    record_ends = ()

    def recognises(self, _head: bytes) -> bool:
        """Return False: any text may be Markdown."""
        return False

    def read(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document."""
        if request.position:
            return
        data = read_whole(stream, request)
        if isinstance(data, Rejection):
            yield data
            return
        found = plain_document(data, request)
        matter = _FRONT_MATTER.match(found.text)
        yield replace(found, text=found.text[matter.end() :]) if matter else found


class OfficeReader(IsolatedReader):
    """A base of readers of files that are one document each."""

    extra = "office"

    def read(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document, or why it is none.

        Raises:
            MissingExtra: A package is not installed.
        """
        if not request.position:
            yield from super().read(stream, request)

    def broken_off(
        self,
        stream: io.BufferedReader,
        request: ReadRequest,
        place: tuple[int, int],  # noqa: ARG002 - it is the start
        reason: str,
    ) -> Rejection:
        """Return the rejection of the file."""
        return refused(request, stream.seek(0, io.SEEK_END), reason)


class DocxReader(OfficeReader):
    """Reads .docx files: a document whose key is the file's name.

    Its text is that of all paragraphs, those in tables and text boxes too, then that of the notes;
    what was deleted with changes tracked is not in it, nor are headers and footers.
    """

    name = "docx"
    suffixes = (".docx",)
    package, feature = "defusedxml", "reading .docx files"

    def recognises(self, head: bytes) -> bool:
        """Return whether the bytes begin as a package of a word processor does."""
        first = head[:200]
        is_package = b"[Content_Types].xml" in first or b"_rels/.rels" in first
        return head.startswith(b"PK\x03\x04") and is_package and b"word/document.xml" in head

    def read_here(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document.

        Raises:
            MissingExtra: defusedxml is not installed.
        """
        try:
            from defusedxml.ElementTree import fromstring
        except ImportError:
            raise MissingExtra(self.feature, self.extra) from None
        size = stream.seek(0, io.SEEK_END)
        try:
            with zipfile.ZipFile(stream) as package:
                names = set(package.namelist())
                roots = [
                    fromstring(_part(package, name, request), forbid_dtd=True)
                    for name in _PARTS
                    if name in names
                ]
                title = None
                if "docProps/core.xml" in names:
                    core = fromstring(_part(package, "docProps/core.xml", request), forbid_dtd=True)
                    title = core.findtext(_TITLE)
        except (
            zipfile.BadZipFile, ValueError, SyntaxError, RuntimeError, OSError, EOFError,
            NotImplementedError, zlib.error,
        ) as error:  # fmt: skip
            yield refused(request, size, f"no .docx file: {_one_line(error)}")
            return
        if not roots:
            yield refused(request, size, "no .docx file: it has no word/document.xml")
            return
        text = "\n".join(line for root in roots for line in _paragraphs(root))
        yield document_of(request, size, text, title)


def _part(package: zipfile.ZipFile, name: str, request: ReadRequest) -> bytes:
    """Return a part of a package.

    Raises:
        ValueError: It has many more bytes than a text within the limit.
    """
    limit = request.options.max_document_bytes
    with package.open(name) as file:
        if limit is None:
            return file.read()
        data = file.read(limit * _MARKUP + 1)
    if len(data) > limit * _MARKUP:
        raise ValueError(f"{name} has more than {limit * _MARKUP:,} bytes")
    return data


def _paragraphs(root: Element) -> Iterator[str]:
    """Yield the text of each paragraph; that of a box in a paragraph comes before the rest of it.

    Without recursion: a file may nest its elements as deep as it likes.
    """
    lines: list[list[str]] = [[]]
    waiting: list[Element | None] = [root]
    while waiting:
        element = waiting.pop()
        if element is None:
            yield "".join(lines.pop())
            continue
        tag = str(element.tag).replace(_STRICT, _WORD)
        if tag == _FALLBACK:
            # What programs show that do not know what stands beside it.
            continue
        if tag == f"{_WORD}p":
            lines.append([])
            waiting.append(None)
        elif tag == f"{_WORD}t":
            lines[-1].append(element.text or "")
        elif tag == f"{_WORD}tab":
            lines[-1].append("\t")
        elif tag in (f"{_WORD}br", f"{_WORD}cr"):
            lines[-1].append("\n")
        waiting.extend(reversed(element))


def document_of(request: ReadRequest, size: int, text: str, title: Any) -> Record:
    """Return the document of a file of so many bytes; or why its text is not taken."""
    text = well_formed(text)
    limit = request.options.max_document_bytes
    if limit is not None and len(text.encode()) > limit:
        return refused(request, size, f"the text has more bytes than the limit of {limit:,}")
    line = " ".join(well_formed(str(title or "")).replace("\x00", "\ufffd").split())
    return Document(request.name, text, line or None, position=0, byte_offset=0, end_offset=size)


def refused(request: ReadRequest, size: int, reason: str) -> Rejection:
    """Return why the document of a file of so many bytes is not taken."""
    return Rejection(request.name, 0, 0, size, reason, request.head[:HEAD_BYTES])


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
