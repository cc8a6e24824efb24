"""Web pages to documents: the main text, and what a page says of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin, urlsplit

from simstore.errors import MissingExtra
from simstore.sources.dates import seconds

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

# Of a page; directories of links have more, and say little by each.
_MOST_LINKS = 1_000
_MOST_CHARACTERS = 2_000
_MOST_ELEMENTS = 5_000
# Markup that no person and no program writes, and that costs a parser the square of its length.
_DEEPEST = 1_000
_MOST_ATTRIBUTES = 5_000
# Pages of less markup are read before they could cost much.
_MUCH_MARKUP = 10_000
_LONG_TAG = 65_536
_TAGS = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_FORMATTING = re.compile(
    r"<(/?)(a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s>])", re.IGNORECASE
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
# What changes with each visit; the library leaves out other things around the main text itself.
_COUNTERS = [
    ".counter", ".visitor-counter", ".hit-counter", ".page-views", ".pageviews", ".view-count",
    ".views-count", ".post-views", ".share-count", ".like-count", "#counter", "#hitcounter",
]  # fmt: skip
_DATE_PROPERTIES = ("article:published_time", "og:article:published_time", "og:published_time")
_DATE_NAMES = (
    "date", "pubdate", "publishdate", "publication_date", "publish_date", "parsely-pub-date",
    "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created", "dcterms.issued",
    "citation_publication_date", "citation_date", "weibo: article:create_at",
)  # fmt: skip
# An address and a path as they should be; anything else is taken apart and joined.
_STEPS = r"/(?:[^\s\0.]++|\.(?!\.?(?:[/?]|$)))*+"
_ADDRESS = re.compile(rf"https?://[a-zA-Z0-9.-]+{_STEPS}")
_PATH = re.compile(rf"(?!//){_STEPS}")
_ORIGIN = re.compile(r"https?://[^/?#\s]+")
_DATE_START = re.compile(r"\d{4}-\d{2}-\d{2}")
_SLASHED = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")


@dataclass(frozen=True, slots=True)
class Page:
    """What was taken from a page.

    Attributes:
        text: Its main text, or all of it.
        title: Of its ``title`` element.
        metadata: ``canonical``, its address by its own word, and ``language``, its language code.
        published_at: When it was published, in seconds since 1970-01-01 UTC.
        links: Addresses that it links to, each once, without fragments, the first 1,000.
    """

    text: str
    title: str | None
    metadata: dict[str, Any]
    published_at: int | None
    links: tuple[str, ...]


def read_page(markup: str, extract: Literal["main", "all"], address: str | None) -> Page | str:
    """Return what a page holds; or why it is not read, in a few words.

    The main text is that without navigation, banners, footers and the like, as resiliparse finds
    it; where it finds next to none, all visible text is taken.

    Args:
        markup: HTML.
        extract: The main text or all visible text.
        address: Where the page was found; None: nobody knows, and relative links are left out.

    Raises:
        MissingExtra: resiliparse is not installed.
    """
    try:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree
    except ImportError:
        raise MissingExtra("reading web pages", "web") from None
    if (reason := _tangle(markup)) is not None:
        return reason
    tree = HTMLTree.parse(markup)
    about = _About(tree, address)
    title = " ".join((tree.title or "").split())[:_MOST_CHARACTERS]
    text = ""
    if extract == "main":
        text = extract_plain_text(
            tree,
            main_content=True,
            list_bullets=False,
            alt_texts=False,
            comments=False,
            skip_elements=_COUNTERS,
        )
    if not text.strip():
        text = extract_plain_text(tree, list_bullets=False, alt_texts=False)
    return Page(text, title or None, about.metadata, about.published_at(), about.links())


class _About:
    """What a page says of itself.

    Attributes:
        metadata: Its canonical address and its language.
    """

    def __init__(self, tree: HTMLTree, address: str | None) -> None:
        self._document: Any = tree.document
        self.metadata: dict[str, Any] = {}
        told = self._attribute('link[rel~="canonical" i]', "href")
        self._base = _joined(address, self._attribute("base[href]", "href")) or address
        canonical = _joined(self._base, told)
        if canonical is not None:
            self.metadata["canonical"] = canonical
            self._base = self._base or canonical
        language = self._attribute("html[lang]", "lang").split("-")[0].strip().lower()
        if language.isalpha() and 2 <= len(language) <= 3:
            self.metadata["language"] = language

    def links(self) -> tuple[str, ...]:
        """Return the addresses that the page links to."""
        found: dict[str, None] = {}
        for element in self._all("a[href]"):
            target = _joined(self._base, element.getattr("href"))
            if target is not None:
                found[target] = None
                if len(found) == _MOST_LINKS:
                    break
        return tuple(found)

    def published_at(self) -> int | None:
        """Return when the page was published; None where it does not say so in a usual way."""
        for date in self._dates():
            if (time := _time(date)) is not None:
                return time
        return None

    def _dates(self) -> Iterator[str]:
        named: dict[str, str] = {}
        for element in self._all("meta[content]"):
            for attribute in ("property", "name", "itemprop"):
                name = (element.getattr(attribute) or "").strip().lower()
                if name:
                    named.setdefault(name, element.getattr("content"))
        yield from (named[name] for name in _DATE_PROPERTIES if name in named)
        for script in self._all('script[type="application/ld+json" i]'):
            yield from _published_in(script.text)
        yield from (named[name] for name in ("datepublished", *_DATE_NAMES) if name in named)
        yield self._attribute('time[itemprop~="datePublished" i]', "datetime")
        yield self._attribute("time[pubdate]", "datetime")
        yield self._attribute("article time[datetime]", "datetime")

    def _all(self, selector: str) -> Iterator[Any]:
        """Yield the first elements that a selector finds."""
        found = self._document.query_selector_all(selector)
        # The library's own iteration makes objects of all elements at each step.
        for number in range(min(len(found), _MOST_ELEMENTS)):
            yield found.item(number)

    def _attribute(self, selector: str, name: str) -> str:
        element = self._document.query_selector(selector)
        return "" if element is None else element.getattr(name) or ""


def _joined(base: str | None, target: str | None) -> str | None:
    """Return the absolute address of a link, without its fragment; None: it has none."""
    if target is None:
        return None
    target = target.strip(" \t\r\n\f")
    if not target or target[0] == "#" or len(target) > _MOST_CHARACTERS:
        return None
    target = target.partition("#")[0]
    if _ADDRESS.fullmatch(target):
        return target
    if base and _PATH.fullmatch(target) and (origin := _ORIGIN.match(base)):
        return origin[0] + target
    try:
        address = urljoin(base or "", target)
        parts = urlsplit(address)
    except ValueError:
        return None
    usable = parts.scheme in ("http", "https") and parts.netloc and "\0" not in address
    return address if usable and len(address) <= _MOST_CHARACTERS else None


def _published_in(script: str) -> Iterator[str]:
    """Yield the dates of publication in a page's JSON-LD, those of its outer objects first."""
    try:
        level = [json.loads(script)]
    except (ValueError, RecursionError):
        return
    while level:
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                if isinstance(value.get("datePublished"), str):
                    yield value["datePublished"]
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        level = inner


