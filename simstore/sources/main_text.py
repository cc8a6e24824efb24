"""Extract the main text of a web page, without navigation and other boilerplate.

Nothing is asked of a page but that its text stands in blocks. Names of elements and classes only
help to leave out what stands around it, and only where little text would be lost.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resiliparse.parse.html import ElementNode, HTMLTree

# Elements whose text is none of the page's.
_NO_TEXT = frozenset(
    (
        "script", "style", "noscript", "template", "svg", "iframe", "button", "select", "option",
        "textarea", "input", "dialog", "figure", "figcaption", "object", "embed", "audio", "video",
        "canvas", "map", "head", "datalist", "progress", "meter", "menu",
    )
)  # fmt: skip
_BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
        "div", "dl", "dt", "fieldset", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
        "header", "hgroup", "hr", "html", "legend", "li", "main", "nav", "ol", "p", "pre", "search",
        "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    )
)  # fmt: skip
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_ELEMENTS_AROUND = {"nav": 0.8, "footer": 0.8, "aside": 0.4, "form": 0.4}
# Their classes tell of subjects and layouts as well.
_NEVER_AROUND = frozenset(("html", "body", "main", "article"))


def _words(*names: str) -> re.Pattern[str]:
    """Return a pattern of words that stand alone, or between hyphens, in names of classes."""
    return re.compile(rf"(?:^|[\s_-])(?:{'|'.join(names)})(?:$|[\s_-])", re.IGNORECASE)


# What stands around a text, by the names of its elements; the first of these holds much text at
# times: a long notice on cookies, comments of readers.
_SURELY_AROUND = _words(
    "comments?", "commentlist", r"disqus\S*", r"cookies?\S*", "consent", r"gdpr\S*", r"onetrust\S*",
    "footer", "sidebar", r"newsletter\w*", "modal", "popup", r"related\w*", r"recommend\w*",
    "outbrain", "taboola", "sharing", "share",
)  # fmt: skip
_AROUND = _words(
    "social", "addthis", r"subscri\w*", "signup", "sign-up", r"promo\w*", r"sponsor\w*",
    r"advert\w*", "ads?", "adv", "banner", "side-bar", r"widget\w*", "menu", "nav", "navbar",
    "navigation", "breadcrumbs?", "pagination", "pager", "overlay", "tags", "post-tag", "taglist",
    "tag-(?:list|links|cloud)", "byline", r"author\w*", "dateline", "timestamp", "datetime",
    "pubdate", "published", r"caption\w*", "credits?", "gallery", "slideshow", "carousel", "login",
    "toolbar", "teasers?", "trending", "popular", "most-read", "mostread", "read-more", "readmore",
    "more-from", "read-next", "bio", "disclaimer", "copyright", "rating", "views", "counter",
    "likes", "reactions?", "meta", "metadata", "postmeta", "infobox", "toc", r"donat\w*", "paywall",
    "hidden", "sr-only", r"screen-reader\S*", "print-only", "masthead", "topbar", "subnav",
    "skip-link", "jp-relatedposts", "sharedaddy", "wp-caption-text", "inline-links?", "see-also",
    "seealso", "also-read", "correction",
)  # fmt: skip
# Of what is written here: another version may cut pages differently, and its texts tell it.
EXTRACTOR = "blocks 1"
# Share of the page's text above which even such an element is kept.
_MOST_SURELY, _MOST_TEASERS, _MOST = 0.8, 0.7, 0.4
_MOST_NAMES = 400
_LETTERS_OF_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Short blocks that ask for something, in the midst of a text too.
_APPEAL = re.compile(
    r"subscribe (?:to|now|today|here|for)|newsletters?\b|sign up (?:here|now|today)"
    r"|sign up (?:for|to) (?:our|the|receive|get)|follow (?:us|me|him|her|them)? ?on"
    r"|click here to (?:subscribe|sign)|read more:|also read:?|^advert(?:isement)?$"
    r"|all rights reserved|©|(?:be reached|contact (?:him|her|us)) (?:at|on)|^related:"
    r"|this (?:web)?site uses cookies|your inbox|support (?:us|our (?:work|journalism))\b"
    r"|download (?:our|the) app\b|have a tip|privacy policy|terms of (?:use|service)"
    r"|join the conversation",
    re.IGNORECASE,
)
_LONGEST_APPEAL = 250
# A number with a word: of visits, comments, pictures.
_COUNT = re.compile(r"\W*(?:\w{1,12}\W{1,3})?\d[\d.,]{0,12}\W{0,3}(?:\w{1,12})?\W*$")
_CELLS = frozenset(("li", "td", "th", "dd", "dt", "pre"))
_SENTENCE_END = re.compile(r"[.!?。！？…।؟۔][\"'”’»)\]」』]*$")
# Characters that say about as much as three letters.
_WIDE = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff\uac00-\ud7a3]")
_PARAGRAPH, _SENTENCE, _LAST = 80, 40, 20
# A longer block that stands twice is of the layout, or made for screens of another width.
_REPEATED = 60
# Several titles, each with a few words, are a list of what else there is to read.
_TITLE, _LONGEST_TEASER, _FEWEST_TEASERS = 15, 400, 3
# The part of a page goes on being divided while one part of it has so much of its paragraphs.
_DOMINANT = 0.8
_MOSTLY_LINKS, _ALL_LINKS, _SHORT = 0.7, 0.9, 30
# A main text that is shorter, or a smaller part of what is no link on the page, is none.
_LEAST, _LEAST_SHARE = 200, 0.25


@dataclass(slots=True, eq=False)
class _Box:
    """An element that makes blocks.

    Attributes:
        most: Share of the page's text up to which it stands around the main text.
        mass: Letters of the paragraphs in it.
        paragraphs: How many there are.
        is_left_out: Whether it stands around the main text; None: in a list of teasers, which is
            all of it on the front page of a site.
        titles: Blocks in it that are links, long enough to be titles.
    """

    tag: str
    parent: _Box | None
    most: float = 0.0
    mass: int = 0
    paragraphs: int = 0
    titles: int = 0
    is_left_out: bool | None = False
    is_inside: bool = False
    inner: list[_Box] = field(default_factory=list)

    @property
    def is_teaser(self) -> bool:
        """Return whether it is a title with some words on what is elsewhere."""
        return self.titles > 0 and self.paragraphs <= 2 and self.mass < _LONGEST_TEASER

    @property
    def holds_teasers(self) -> bool:
        """Return whether it is a list of teasers."""
        if len(self.inner) < _FEWEST_TEASERS:
            return False
        told = [box for box in self.inner if box.mass or box.titles]
        teasers = sum(box.is_teaser for box in told)
        return teasers >= _FEWEST_TEASERS and teasers >= _MOST_SURELY * len(told)


@dataclass(slots=True, eq=False)
class _Block:
    """A text between two breaks.

    Attributes:
        linked: How many of its characters are in links.
        is_paragraph: Whether it reads like one.
    """

    text: str
    linked: int
    box: _Box
    is_paragraph: bool = False
    mass: int = 0

    @property
    def links(self) -> float:
        """Return the share of it that is links."""
        return self.linked / len(self.text)


def main_text(tree: HTMLTree) -> str | None:
    """Return the main text of a page, a block a line; None: it has none that stands out.

    Args:
        tree: The page.

    Example:
        >>> from resiliparse.parse.html import HTMLTree
        >>> paragraph = "The ferries run again from Monday, the harbour master said, and on time."
        >>> page = f"<div><a href=/>Home</a></div><div>{paragraph}</div><div>{paragraph * 3}</div>"
        >>> main_text(HTMLTree.parse(page)).startswith("The ferries run again from Monday")
        True
    """
    if tree.body is None:
        return None
    reader = _Reader()
    reader.read(tree.body)
    boxes, blocks = reader.boxes, reader.blocks
    _weigh(blocks)
    _add_up(boxes, blocks)
    _leave_out_around(boxes)
    teasers = sum(block.mass for block in blocks if block.box.is_left_out is None)
    kept = _without_repeated([block for block in blocks if block.box.is_left_out is False])
    _add_up(boxes, kept)
    of_page = boxes[0].mass + teasers
    part = boxes[0]
    while part.inner:
        largest = max(part.inner, key=lambda box: box.mass)
        if largest.mass < _DOMINANT * part.mass:
            break
        part = largest
    for box in boxes:
        box.is_inside = box is part or (box.parent is not None and box.parent.is_inside)
    inside = [block for block in kept if block.box.is_inside]
    chosen = [block for block in _from_first_to_last(inside) if _belongs(block)]
    length = sum(len(block.text) - block.linked for block in chosen)
    of_kept = sum(len(block.text) - block.linked for block in kept)
    stands_out = length >= _LEAST_SHARE * of_kept and part.mass >= _LEAST_SHARE * of_page
    text = "\n".join(block.text for block in chosen)
    return text if stands_out and _weight(text) >= _LEAST else None


class _Reader:
    """Takes the blocks of a page, in their order."""

    def __init__(self) -> None:
        self._box = _Box("", None)
        # Each behind the one that it stands in.
        self.boxes = [self._box]
        self.blocks: list[_Block] = []
        self._parts: list[str] = []
        self._linked = 0
        self._links = 0
        self._left_out = 0
        self._kept_as_is = 0

    def read(self, body: ElementNode) -> None:
        """Read all of a body."""
        from resiliparse.parse.html import NodeType, traverse_dom

        text, element = NodeType.TEXT, NodeType.ELEMENT

        def begin(context: Any) -> None:
            node = context.node
            kind = node.type
            if kind == text:
                if not self._left_out:
                    self._add(node.value)
            elif kind == element:
                # The library does not tell the end of an element without anything in it.
                self._begin(node, node.tag, is_empty=node.first_child is None)

        def end(context: Any) -> None:
            if context.node.type == element:
                self._end(context.node.tag)

        traverse_dom(body, begin, end)
        self._break()

    def _add(self, text: str) -> None:
        self._parts.append(text)
        if self._links:
            self._linked += len(" ".join(text.split()))

    def _begin(self, node: Any, tag: str, *, is_empty: bool) -> None:
        if is_empty:
            if not self._left_out:
                if tag == "br":
                    self._parts.append("\n")
                elif tag in _BLOCKS:
                    self._break()
        elif self._left_out or (tag in _NO_TEXT and not _is_listing(node, tag)):
            if not self._left_out and tag == "figure":
                self._break()
            self._left_out += 1
        elif tag == "a":
            self._links += 1
        elif tag in _BLOCKS:
            self._break()
            box = _Box(tag, self._box, _most_around(node, tag))
            self._box.inner.append(box)
            self.boxes.append(box)
            self._box = box
            self._kept_as_is += tag == "pre"

    def _end(self, tag: str) -> None:
        if self._left_out:
            self._left_out -= 1
        elif tag == "a":
            self._links -= 1
        elif tag in _BLOCKS:
            self._break()
            self._kept_as_is -= tag == "pre"
            self._box = self._box.parent or self.boxes[0]

    def _break(self) -> None:
        if self._parts:
            whole = "".join(self._parts)
            text = whole.strip("\n") if self._kept_as_is else " ".join(whole.split())
            if text.strip():
                self.blocks.append(_Block(text, min(self._linked, len(text)), self._box))
            self._parts.clear()
            self._linked = 0


def _is_listing(node: Any, tag: str) -> bool:
    """Return whether a figure shows code or a table, and no picture."""
    return tag == "figure" and node.query_selector("pre, table") is not None


def _most_around(node: Any, tag: str) -> float:
    """Return up to which share of the page's text an element stands around the main text."""
    style = node.getattr("style")
    if node.hasattr("hidden") or (style and "display:none" in style.replace(" ", "").lower()):
        return 1.0
    if tag in _NEVER_AROUND:
        return 0.0
    if tag in _ELEMENTS_AROUND:
        return _ELEMENTS_AROUND[tag]
    names = f"{node.class_name} {node.id}".strip()
    if not names:
        return 0.0
    names = _LETTERS_OF_CASE.sub("-", names[:_MOST_NAMES])
    return _MOST_SURELY if _SURELY_AROUND.search(names) else _MOST if _AROUND.search(names) else 0.0


