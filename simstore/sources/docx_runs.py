"""Tell which runs of a Word document (.docx) a reader does not see: their colour, size, marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from simstore.sources.hidden_text import LEAST_POINTS, is_near

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # a type only  # nosec B405

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# What programs write that keep to the strict form of the standard (ISO 29500).
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_COLOUR = re.compile(r"[0-9A-Fa-f]{6}")
_WHITE = "FFFFFF"
_OFF = frozenset(("0", "false", "off", "none"))
_MOST_STYLES = 32
# What has a background of its own, by a style of its own.
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
