"""Leave out text that the markup of a web page hides from a reader, and note where it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from simstore.sources.hidden_text import MARK, HiddenText, is_near

Colour = tuple[float, float, float]
_SHEETS = re.compile(r"<style\b", re.IGNORECASE)
# What other files and scripts say of colours is not known.
_ELSEWHERE = re.compile(
    r"<link\b[^>]*\bstylesheet|@import\b|<script\b[^>]*\bsrc\s*=", re.IGNORECASE
)
_COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)
_IMPORTANT = re.compile(r"\s*!\s*important\s*", re.IGNORECASE)
# :hover, ::before, :not(.a), [type=text]: whether they hold is not asked.
_PSEUDO = re.compile(r"::?[\w-]+(?:\([^()]*\))?|\[[^\]]*\]")
# What is asked of the parser: names, classes and identifiers, a few within each other.
_SIMPLE = re.compile(r"[\w.#*-]+(?:\s*[\s>+~]\s*[\w.#*-]+){0,4}")
_ID, _CLASS = re.compile(r"#[\w-]+"), re.compile(r"\.[\w-]+")
_TAG = re.compile(r"(?:^|[\s>+~])[a-z][\w-]*", re.IGNORECASE)
_HEX = re.compile(r"#(?:([0-9a-f]{3})|([0-9a-f]{6}))")
_RGB = re.compile(r"rgba?\((\d{1,3}),(\d{1,3}),(\d{1,3})(?:,1(?:\.0*)?)?\)")
_NAMED: dict[str, Colour] = {"white": (255.0,) * 3, "black": (0.0,) * 3}
_SIZE = re.compile(r"(?:0|[01](?:\.\d*)?(?:px|pt)|0?\.0\d*(?:r?em|%)?)")
# They say nothing of a background.
_NOTHING = frozenset(("none", "transparent", "initial", "unset"))
# Letters with one of them may be seen in any colour, or stand where another background is.
_OTHERS = frozenset(
    (
        "text-shadow",
        "-webkit-text-stroke",
        "background-clip",
        "position",
        "filter",
        "mix-blend-mode",
    )
)
_PROPERTIES = {
    "color": "color", "font-size": "size", "font": "size",
    "background": "ground", "background-color": "ground", "background-image": "ground",
    **dict.fromkeys(_OTHERS, "other"),
}  # fmt: skip
_MOST_RULES, _MOST_MATCHES, _MOST_ABOVE = 300, 20_000, 200
# Elements that are looked at within others, in all.
_MOST_WITHIN = 100_000
_LONGEST_SELECTOR = 200
_WHITE_COLOUR: Colour = (255.0, 255.0, 255.0)
_Strength = tuple[bool, bool, int, int, int, int]


class _Rule(NamedTuple):
    """A rule of a sheet.

    Attributes:
        selector: What it matches, without pseudo classes.
        declarations: Property, value and whether it is important.
        is_certain: It holds wherever the page is read; else only sometimes.
        strength: The numbers of ids, classes and tags of the selector.
    """

    selector: str
    declarations: tuple[tuple[str, str, bool], ...]
    is_certain: bool
    strength: tuple[int, int, int]


class PageStyles:
    """Colours and sizes that the style sheets within a page, and its elements, set.

    Where a rule holds only sometimes, what it says of is taken for seen; where one cannot be read,
    or there are very many, the whole page.

    Args:
        tree: The parsed page.

    Attributes:
        suspects: Elements whose own colour or size is known.
    """

    def __init__(self, tree: Any) -> None:
        self._said: dict[Any, dict[str, tuple[_Strength, str | None]]] = {}
        self._document = tree.document
        self._left = _MOST_WITHIN
        self.suspects: tuple[Any, ...] = ()
        found = self._document.query_selector_all("style")
        text = "\n".join(found.item(number).text for number in range(len(found)))
        for number, rule in enumerate(_rules(text)):
            if (
                number >= _MOST_RULES
                or len(self._said) > _MOST_MATCHES
                or len(rule.selector) > _LONGEST_SELECTOR
                or not _SIMPLE.fullmatch(rule.selector)
                or not self._apply(rule, number)
            ):
                return
        self.suspects = tuple(
            one for one in self._said if self._value(one, "color") or self._value(one, "size")
        )

    def reason(self, element: Any) -> Literal["", "colour", "size"]:
        """Return why the letters of an element are not seen, by the sheets; empty: they are."""
        if element not in self._said:
            return ""
        size = self._value(element, "size")
        if size and _SIZE.fullmatch(size) and not self._differs_within(element, ("size",)):
            return "size"
        colour = _colour(self._value(element, "color"))
        if colour is None or self._differs_within(element, ("color", "ground", "other")):
            return ""
        ground = self._ground(element)
        return "colour" if ground is not None and is_near(colour, ground) else ""

    def _apply(self, rule: _Rule, number: int) -> bool:
        """Note what a rule says of the elements that it matches; return whether it was read."""
        try:
            found = self._document.query_selector_all(rule.selector)
        except ValueError:
            return False
        for place in range(min(len(found), _MOST_MATCHES)):
            said = self._said.setdefault(found.item(place), {})
            for name, value, is_important in rule.declarations:
                strength = (not rule.is_certain, is_important, *rule.strength, number)
                if name not in said or said[name][0] <= strength:
                    said[name] = strength, value if rule.is_certain else None
        return True

    def _value(self, element: Any, name: str) -> str | None:
        """Return what is said of an element itself; empty: nothing; None: it is not known."""
        own = {one: value for one, value, _ in _declarations(element.getattr("style") or "")}
        if name in own:
            return own[name]
        return self._said.get(element, {}).get(name, (None, ""))[1]

    def _differs_within(self, element: Any, names: tuple[str, ...]) -> bool:
        """Return whether something is said of what stands within an element."""
        within = element.query_selector_all("*")
        self._left -= len(within)
        return self._left < 0 or any(
            self._value(within.item(number), name) != ""
            for number in range(len(within))
            for name in names
        )

    def _ground(self, element: Any) -> Colour | None:
        """Return the colour behind the letters of an element; None: it is not known."""
        above = element
        for _ in range(_MOST_ABOVE):
            if above is None or not hasattr(above, "getattr"):
                return _WHITE_COLOUR
            if self._value(above, "other") != "":
                return None
            if above.hasattr("bgcolor") or above.hasattr("background"):
                return None
            ground = self._value(above, "ground")
            if ground is None:
                return None
            if ground and ground not in _NOTHING:
                return _colour(ground)
            if above.tag == "html":
                return _WHITE_COLOUR
            above = above.parent
        return None


def page_styles(tree: Any, markup: str) -> PageStyles | None:
    """Return what the sheets within a page say; None: it has none, or others beside them.

    Args:
        tree: The parsed page.
        markup: The page.
    """
    if _SHEETS.search(markup) is None or _ELSEWHERE.search(markup) is not None:
        return None
    return PageStyles(tree)


def _rules(text: str) -> Iterator[_Rule]:
    """Yield the rules of a sheet, a selector each; of ``@media`` those that are for screens too."""
    text = _COMMENTS.sub("", text)
    depth_of_media: list[bool] = []
    place = 0
    while (opening := text.find("{", place)) >= 0:
        head = text[place:opening]
        closed = head.count("}")
        del depth_of_media[max(len(depth_of_media) - closed, 0) :]
        head = head.rpartition("}")[2]
        head = head.rpartition(";")[2].strip()
        if head.startswith("@") and head.lower().startswith(("@media", "@supports", "@layer")):
            depth_of_media.append("print" not in head.lower())
            place = opening + 1
            continue
        closing = text.find("}", opening)
        if closing < 0:
            return
        # Of other rules, as of fonts and of steps of a movement, nothing is asked.
        if not head.startswith("@") and all(depth_of_media):
            declarations = tuple(_declarations(text[opening + 1 : closing]))
            for selector in head.split(",") if declarations else ():
                plain = _PSEUDO.sub("", selector).strip()
                if plain:
                    is_certain = plain == selector.strip() and not depth_of_media
                    yield _Rule(plain, declarations, is_certain, _strength(plain))
        place = closing + 1


def _strength(selector: str) -> tuple[int, int, int]:
    """Return the specificity of a selector (CSS Selectors 3, section 9)."""
    ids, classes, tags = (len(one.findall(selector)) for one in (_ID, _CLASS, _TAG))
    return ids, classes, tags


def _declarations(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield what is said of colour, size and background: which, the value, whether important."""
    for part in text.split(";"):
        name, colon, value = part.partition(":")
        known = _PROPERTIES.get(name.strip().lower())
        if not colon or known is None:
            continue
        plain = _IMPORTANT.sub("", value)
        yield known, "".join(plain.lower().split()), plain != value


