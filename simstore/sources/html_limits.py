"""Markup that is not parsed, since that would take hours."""

from __future__ import annotations

import re
from itertools import accumulate
from operator import sub

# Markup that no person and no program writes, and that costs a parser the square of its length.
_DEEPEST = 1_000
_MOST_ATTRIBUTES = 5_000
# Pages of less markup are read before they could cost much.
_MUCH_MARKUP = 10_000
_LONG_TAG = 65_536
_TAGS = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*")
# Most elements are others, and are passed over by their first letter.
_FORMATTING = re.compile(
    r"</?[abcefinstuABCEFINSTU](?i:(?<=[abisu])|(?<=b)ig|(?<=c)ode|(?<=e)m|(?<=f)ont|(?<=n)obr"
    r"|(?<=s)mall|(?<=s)trike|(?<=s)trong|(?<=t)t)(?=[\s>])"
)
_TAG = re.compile(r"<[a-zA-Z][^\"'>]*+(?:(?:\"[^\"]*\"|'[^']*')[^\"'>]*+)*+")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
# Elements that have no end tag, or whose end tag may be left out.
_FLAT = frozenset(
    (
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody",
        "tfoot", "option", "optgroup", "colgroup", "rp", "rt", "html", "head", "body",
    )
)  # fmt: skip


def tangle(markup: str) -> str | None:
    """Return why markup must not be parsed: it would take a time that grows with its square."""
    much = markup.count("<") > _MUCH_MARKUP
    most = _DEEPEST if much else _DEEPEST // 2
    if _deepest((_TAGS if much else _FORMATTING).findall(markup), most) > most:
        return f"its elements stand more than {most:,} deep in each other"
    if len(markup) > _LONG_TAG:
        for tag in _TAG.finditer(markup):
            long = tag.end() - tag.start() > _LONG_TAG
            if long and len(_QUOTED.sub(" x ", tag[0]).split()) > _MOST_ATTRIBUTES:
                return f"an element has more than {_MOST_ATTRIBUTES:,} attributes"
    return None


def _deepest(tags: list[str], most: int) -> int:
    """Return how many elements are open at most, or the number of tags where that is no more."""
    if len(tags) <= most:
        return len(tags)
    depths: list[int] = list(accumulate(map(_Steps().__getitem__, tags), initial=0))
    # What is closed and was not open counts as nothing.
    most_open: int = max(map(sub, depths, accumulate(depths, min)))
    return most_open


class _Steps(dict[str, int]):
    """How many more elements are open after a tag, by its beginning: ``<div``."""

    def __missing__(self, tag: str) -> int:
        closing = tag[1] == "/"
        step = 0 if tag[1 + closing :].lower() in _FLAT else 1 - 2 * closing
        self[tag] = step
        return step