def _weight(text: str) -> int:
    return len(text) + 2 * len(_WIDE.findall(text))


def _weigh(blocks: list[_Block]) -> None:
    """Find the paragraphs, and how much of them each box holds."""
    times = Counter(block.text for block in blocks if len(block.text) > _REPEATED)
    for block in blocks:
        tag = block.box.tag
        weight = int(_weight(block.text) * (1 - block.links))
        reads_so = weight >= _PARAGRAPH or (
            weight >= _SENTENCE and _SENTENCE_END.search(block.text[-_LAST:]) is not None
        )
        # Items of a list that stands twice are teasers.
        is_teaser = tag == "li" and times[block.text] > 1
        if reads_so and tag not in _HEADINGS and block.links < _MOSTLY_LINKS and not is_teaser:
            block.is_paragraph = True
            block.mass = int(weight * (1 - block.links)) if tag == "li" else weight
        elif is_teaser:
            block.box.is_left_out = True


def _add_up(boxes: list[_Box], blocks: list[_Block]) -> None:
    """Count for each box what stands in it."""
    for box in boxes:
        box.mass = box.paragraphs = box.titles = 0
    for block in blocks:
        box = block.box
        box.mass += block.mass
        box.paragraphs += block.is_paragraph
        box.titles += block.links > _ALL_LINKS and _weight(block.text) >= _TITLE
    for box in reversed(boxes):
        if box.parent is not None:
            box.parent.mass += box.mass
            box.parent.paragraphs += box.paragraphs
            box.parent.titles += box.titles


