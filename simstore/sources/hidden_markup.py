"""Leave out text that the markup of a web page hides from a reader, and note where it was."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from simstore.sources.hidden_text import MARK, HiddenText

# Markup without which a page hides nothing; tested before it is parsed.
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
_BLOCKS = "p, li, td, th, dd, dt, blockquote, pre, h1, h2, h3, h4, h5, h6"
_BLOCK_TAGS = frozenset(_BLOCKS.split(", "))
# Elements within a line. Whole blocks that are not shown are menus and dialogues.
_INLINE = frozenset(
    ("a", "b", "big", "em", "font", "i", "ins", "mark", "s", "small", "span", "strong", "sub",
     "sup", "tt", "u")
)  # fmt: skip
# Fewest per block: one or two that are not shown are buttons and notes of scripts.
_LEAST_HIDDEN = 3
_MOST_ELEMENTS = 20_000
_MOST_ANCESTORS = 200


def mark_hidden(tree: Any, markup: str, hidden: HiddenText) -> None:
    """Put a mark in the place of each stretch of a page that its style hides.

    An element's own style counts; what style sheets and scripts hide is not known. Text in the
    background's colour is told only where nothing around it may have a background of its own.

    Args:
        tree: The parsed page; it is changed.
        markup: The page.
        hidden: Takes the text that no reader sees.
    """
    if _MAY_HIDE.search(markup) is None:
        return
    found = tree.document.query_selector_all(f"{_BLOCKS}, [style]")
    blocks, chosen = 0, []
    # All are chosen before the tree is changed.
    for number in range(min(len(found), _MOST_ELEMENTS)):
        element = found.item(number)
        blocks += element.tag in _BLOCK_TAGS
        reason = _reason(element)
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