def _time(date: str) -> int | None:
    """Return a date of a page in seconds; None: it is written in no usual way."""
    date = date.strip()[:40]
    if (found := _SLASHED.match(date)) is not None:
        year, month, day = found.groups()
        date = f"{year}-{month:0>2}-{day:0>2}{found.string[found.end() :]}"
    for part in (date, date[:10] if _DATE_START.match(date) else ""):
        try:
            return seconds(part)
        except ValueError:
            continue
    return None


def _tangle(markup: str) -> str | None:
    """Return why markup must not be parsed: it would take a time that grows with its square."""
    much = markup.count("<") > _MUCH_MARKUP
    if _deepest(_TAGS if much else _FORMATTING, markup) > _DEEPEST // (1 if much else 2):
        return f"its elements stand more than {_DEEPEST // (1 if much else 2):,} deep in each other"
    if len(markup) > _LONG_TAG:
        for tag in _TAG.finditer(markup):
            long = tag.end() - tag.start() > _LONG_TAG
            if long and len(_QUOTED.sub(" x ", tag[0]).split()) > _MOST_ATTRIBUTES:
                return f"an element has more than {_MOST_ATTRIBUTES:,} attributes"
    return None


def _deepest(tags: re.Pattern[str], markup: str) -> int:
    """Return how many elements are open at most."""
    open_count = deepest = 0
    for closing, name in tags.findall(markup):
        if name.lower() in _FLAT:
            continue
        open_count += -1 if closing else 1
        if open_count > deepest:
            deepest = open_count
        elif open_count < 0:
            open_count = 0
    return deepest