def _colour(value: str | None) -> Colour | None:
    """Return red, green and blue of a colour, 0 to 255; None: it is none that is known."""
    if value in _NAMED:
        return _NAMED[value]
    if found := _HEX.fullmatch(value or ""):
        digits = found[2] or "".join(digit * 2 for digit in found[1])
        return float(int(digits[:2], 16)), float(int(digits[2:4], 16)), float(int(digits[4:], 16))
    if found := _RGB.fullmatch(value or ""):
        return float(found[1]), float(found[2]), float(found[3])
    return None


# Whether a page may have any, without parsing it.
_MAY_HIDE = re.compile(
    r"style\s*=[^>]*?(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0"
    r"|font-size\s*:\s*[01.]|color\s*:\s*(?:white|#f|rgb))",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"(?:^|;)(?:display:none|visibility:hidden|opacity:0(?:\.0*)?(?:;|$))")
_SMALL = re.compile(r"(?:^|;)font-size:(?:0|[01](?:\.\d*)?(?:px|pt)|0?\.0\d*(?:r?em|%)?)(?:;|!|$)")
_WHITE = re.compile(
    r"(?:^|;)color:(?:white|#fff|#ffffff|#fefefe|rgb\(25[45],25[45],25[45]\))(?:;|!|$)"
)
_NAME = re.compile("[a-z][a-z0-9]*")
_BLOCKS = "p, li, td, th, dd, dt, blockquote, pre, h1, h2, h3, h4, h5, h6"
_BLOCK_TAGS = frozenset(_BLOCKS.split(", "))
# What stands within a line. Whole blocks that are not shown are menus and dialogues.
_INLINE = frozenset(
    ("a", "b", "big", "em", "font", "i", "ins", "mark", "s", "small", "span", "strong", "sub",
     "sup", "tt", "u")
)  # fmt: skip
_NO_TEXT = frozenset(("html", "head", "body", "title", "style", "script", "a", "button", "nav"))
# Of a block: one or two that are not shown are buttons and notes that a script shows.
_LEAST_HIDDEN = 3
_MOST_ELEMENTS = 20_000
_MOST_ANCESTORS = 200


