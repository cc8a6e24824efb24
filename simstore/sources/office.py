"""Read office documents: the text of .docx files (PDF has a module of its own).

Paragraphs have a blank line between them. What a paragraph's style says of it is kept as plain
texts say it: a paragraph in the style *Quote* stands in quotation marks. A note follows the
paragraph that refers to it.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simstore.errors import MissingExtra
from simstore.model import Document, Rejection
from simstore.sources.hidden_text import MARK, HiddenText, visible
from simstore.sources.isolated import IsolatedReader
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import ZIP_DAMAGE
from simstore.text.decoding import well_formed
from simstore.text.quotations import in_marks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # a type only  # nosec B405
import re
from typing import TYPE_CHECKING

from simstore.sources.hidden_text import LEAST_POINTS, is_near

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # a type only  # nosec B405

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# The namespace of the strict form of the standard (ISO 29500).
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_COLOUR = re.compile(r"[0-9A-Fa-f]{6}")
_WHITE = "FFFFFF"
_OFF = frozenset(("0", "false", "off", "none"))
_MOST_STYLES = 32
# Elements that may have a background of their own, by their style.
_BOXES = frozenset(("tbl", "txbxContent"))


def tag_of(element: Element) -> str:
    """Return the name of an element of a text; empty for others."""
    tag = str(element.tag)
    for space in (_WORD, _STRICT):
        if tag.startswith(space):
            return tag[len(space) :]
    return ""


def value_of(element: Element, name: str) -> str:
    """Return an attribute of an element of a text; empty: it has none."""
    return element.get(_WORD + name) or element.get(_STRICT + name) or ""


def shading_of(properties: Element) -> str:
    """Return the colour behind a paragraph or a run, by its properties; empty: none is told."""
    for element in properties:
        fill = value_of(element, "fill") if tag_of(element) == "shd" else ""
        if _COLOUR.fullmatch(fill):
            return fill
        if tag_of(element) == "highlight" and value_of(element, "val") not in ("", "none"):
            return "highlight"
    return ""


class RunVisibility:
    """Tells why a run of a document is not seen.

    Args:
        document: The document.
        styles: Its styles; None: it has none.
    """

    def __init__(self, document: Element, styles: Element | None) -> None:
        self._document = document
        self._background = next(
            (value_of(one, "color") for one in document if tag_of(one) == "background"), _WHITE
        )
        self._styles: dict[str, Element] = {}
        for style in () if styles is None else styles:
            if tag_of(style) == "style":
                self._styles[value_of(style, "styleId")] = style
        self._boxed: set[int] | None = None

    def reason(self, run: Element, paragraph_style: str, shading: str) -> str:
        """Return why a run is not seen: ``hidden``, ``size`` or ``colour``; empty: it is seen.

        Args:
            run: The run.
            paragraph_style: Identifier of its paragraph's style.
            shading: The colour behind its paragraph; empty: the page's.
        """
        said = self._said(run, paragraph_style)
        if said.get("vanish", "0") not in _OFF:
            return "hidden"
        size = said.get("sz", "")
        if size.isdigit() and int(size) < 2 * LEAST_POINTS:
            return "size"
        colour = said.get("color", "")
        if not _COLOUR.fullmatch(colour):
            return ""
        behind = said.get("shading") or shading or self._background
        if not _COLOUR.fullmatch(behind) or not is_near(_parts(colour), _parts(behind)):
            return ""
        return "" if id(run) in self._in_boxes() else "colour"

    def _said(self, run: Element, paragraph_style: str) -> dict[str, str]:
        """Return what is said of a run, by itself before its styles."""
        said: dict[str, str] = {}
        own = next((one for one in run if tag_of(one) == "rPr"), None)
        style = ""
        for element in () if own is None else own:
            if tag_of(element) == "rStyle":
                style = value_of(element, "val")
        for properties in (own, *self._of_style(style), *self._of_style(paragraph_style)):
            if properties is None:
                continue
            if shading := shading_of(properties):
                said.setdefault("shading", shading)
            for element in properties:
                tag = tag_of(element)
                if tag in ("color", "sz"):
                    said.setdefault(tag, value_of(element, "val"))
                elif tag == "vanish":
                    said.setdefault(tag, value_of(element, "val") or "1")
        return said

    def _of_style(self, name: str) -> Iterator[Element]:
        """Yield the properties that a style gives, its own before those it is based on."""
        for _ in range(_MOST_STYLES):
            style = self._styles.get(name)
            if style is None:
                return
            name = ""
            for element in style:
                if tag_of(element) in ("rPr", "pPr"):
                    yield element
                elif tag_of(element) == "basedOn":
                    name = value_of(element, "val")

    def _in_boxes(self) -> set[int]:
        """Return the identities of all runs in tables and text boxes."""
        if self._boxed is None:
            self._boxed = set()
            waiting = [(self._document, False)]
            while waiting:
                element, is_boxed = waiting.pop()
                tag = tag_of(element)
                if tag == "r" and is_boxed:
                    self._boxed.add(id(element))
                waiting += [(one, is_boxed or tag in _BOXES) for one in element]
        return self._boxed


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[:2], 16), int(colour[2:4], 16), int(colour[4:], 16)


_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"

DOCUMENT, STYLES = "word/document.xml", "word/styles.xml"
_NOTES = {"footnote": "word/footnotes.xml", "endnote": "word/endnotes.xml"}
PARTS = (DOCUMENT, *_NOTES.values(), STYLES)

_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
# Names of styles, in lower case without blanks. Word names its own in English in every language,
# whatever it calls them on the screen and in their identifiers; others translate the names too.
_QUOTE_STYLES = frozenset(
    (
        "quote", "intensequote", "quotation", "quotations", "blocktext", "blockquote",
        "blockquotation", "zitat", "intensiveszitat", "cita", "citadestacada", "citazione",
        "citazioneintensa", "citação", "citaçãointensa", "引用", "明显引用", "鮮明引文", "引文",
        "引用文", "引用文2",
    )
)  # fmt: skip

# Names of styles, for files that have no names for them.
_QUOTE_IDENTIFIERS = frozenset(("Quote", "IntenseQuote", "BlockText", "Quotations"))
# A kind of note and its number there.
_Note = tuple[str, str]
# XML of a text is longer than the text, by its markup; that of styles has nothing to do with it.
_MARKUP, _LEAST_ROOM = 16, 1 << 20
_ENCRYPTED = 1
_CORE = "docProps/core.xml"
_LONGEST_LINE = 2_000
# Placeholders that programs write for an unknown author.
_NOBODY = frozenset(("", "anonymous", "(anonymous)", "unknown", "(unspecified)", "python-docx"))
_TITLE, _CREATOR = (f"{{http://purl.org/dc/elements/1.1/}}{name}" for name in ("title", "creator"))
_CREATED = "{http://purl.org/dc/terms/}created"


@dataclass(slots=True)
class _Paragraph:
    """A paragraph that is being read.

    Attributes:
        pieces: What it says so far.
        style: Identifier of its style; empty: the plain one.
        notes: Which notes it refers to.
        shading: The colour behind it, six hexadecimal digits; empty: the page's.
        hidden: Why stretches of it are not seen, and what they say.
    """

    pieces: list[str] = field(default_factory=list)
    style: str = ""
    notes: list[_Note] = field(default_factory=list)
    shading: str = ""
    hidden: list[tuple[str, str]] = field(default_factory=list)


def docx_text(parts: Mapping[str, Element], hidden: HiddenText | None = None) -> str:
    """Return the text of a .docx file that a reader sees.

    Args:
        parts: The roots of its parts, by name; those of :data:`PARTS` that it has.
        hidden: Takes the text that no reader sees.
    """
    runs = RunVisibility(parts[DOCUMENT], parts.get(STYLES))
    hidden = HiddenText() if hidden is None else hidden
    quoting = _quoting_styles(parts.get(STYLES))
    notes = {
        (kind, value_of(note, "id")): note
        for kind, name in _NOTES.items()
        if name in parts
        for note in parts[name]
        if tag_of(note) == kind
    }
    deleted: set[_Note] = set()
    told: list[str] = []

    def tell(paragraph: _Paragraph) -> None:
        for reason, text in paragraph.hidden:
            hidden.add(f"paragraph {len(told) + 1:,}", reason, text)
        told.extend(_lines(paragraph, quoting))

    for paragraph in _paragraphs(parts[DOCUMENT], deleted, runs):
        tell(paragraph)
        for name in paragraph.notes:
            if name in notes:
                for of_note in _paragraphs(notes.pop(name), set(), runs):
                    tell(of_note)
    # Notes that nothing refers to: no program shows them, but somebody wrote them.
    for name, note in notes.items():
        if name not in deleted:
            for of_note in _paragraphs(note, set(), runs):
                tell(of_note)
    return "\n\n".join(told)


def _lines(paragraph: _Paragraph, quoting: frozenset[str]) -> Iterator[str]:
    """Yield what a paragraph says, if it says anything."""
    text = visible("".join(paragraph.pieces))
    if text.strip():
        yield in_marks(text) if paragraph.style in quoting else text


def _paragraphs(root: Element, deleted: set[_Note], runs: RunVisibility) -> Iterator[_Paragraph]:
    """Yield the paragraphs; that of a box in a paragraph comes before the rest of it.

    Without recursion: a file may nest its elements as deep as it likes.

    Args:
        root: What they are in.
        deleted: Takes the notes whose references were deleted with changes tracked.
        runs: Says what a reader sees.
    """
    open_ones = [_Paragraph()]
    waiting: list[Element | None] = [root]
    while waiting:
        element = waiting.pop()
        if element is None:
            yield open_ones.pop()
            continue
        if element.tag == _FALLBACK:
            # A fallback for programs that do not know the alternative next to it.
            continue
        tag, here = tag_of(element), open_ones[-1]
        if tag in ("del", "moveFrom"):
            deleted.update(filter(None, map(_referred, element.iter())))
            continue
        if tag == "p":
            open_ones.append(_Paragraph())
            waiting.append(None)
        elif tag == "pStyle":
            here.style = value_of(element, "val")
        elif tag == "pPr":
            here.shading = shading_of(element)
        elif tag == "r" and (reason := runs.reason(element, here.style, here.shading)):
            here.hidden.append(
                (reason, "".join(one.text or "" for one in element.iter() if tag_of(one) == "t"))
            )
            here.pieces.append(MARK)
            continue
        elif tag == "t":
            here.pieces.append(element.text or "")
        elif tag in _SIGNS:
            here.pieces.append(_SIGNS[tag])
        elif note := _referred(element):
            here.notes.append(note)
        waiting.extend(reversed(element))
    yield from reversed(open_ones)


def _referred(element: Element) -> _Note | None:
    """Return the note that an element refers to; None where it is no reference."""
    kind, _, rest = tag_of(element).partition("Reference")
    return (kind, value_of(element, "id")) if kind in _NOTES and not rest else None


def _quoting_styles(root: Element | None) -> frozenset[str]:
    """Return the identifiers of the paragraph styles for quotations, and of those made of them."""
    names: dict[str, str] = {}
    parents: dict[str, str] = {}
    for style in () if root is None else root:
        if tag_of(style) != "style" or value_of(style, "type") not in ("paragraph", ""):
            continue
        own = value_of(style, "styleId")
        for element in style:
            if tag_of(element) == "name":
                names[own] = value_of(element, "val")
            elif tag_of(element) == "basedOn":
                parents[own] = value_of(element, "val")
    found: set[str] = set(_QUOTE_IDENTIFIERS - names.keys())
    found |= {own for own, name in names.items() if _plain(name) in _QUOTE_STYLES}
    while more := {own for own, parent in parents.items() if parent in found} - found:
        found |= more
    return frozenset(found)


def _plain(name: str) -> str:
    return "".join(name.casefold().split())


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
        try:
            package = zipfile.ZipFile(stream)
        except ZIP_DAMAGE:
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
                except (SyntaxError, *ZIP_DAMAGE):
                    yield refused(request, size, f"it is a damaged Word document: {name} is broken")
                    return
        core = roots.pop(_CORE, None)
        title, author, created = (
            None if core is None else core.findtext(name) for name in (_TITLE, _CREATOR, _CREATED)
        )
        hidden = HiddenText()
        text = docx_text(roots, hidden)
        about = about_document(author, (created or "")[:10]) | hidden.metadata()
        yield document_of(request, size, text, title, about)


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


def about_document(author: Any, date: Any) -> dict[str, Any]:
    """Return author and date of a file as metadata, as far as it tells them."""
    told = {"author": _line(author), "date": _line(date)}
    return {name: said for name, said in told.items() if said.casefold() not in _NOBODY}


def _line(said: Any) -> str:
    """Return what a file says of itself as a line."""
    return " ".join(well_formed(str(said or "")).replace("\x00", "\ufffd").split())[:_LONGEST_LINE]


def document_of(
    request: ReadRequest, size: int, text: str, title: Any, metadata: Mapping[str, Any]
) -> Record:
    """Return the document of a file of so many bytes; or why its text is not taken."""
    text = well_formed(text)
    limit = request.options.max_document_bytes
    if limit is not None and len(text.encode()) > limit:
        return refused(request, size, f"the text has more bytes than the limit of {limit:,}")
    return Document(
        request.name,
        text,
        title=_line(title) or None,
        metadata=metadata,
        position=0,
        byte_offset=0,
        end_offset=size,
    )


def refused(request: ReadRequest, size: int, reason: str) -> Rejection:
    """Return why the document of a file of so many bytes is not taken."""
    return Rejection(request.name, 0, 0, size, reason, request.head[:HEAD_BYTES])
