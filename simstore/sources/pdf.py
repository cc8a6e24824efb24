"""Read the text layer of PDF files."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

from simstore.errors import MissingExtra
from simstore.sources.isolated import MOST_SECONDS
from simstore.sources.office import OfficeReader, about_document, document_of, refused
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
            text = _pages_text(document, request.options.max_document_bytes)
            title, about = _about(document.metadata)
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


def _pages_text(document: Any, limit: int | None) -> str:
    """Return the text of all pages, or of so many that the limit is passed."""
    texts: list[str] = []
    length = 0
    for page in document.pages:
        texts.append(page.extract_text().strip())
        length += len(texts[-1])
        if limit is not None and length > limit:
            break
    return "\n".join(texts)
