"""Extract the main text and the metadata of an HTML page.

Markup that would take a parser hours is not parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin, urlsplit

from simstore.errors import MissingExtra
from simstore.model.documents import EXTRACTOR
from simstore.model.times import seconds

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

_MOST_OF_ADDRESS = 2_000
# An address and a path as they should be; anything else is taken apart and joined.
_STEPS = r"/(?:[^\s\0.]++|\.(?!\.?(?:[/?]|$)))*+"
_ADDRESS = re.compile(rf"https?://[a-zA-Z0-9.-]+{_STEPS}")
_PATH = re.compile(rf"(?!//){_STEPS}")
_ORIGIN = re.compile(r"https?://[^/?#\s]+")


def joined_address(base: str | None, target: str | None) -> str | None:
    """Return the absolute address of a link, without its fragment; None: it has none."""
    if target is None:
        return None
    target = target.strip(" \t\r\n\f")
    if not target or target[0] == "#" or len(target) > _MOST_OF_ADDRESS:
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
    return address if usable and len(address) <= _MOST_OF_ADDRESS else None


# Markup that no person and no program writes, and that costs a parser the square of its length.
_DEEPEST = 1_000
_MOST_ATTRIBUTES = 5_000
# Tags, each as many times as elements stand in each other: resiliparse goes up from each.
_MOST_STEPS = 10_000_000
# Pages of less markup are read before they could cost much.
_MUCH_MARKUP = 10_000
_LONG_TAG = 65_536
# Of larger pages, books and tables, the main text is left to resiliparse, which is in C++.
_MOST_TAGS = 50_000
_TAGS = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*")
# Most elements are others, and are passed over by their first letter.
_FORMATTING = re.compile(
    r"</?[abcefinstuABCEFINSTU](?i:(?<=[abisu])|(?<=b)ig|(?<=c)ode|(?<=e)m|(?<=f)ont|(?<=n)obr"
    r"|(?<=s)mall|(?<=s)trike|(?<=s)trong|(?<=t)t)(?=[\s>])"
)
_TAG = re.compile(r"<[a-zA-Z][^\"'>]*+(?:(?:\"[^\"]*\"|'[^']*')[^\"'>]*+)*+")
_RAW = frozenset(("<script", "<style"))
_RAW_END = re.compile(r"</(?:script|style)", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
# Elements that have no end tag, or whose end tag may be left out.
_FLAT = frozenset(
    (
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody",
        "tfoot", "option", "optgroup", "colgroup", "rp", "rt", "html", "head", "body",
    )
)  # fmt: skip
# Of a page; directories of links have more, and say little by each.
_MOST_LINKS = 1_000
_MOST_CHARACTERS = 2_000
_MOST_ELEMENTS = 5_000
# What changes with each visit; the library leaves out other things around the main text itself.
_COUNTERS = [
    ".counter", ".visitor-counter", ".hit-counter", ".page-views", ".pageviews", ".view-count",
    ".views-count", ".post-views", ".share-count", ".like-count", "#counter", "#hitcounter",
]  # fmt: skip
_YEAR_TWO = seconds("0002-01-01")
_AUTHOR_NAMES = ("author", "article:author", "citation_author", "dc.creator", "parsely-author")
_DATE_PROPERTIES = ("article:published_time", "og:article:published_time", "og:published_time")
_DATE_NAMES = (
    "date", "pubdate", "publishdate", "publication_date", "publish_date", "parsely-pub-date",
    "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created", "dcterms.issued",
    "citation_publication_date", "citation_date", "weibo: article:create_at",
)  # fmt: skip
# Everything that a page says of itself but its links, in one walk through it.
_SAYINGS = (
    'html[lang], base[href], link[rel~="canonical" i], meta[content], '
    'script[type="application/ld+json" i], time'
)
# Links into the page itself are none, and many.
_LINKS = 'a[href]:not([href^="#"])'
_DATE_START = re.compile(r"\d{4}-\d{2}-\d{2}")
_SLASHED = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")


def tangle(markup: str) -> str | None:
    """Return why markup must not be parsed, if parsing it would take quadratic time."""
    tags = markup.count("<")
    much = tags > _MUCH_MARKUP
    most = _DEEPEST if much else _DEEPEST // 2
    deepest = _deepest((_TAGS if much else _FORMATTING).findall(markup), most)
    if deepest > most:
        return f"its elements stand more than {most:,} deep in each other"
    if much and deepest * tags > _MOST_STEPS:
        return f"its {tags:,} tags stand up to {deepest:,} deep in each other"
    return None


def without_long_tags(markup: str) -> str:
    """Return markup in which elements with thousands of attributes have none.

    Such markup takes a parser the square of their number.

    Example:
        >>> without_long_tags("<p " + "a " * 40_000 + ">text</p>")
        '<p >text</p>'
    """
    if len(markup) <= _LONG_TAG:
        return markup
    parts = []
    place = kept = 0
    while (tag := _TAG.search(markup, place)) is not None:
        place = tag.end()
        name = _TAGS.match(tag[0])
        if name is not None and name[0].lower() in _RAW:
            # What looks like tags in scripts is none.
            end = _RAW_END.search(markup, place)
            place = len(markup) if end is None else end.end()
        elif place - tag.start() > _LONG_TAG and _attributes(tag[0]) > _MOST_ATTRIBUTES:
            parts += [markup[kept : tag.start()], name[0] if name else "<p", " "]
            kept = place
    return "".join([*parts, markup[kept:]]) if parts else markup


def _attributes(tag: str) -> int:
    return len(_QUOTED.sub(" x ", tag).split())


def _deepest(tags: list[str], most: int) -> int:
    """Return how many elements are open at most, or the number of tags where that is no more."""
    if len(tags) <= most:
        return len(tags)
    depths: list[int] = list(accumulate(map(_Steps().__getitem__, tags), initial=0))
    # What is closed and was not open counts as nothing.
    most_open: int = max(map(sub, depths, accumulate(depths, min)))
    return most_open


class _Steps(dict[str, int]):
    """The change in open elements at a tag (+1, -1 or 0), by its beginning: ``<div``."""

    def __missing__(self, tag: str) -> int:
        closing = tag[1] == "/"
        step = 0 if tag[1 + closing :].lower() in _FLAT else 1 - 2 * closing
        self[tag] = step
        return step


@dataclass(frozen=True, slots=True)
class Page:
    """The text, title and metadata extracted from a web page.

    Attributes:
        text: Its main text, or all of it.
        title: Of its ``title`` element.
        metadata: ``canonical``, its address by its own word; ``language``, its language code;
            ``author``; and ``extractor``, what took its text, with its version.
        published_at: When it was published, in seconds since 1970-01-01 UTC.
        links: Addresses that it links to, each once, without fragments, the first 1,000.
    """

    text: str
    title: str | None
    metadata: dict[str, Any]
    published_at: int | None
    links: tuple[str, ...]


def read_page(markup: str, extract: Literal["main", "all"], address: str | None) -> Page | str:
    """Extract the text and metadata of a page; or return why it is not read, in a few words.

    The main text is what :func:`~.main_text.main_text` finds. Lists, forums and shops have none,
    and in pages of more than 50,000 tags it is not looked for: there, it is what resiliparse takes
    for it, without navigation, footers and the like; where that is next to none, all visible text.
    So text is kept, not lost.

    Args:
        markup: HTML.
        extract: The main text or all visible text.
        address: Where the page was found; None: nobody knows, and relative links are left out.

    Raises:
        MissingExtra: resiliparse is not installed.
    """
    try:
        from resiliparse.parse.html import HTMLTree
    except ImportError:
        raise MissingExtra("reading web pages", "web") from None
    if (reason := tangle(markup)) is not None:
        return reason
    markup = without_long_tags(markup)
    tree = HTMLTree.parse(markup)
    about = _About(tree, address)
    title = " ".join((tree.title or "").split())[:_MOST_CHARACTERS]
    is_short = markup.count("<") <= _MOST_TAGS
    links, published_at = about.links(), about.published_at()
    text, extractor = _cut(tree, extract, is_short=is_short)
    metadata = {**about.metadata, EXTRACTOR: extractor}
    return Page(text, title or None, metadata, published_at, links)


# A main text of fewer characters that is a smaller share of a page's text is none.
_LEAST_MAIN, _LEAST_SHARE = 200, 0.25


def _cut(tree: HTMLTree, extract: Literal["main", "all"], *, is_short: bool) -> tuple[str, str]:
    """Return the text that is taken from a page, and what took it: its name and version."""
    from resiliparse.extract.html2text import extract_plain_text

    from simstore.sources import main_text

    if extract == "main":
        found = main_text.main_text(tree) if is_short else None
        if found is not None:
            return found, main_text.EXTRACTOR
        text = extract_plain_text(
            tree,
            main_content=True,
            list_bullets=False,
            alt_texts=False,
            comments=False,
            skip_elements=_COUNTERS,
        )
        whole = extract_plain_text(tree, list_bullets=False, alt_texts=False)
        # Of a page of short links alone hardly more than its title is left.
        if text.strip() and (len(text) >= _LEAST_MAIN or len(text) >= _LEAST_SHARE * len(whole)):
            return text, f"resiliparse {_version()}, main text"
    else:
        whole = extract_plain_text(tree, list_bullets=False, alt_texts=False)
    return whole, f"resiliparse {_version()}, all text"


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("resiliparse")


class _About:
    """The metadata of a page.

    Attributes:
        metadata: Its canonical address, its language and its author.
    """

    def __init__(self, tree: HTMLTree, address: str | None) -> None:
        self._document: Any = tree.document
        self._named: dict[str, str] = {}
        self._scripts: list[Any] = []
        self._has_times = False
        told = self._sayings()
        self.metadata: dict[str, Any] = {}
        self._base = joined_address(address, told.get("base")) or address
        canonical = joined_address(self._base, told.get("link"))
        if canonical is not None:
            self.metadata["canonical"] = canonical
            self._base = self._base or canonical
        language = told.get("html", "").split("-")[0].strip().lower()
        if language.isalpha() and 2 <= len(language) <= 3:
            self.metadata["language"] = language
        names = (self._named.get(name) or "" for name in _AUTHOR_NAMES)
        author = next((one for name in names if (one := " ".join(name.split()))), "")
        if author and "://" not in author:
            self.metadata["author"] = author[:_MOST_CHARACTERS]

    def _sayings(self) -> dict[str, str]:
        """Keep what the page tells; return the first address or language of each such element."""
        told: dict[str, str] = {}
        for element in self._all(_SAYINGS):
            tag = element.tag
            if tag == "meta":
                for attribute in ("property", "name", "itemprop"):
                    name = (element.getattr(attribute) or "").strip().lower()
                    if name:
                        self._named.setdefault(name, element.getattr("content"))
            elif tag == "script":
                self._scripts.append(element)
            elif tag == "time":
                self._has_times = True
            elif tag not in told:
                told[tag] = element.getattr("lang" if tag == "html" else "href") or ""
        return told

    def links(self) -> tuple[str, ...]:
        """Return the addresses that the page links to."""
        found: dict[str, None] = {}
        tried: set[str] = set()
        for element in self._all(_LINKS):
            href = element.getattr("href")
            if href in tried:
                continue
            tried.add(href)
            target = joined_address(self._base, href)
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
        named = self._named
        yield from (named[name] for name in _DATE_PROPERTIES if name in named)
        for script in self._scripts:
            yield from _published_in(script.text)
        yield from (named[name] for name in ("datepublished", *_DATE_NAMES) if name in named)
        if self._has_times:
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
    """Return a date of a page in seconds; None: it is written in no usual way, or was never set."""
    date = date.strip()[:40]
    if (found := _SLASHED.match(date)) is not None:
        year, month, day = found.groups()
        date = f"{year}-{month:0>2}-{day:0>2}{found.string[found.end() :]}"
    for part in (date, date[:10] if _DATE_START.match(date) else ""):
        try:
            time = seconds(part)
        except ValueError:
            continue
        # Programs write the first instant of their calendar where nobody set a date: year 1, 1970.
        return None if time == 0 or time < _YEAR_TWO else time
    return None
