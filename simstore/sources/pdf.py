"""Read the text layer of PDF files."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

from simstore.errors import MissingExtra
from simstore.sources.hidden_text import MARK, HiddenText, visible
from simstore.sources.isolated import MOST_SECONDS
from simstore.sources.office import OfficeReader, about_document, document_of, refused
from simstore.sources.pdf_operators import SHOWS, hidden_operations
from simstore.sources.reader import ReadRequest
from simstore.sources.source import Record

# Readers of PDF look for it so far into a file.
_HEADER, _HEADER_WITHIN = b"%PDF-", 1024


class PdfReader(OfficeReader):
    """Reads the text layer of .pdf files: a document whose key is the file's name.

    A file without one, as scanners make it, is rejected. So is one that keeps the library busy for
    longer than a limit, or lets it take more memory than it may have.

    Args:
        most_seconds: Most processor time of a file.
    """

    package, feature = "pypdf", "reading .pdf files"

    def __init__(self, most_seconds: int = MOST_SECONDS) -> None:
        self.most_seconds = most_seconds

    def read_here(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document.

        Raises:
            MissingExtra: pypdf is not installed.
        """
        try:
            import pypdf
        except ImportError:
            raise MissingExtra(self.feature, self.extra) from None
        # It tells of each irregularity that it gets over.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        if _HEADER not in request.head[:_HEADER_WITHIN]:
            yield refused(request, size, "it is not a PDF file")
            return
        try:
            document = pypdf.PdfReader(stream)
            if document.is_encrypted and not document.decrypt(""):
                yield refused(request, size, "it is encrypted, and asks for a password")
                return
            hidden = HiddenText()
            text = _pages_text(document, request.options.max_document_bytes, hidden)
            title, about = _about(document.metadata)
            about |= hidden.metadata()
        except MemoryError:
            raise
        except Exception as error:
            # Of a damaged file it raises whatever its code comes upon.
            line = " ".join(str(error).split())[:200] or type(error).__name__
            yield refused(request, size, f"the file is damaged: {line}")
            return
        if text.strip():
            yield document_of(request, size, text, title, about)
        else:
            yield refused(request, size, "no text layer: its pages are pictures")


read = PdfReader().read


def _about(told: Any) -> tuple[Any, dict[str, Any]]:
    """Return the title of a file, and its author and date as metadata."""
    if not told:
        return None, {}
    try:
        created = told.creation_date
    except ValueError:
        created = None
    return told.title, about_document(told.author, created.date().isoformat() if created else "")


def _pages_text(document: Any, limit: int | None, hidden: HiddenText) -> str:
    """Return the text of all pages, or of so many that the limit is passed.

    Args:
        document: The file.
        limit: Most characters that are needed.
        hidden: Takes the text that no reader sees.
    """
    texts: list[str] = []
    length = 0
    for number, page in enumerate(document.pages, 1):
        texts.append(_page_text(document, page, f"page {number:,}", hidden).strip())
        length += len(texts[-1])
        if limit is not None and length > limit:
            break
    return "\n".join(texts)


def _page_text(document: Any, page: Any, place: str, hidden: HiddenText) -> str:
    """Return the text of a page that a reader sees.

    Args:
        document: The file.
        page: The page.
        place: How the page is called.
        hidden: Takes the text that no reader sees.
    """
    from pypdf.generic import ContentStream, NameObject, TextStringObject

    held = page.get("/Contents")
    if held is None:
        return str(page.extract_text())
    content = ContentStream(held.get_object(), document, "bytes")
    operations = list(content.operations)
    unseen = hidden_operations(operations)
    # Parsed once for both.
    page[NameObject("/Contents")] = content
    if not unseen:
        return str(page.extract_text())
    for reason in sorted(set(unseen.values())):
        content.operations = [
            operation
            for number, operation in enumerate(operations)
            if operation[1] not in SHOWS or unseen.get(number) == reason
        ]
        hidden.add(place, reason, page.extract_text())
    mark = [TextStringObject(MARK)]
    content.operations = [
        (mark, b"Tj") if number in unseen else operation
        for number, operation in enumerate(operations)
    ]
    return visible(page.extract_text())