def mark_hidden(tree: Any, markup: str, hidden: HiddenText) -> None:
    """Put a mark in the place of each stretch of a page that its style hides.

    Letters in the background's colour and tiny ones are hidden by style sheets within the page too,
    where it has no others; what scripts hide is not known. By an element's own style alone, text in
    the background's colour is told only where nothing around it may have a background of its own.

    Args:
        tree: The parsed page; it is changed.
        markup: The page.
        hidden: Takes the text that no reader sees.
    """
    sheets = page_styles(tree, markup)
    suspects = set() if sheets is None else set(sheets.suspects)
    if not suspects and _MAY_HIDE.search(markup) is None:
        return
    names = sorted({one.tag for one in suspects if _NAME.fullmatch(one.tag or "")})
    found = tree.document.query_selector_all(", ".join((_BLOCKS, "[style]", *names)))
    blocks, chosen = 0, []
    # All are chosen before the tree is changed.
    for number in range(min(len(found), _MOST_ELEMENTS)):
        element = found.item(number)
        blocks += element.tag in _BLOCK_TAGS
        reason = _reason(element)
        if not reason and sheets is not None and element in suspects and _is_shown(element):
            reason = sheets.reason(element)
        if reason and element.text.strip():
            chosen.append((element, reason, max(blocks, 1)))
    several = Counter(block for _, reason, block in chosen if reason == "hidden")
    for element, reason, block in chosen:
        if reason == "hidden" and several[block] < _LEAST_HIDDEN:
            continue
        # It may stand in another one that was replaced.
        if element.parent is None:
            continue
        hidden.add(f"paragraph {block:,}", reason, element.text)
        element.parent.replace_child(tree.create_text_node(MARK), element)


def _reason(element: Any) -> str:
    """Return why an element is not seen, by its own style; empty: it is."""
    style = (element.getattr("style") or "").lower()
    style = "".join(style.split())
    if not style:
        return ""
    if _SMALL.search(style):
        return "size" if _is_in_text(element) else ""
    if _HIDDEN.search(style):
        return "hidden" if element.tag in _INLINE and _is_in_text(element) else ""
    return "colour" if _WHITE.search(style) and _is_on_page(element) else ""


def _is_shown(element: Any) -> bool:
    """Return whether an element is text of the page: not the page, nor a part that is no text."""
    return element.tag not in _NO_TEXT


def _is_in_text(element: Any) -> bool:
    """Return whether it stands in a block of text that says more than it does."""
    above = element
    for _ in range(_MOST_ANCESTORS):
        if above is None or above.tag in _BLOCK_TAGS:
            break
        above = above.parent
    return above is not None and (above is element or len(above.text) > len(element.text))


def _is_on_page(element: Any) -> bool:
    """Return whether nothing around it can have another background than the page."""
    above = element
    for _ in range(_MOST_ANCESTORS):
        if above is None or above.tag == "html":
            return True
        style = (above.getattr("style") or "").lower()
        if "background" in style or any(
            above.hasattr(name) for name in ("class", "id", "bgcolor", "background")
        ):
            return False
        above = above.parent
    return False