def _leave_out_around(boxes: list[_Box]) -> None:
    """Find the elements around the main text."""
    total = boxes[0].mass
    for box in boxes[1:]:
        # What is quoted from elsewhere is often in an element named after where it is from.
        outer = box.parent
        if outer is not None and outer.is_left_out is not False and box.tag != "blockquote":
            box.is_left_out = outer.is_left_out
        elif box.mass < box.most * total:
            box.is_left_out = True
        elif box.mass < _MOST_TEASERS * total and box.holds_teasers:
            box.is_left_out = None


def _without_repeated(blocks: list[_Block]) -> list[_Block]:
    """Return the blocks, each long one once."""
    seen: set[str] = set()
    kept = []
    for block in blocks:
        if len(block.text) <= _REPEATED or block.text not in seen:
            kept.append(block)
            seen.add(block.text)
    return kept


def _from_first_to_last(blocks: list[_Block]) -> list[_Block]:
    """Return the blocks from the first paragraph to the last, and what is in line with that one."""
    places = [place for place, block in enumerate(blocks) if block.is_paragraph]
    if not places:
        return []
    last = places[-1]
    box = blocks[last].box
    in_line = (box, box.parent)
    end = last + 1
    while end < len(blocks):
        block = blocks[end]
        outer = block.box.parent
        if block.box.tag == "li" and outer is not None and outer.parent is box.parent:
            outer = box.parent
        if outer not in in_line or block.links >= _MOSTLY_LINKS or block.box.tag in _HEADINGS:
            break
        end += 1
    return blocks[places[0] : end]


def _belongs(block: _Block) -> bool:
    """Return whether a block between paragraphs belongs to them: no links, count or appeal."""
    if not block.is_paragraph:
        links = block.links
        if links > _ALL_LINKS or (links > _MOSTLY_LINKS and len(block.text) > _SHORT):
            return False
        if block.box.tag not in _CELLS and _COUNT.match(block.text) is not None:
            return False
    return len(block.text) >= _LONGEST_APPEAL or _APPEAL.search(block.text) is None
