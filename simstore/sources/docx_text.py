"""The text of a .docx file: paragraphs with a blank line between them, quotations in marks, notes.

What a paragraph's style says of it is kept as plain texts say it: a paragraph in the style *Quote*
stands in quotation marks. A note follows the paragraph that refers to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simstore.text.quotations import in_marks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # a type only  # nosec B405

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# What programs write that keep to the strict form of the standard (ISO 29500).
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
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

# Of files that do not say what their styles are called.
_QUOTE_IDENTIFIERS = frozenset(("Quote", "IntenseQuote", "BlockText", "Quotations"))
# A kind of note and its number there.
_Note = tuple[str, str]


@dataclass(slots=True)
class _Paragraph:
    """A paragraph that is being read.

    Attributes:
        pieces: What it says so far.
        style: Identifier of its style; empty: the plain one.
        notes: Which notes it refers to.
    """

    pieces: list[str] = field(default_factory=list)
    style: str = ""
    notes: list[_Note] = field(default_factory=list)


def docx_text(parts: Mapping[str, Element]) -> str:
    """Return the text of a .docx file.

    Args:
        parts: The roots of its parts, by name; those of :data:`PARTS` that it has.
    """
    quoting = _quoting_styles(parts.get(STYLES))
    notes = {
        (kind, _value(note, "id")): note
        for kind, name in _NOTES.items()
        if name in parts
        for note in parts[name]
        if _tag(note) == kind
    }
    deleted: set[_Note] = set()
    told: list[str] = []
    for paragraph in _paragraphs(parts[DOCUMENT], deleted):
        told += _lines(paragraph, quoting)
        for name in paragraph.notes:
            if name in notes:
                told += _note_lines(notes.pop(name), quoting)
    # Notes that nothing refers to: no program shows them, but somebody wrote them.
    for name, note in notes.items():
        if name not in deleted:
            told += _note_lines(note, quoting)
    return "\n\n".join(told)


def _note_lines(note: Element, quoting: frozenset[str]) -> Iterator[str]:
    for paragraph in _paragraphs(note, set()):
        yield from _lines(paragraph, quoting)


def _lines(paragraph: _Paragraph, quoting: frozenset[str]) -> Iterator[str]:
    """Yield what a paragraph says, if it says anything."""
    text = "".join(paragraph.pieces)
    if text.strip():
        yield in_marks(text) if paragraph.style in quoting else text


def _paragraphs(root: Element, deleted: set[_Note]) -> Iterator[_Paragraph]:
    """Yield the paragraphs; that of a box in a paragraph comes before the rest of it.

    Without recursion: a file may nest its elements as deep as it likes.

    Args:
        root: What they are in.
        deleted: Takes the notes whose references were deleted with changes tracked.
    """
    open_ones = [_Paragraph()]
    waiting: list[Element | None] = [root]
    while waiting:
        element = waiting.pop()
        if element is None:
            yield open_ones.pop()
            continue
        if element.tag == _FALLBACK:
            # What programs show that do not know what stands beside it.
            continue
        tag, here = _tag(element), open_ones[-1]
        if tag in ("del", "moveFrom"):
            deleted.update(filter(None, map(_referred, element.iter())))
            continue
        if tag == "p":
            open_ones.append(_Paragraph())
            waiting.append(None)
        elif tag == "pStyle":
            here.style = _value(element, "val")
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
    kind, _, rest = _tag(element).partition("Reference")
    return (kind, _value(element, "id")) if kind in _NOTES and not rest else None


def _quoting_styles(root: Element | None) -> frozenset[str]:
    """Return the identifiers of the paragraph styles for quotations, and of those made of them."""
    names: dict[str, str] = {}
    parents: dict[str, str] = {}
    for style in () if root is None else root:
        if _tag(style) != "style" or _value(style, "type") not in ("paragraph", ""):
            continue
        own = _value(style, "styleId")
        for element in style:
            if _tag(element) == "name":
                names[own] = _value(element, "val")
            elif _tag(element) == "basedOn":
                parents[own] = _value(element, "val")
    found: set[str] = set(_QUOTE_IDENTIFIERS - names.keys())
    found |= {own for own, name in names.items() if _plain(name) in _QUOTE_STYLES}
    while more := {own for own, parent in parents.items() if parent in found} - found:
        found |= more
    return frozenset(found)


def _plain(name: str) -> str:
    return "".join(name.casefold().split())


def _tag(element: Element) -> str:
    """Return the name of an element of a text; empty for others."""
    tag = str(element.tag)
    for space in (_WORD, _STRICT):
        if tag.startswith(space):
            return tag[len(space) :]
    return ""


def _value(element: Element, name: str) -> str:
    return element.get(_WORD + name) or element.get(_STRICT + name) or ""
