"""Office documents: the text of .docx files; .pdf: :mod:`~.pdf`."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from simstore.errors import MissingExtra
from simstore.model import Document, Rejection
from simstore.sources.docx_text import DOCUMENT, PARTS, docx_text
from simstore.sources.isolated import IsolatedReader
from simstore.sources.reader import ReadRequest
from simstore.sources.registry import COMPOUND_FILE
from simstore.sources.source import HEAD_BYTES, Record
from simstore.text.decoding import well_formed

# XML of a text is longer than the text, by its markup; that of styles has nothing to do with it.
_MARKUP, _LEAST_ROOM = 16, 1 << 20
_ENCRYPTED = 1
_CORE = "docProps/core.xml"
_DAMAGE = (
    zipfile.BadZipFile, ValueError, SyntaxError, RuntimeError, OSError, EOFError, zlib.error,
)  # fmt: skip
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


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

    Its text is that of all paragraphs, those in tables and text boxes too, each followed by the
    notes that it refers to; what was deleted with changes tracked is not in it, nor are headers and
    footers.
    """

    package, feature = "defusedxml", "reading .docx files"

    def read_here(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document.

        Raises:
            MissingExtra: defusedxml is not installed.
        """
        try:
            from defusedxml.common import DefusedXmlException
            from defusedxml.ElementTree import fromstring
        except ImportError:
            raise MissingExtra(self.feature, self.extra) from None
        size = stream.seek(0, io.SEEK_END)
        if request.head.startswith(COMPOUND_FILE):
            yield refused(
                request, size, "it is an older Word document (.doc), or protected by a password: "
                "save it as .docx, without a password"
            )  # fmt: skip
            return
        try:
            package = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            yield refused(request, size, "it is not a Word document (.docx), or is damaged")
            return
        with package:
            names = set(package.namelist())
            if DOCUMENT not in names:
                yield refused(
                    request, size, f"it is not a Word document (.docx): it has no {DOCUMENT}"
                )
                return
            roots = {}
            for name in (*PARTS, _CORE):
                if name not in names:
                    continue
                try:
                    roots[name] = fromstring(_part(package, name, request), forbid_dtd=True)
                except _Unusable as error:
                    yield refused(request, size, str(error))
                    return
                except DefusedXmlException:
                    yield refused(
                        request, size, f"it is not a Word document: {name} declares a DTD"
                    )
                    return
                except _DAMAGE:
                    yield refused(request, size, f"it is a damaged Word document: {name} is broken")
                    return
        core = roots.pop(_CORE, None)
        title = None if core is None else core.findtext(_TITLE)
        yield document_of(request, size, docx_text(roots), title)


read = DocxReader().read


class _Unusable(ValueError):
    """A part of a package is whole, and cannot be used all the same."""


def _part(package: zipfile.ZipFile, name: str, request: ReadRequest) -> bytes:
    """Return a part of a package.

    Raises:
        _Unusable: It is encrypted, or has many more bytes than a text within the limit.
    """
    if package.getinfo(name).flag_bits & _ENCRYPTED:
        raise _Unusable("it is protected by a password")
    limit = request.options.max_document_bytes
    with package.open(name) as file:
        if limit is None:
            return file.read()
        most = max(limit * _MARKUP, _LEAST_ROOM)
        data = file.read(most + 1)
    if len(data) > most:
        raise _Unusable(f"{name} has more than {most:,} bytes")
    return data


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
