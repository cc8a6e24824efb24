"""Render the HTML report as one self-contained file, with every text escaped.

Every string goes through the template's escaping; data for the script are one JSON block in which
no tag can begin. A policy in the page itself allows its own script and style, by their digests,
and nothing else: no request, no script of a paper.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from simstore.errors import MissingExtra
from simstore.reports.html_charts import Chart
from simstore.reports.html_words import Language, words_of
from simstore.reports.lines import key_text, time_text

if TYPE_CHECKING:
    from jinja2 import Template

    from simstore.model import Match, SourceShare

SHOWN_SOURCES = 12
# BCP 47.
LANGUAGE_TAGS: dict[Language, str] = {"en": "en", "zh": "zh-Hans"}
# What the script says; the rest of the words are in the template.
_SCRIPT_WORDS = (
    "high", "moderate", "low", "excluded", "span", "in_paper", "in_source", "same", "different",
    "no_text", "runs", "simhash", "anchors", "whole", "part", "also", "position", "previous",
    "next", "close", "panel_empty", "more", "cut", "distance", "resemblance", "containment",
    "containment_reverse", "found_by", "by_sketch", "of_passage", "identical",
    "count_source", "aside_one", "aside_many", "count_all", "not_recounted", "side_by_side",
    "copied_in", "left_out_cases", "by_words",
)  # fmt: skip
COLOURS = 12
_VISIBLE = {code: chr(0x2400 + code) for code in range(32)}
_VISIBLE |= {0x09: "\t", 0x0A: "\n", 0x0C: "\n", 0x0D: " ", 0x7F: chr(0x2421)}
# Controls of Latin-1 and halves of characters.
_VISIBLE |= dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], "\ufffd")
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure with its name, and a word about it.

    Attributes:
        name: What it is called.
        value: What it is, as people read it.
        note: A word about it.
        of: What the script knows it by, where it can count it again.
    """

    name: str
    value: str
    note: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """A line of the table of sources.

    Attributes:
        number: Its number in the report, from 1.
        title: What it is called: title or key.
        key: Its key where that is not what it is called.
        share: Its share, as people read it.
        width: The same, of the largest, 0 to 1000.
        facts: Other figures, one a column.
        where: Path of the strip of its places.
        address: Where more is told of it; empty: nowhere.
        about: Its author, date and address.
    """

    number: int
    title: str
    key: str
    share: str
    width: int
    facts: tuple[str, ...]
    where: str
    address: str = ""
    about: str = ""

    @property
    def colour(self) -> int:
        """Return which of the colours is the source's."""
        return (self.number - 1) % COLOURS


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text, or a sample of a run.

    Attributes:
        text: What it says.
        number: Its place among what can be selected; None where it cannot.
        kind: ``high``, ``moderate``, ``low`` or ``excluded``; empty without a source.
        source: Number of its source.
        hint: What resting on it tells.
        note: A word about it.
        parts: The same text in parts, each with why it does not count, empty where it does; none:
            all of it counts.
    """

    text: str
    number: int | None = None
    kind: str = ""
    source: int = 0
    hint: str = ""
    note: str = ""
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A paper or a run.

    Attributes:
        title: What it is called.
        facts: What stands below its title.
        share: The figure that matters most, as people read it.
        share_width: The same, 0 to 1000.
        tiles: The other figures.
        chart: Its charts.
        sources: All sources, the largest first.
        fact_names: Names of the columns of their facts.
        blocks: Its text, by lines, each in pieces; or a run's samples.
        method: Paragraphs: what they are about, and what they say.
        data: What the script needs to know, as JSON values.
        language: Of the text, where known.
        high: Least similarity of what is high.
        moderate: Least similarity of what is moderate.
        notices: What has to be known before all else.
        flows: Lines end where the text was wrapped, so they are joined.
        nothing: What is said where there is no source.
        shown_sources: How many sources stand before the fold.
        about_sources: What is said of those.
        chapters: Of each its heading, share as people read it, the same from 0 to 1000, characters
            copied and the share that is word for word the same.
    """

    title: str
    facts: tuple[str, ...]
    share: str
    share_width: int
    tiles: tuple[Tile, ...]
    chart: Chart
    sources: tuple[SourceRow, ...]
    fact_names: tuple[str, ...]
    blocks: tuple[tuple[Piece, ...], ...]
    method: tuple[tuple[str, str], ...]
    data: dict[str, Any]
    language: str = ""
    high: float = 0.8
    moderate: float = 0.5
    notices: tuple[str, ...] = ()
    flows: bool = False
    nothing: str = ""
    shown_sources: int = SHOWN_SOURCES
    about_sources: str = ""
    chapters: tuple[tuple[str, str, int, str, str], ...] = ()

    @property
    def selectable(self) -> int:
        """Return how many pieces can be selected."""
        return sum(piece.number is not None for block in self.blocks for piece in block)

    @property
    def kinds(self) -> frozenset[str]:
        """Return the classes that its pieces have."""
        return frozenset(piece.kind for block in self.blocks for piece in block if piece.kind)

    @property
    def excludes(self) -> bool:
        """Return whether something in its text does not count."""
        return any(piece.parts for block in self.blocks for piece in block)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """A pair of papers, as people read it.

    Attributes:
        first: Place of the first paper among the sections, from 0.
        second: That of the other.
        own_share: Share of the first that is in the second and in no stored document.
        width: The same, 0 to 1000.
        share: Share of the first that is in the second.
        second_share: Share of the second that is in the first.
        facts: Characters, share that is word for word the same, cases.
        data: What the script needs to put both side by side.
    """

    first: int
    second: int
    own_share: str
    width: int
    share: str
    second_share: str
    facts: tuple[str, str, str]
    data: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PapersBeside:
    """The papers of a report beside each other.

    Attributes:
        titles: What the papers are called.
        pairs: Those that are listed, the largest share first.
        left: How many pairs are not listed.
        shares: Of each paper the share that is in any other paper.
        nearest: Of each paper the paper that has most of it; None where none has any.
        matrix: Of each paper, for each other one, the share of it that is there in whole percent
            and a shade from 0 to 5; None for itself. Empty where there are too many.
    """

    titles: tuple[str, ...]
    pairs: tuple[PairRow, ...]
    left: int
    shares: tuple[str, ...]
    nearest: tuple[int | None, ...]
    matrix: tuple[tuple[tuple[str, int] | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The documents that a report's texts were compared with.

    Attributes:
        name: What the store is called.
        document_count: How many documents it held.
        counts_references: A list of references at the end of a paper counts too.
        last_run: Its last ingest run, and when that was, in seconds since 1970-01-01 UTC; None: no
            document was ever stored.
        settings: The options of the check that are not those by default; empty: all are.
    """

    name: str
    document_count: int
    counts_references: bool = False
    last_run: tuple[int, int] | None = None
    settings: str = ""


def contents(
    sections: Sequence[Section],
    *,
    form: str,
    lang: Language,
    title: str,
    generated_at: int,
    compared_with: Library | None = None,
    number: str = "",
    beside: PapersBeside | None = None,
) -> dict[str, Any]:
    """Return the template variables of ``report_body.html``.

    Args:
        sections: What it tells of, at least one.
        form: ``check`` or ``run``.
        lang: Language of its interface.
        title: Its title.
        generated_at: When it is made, in seconds since 1970-01-01 UTC.
        compared_with: The documents that it was compared with; None: nothing is said of them.
        number: The number of the report.
        beside: Its papers beside each other.
    """
    from simstore.version import __version__

    words = words_of(lang, form)
    return {
        "sections": sections,
        "form": form,
        "lang": LANGUAGE_TAGS[lang],
        "w": words,
        "title": title,
        "made": words["made"].format(time_text(generated_at)),
        "compared": _compared(words, compared_with),
        "version": __version__,
        "foot": _foot(words, compared_with, time_text(generated_at), __version__, number),
        "beside": beside,
        "data": in_script(
            {
                "words": {name: words[name] for name in _SCRIPT_WORDS},
                "form": form,
                "parts": [part.data for part in sections],
                "pairs": [] if beside is None else [pair.data for pair in beside.pairs],
            }
        ),
        "percent": percent,
    }


def _foot(
    words: Mapping[str, str], library: Library | None, made: str, version: str, number: str
) -> list[tuple[str, str]]:
    """Return by name what a report says of itself at its end."""
    told = [(words["number"], number)] if number else []
    told += [(words["made_at"], made), (words["version"], f"simstore {version}")]
    if library is None:
        return told
    state = words["never_changed"]
    if library.last_run is not None:
        run, at = library.last_run
        state = words["library_state"].format(run, time_text(at))
    size = f"{library.document_count:,}"
    library_told = words["library_size"].format(shown(library.name), size)
    settings = library.settings or words["default_settings"]
    return [*told, (words["library"], f"{library_told} {state}"), (words["settings"], settings)]


def _compared(words: Mapping[str, str], library: Library | None) -> str:
    """Return what was compared with, in a sentence, and whether references count."""
    if library is None:
        return ""
    one, several = words["compared_document"], words["compared_documents"]
    documents = one if library.document_count == 1 else several
    told = words["compared"].format(
        documents.format(f"{library.document_count:,}"), shown(library.name)
    )
    counts = words["counts_references"]
    return f"{told} {counts}" if library.counts_references else told


def render(told: Mapping[str, Any]) -> str:
    """Render the self-contained page from its :func:`contents`.

    Raises:
        MissingExtra: Jinja is not installed.
    """
    style, script = _style(), part("report.js")
    return page_template("report.html").render(
        **told,
        style=style,
        script=script,
        digests={"style": digest(style), "script": digest(script)},
    )


def content_policy() -> str:
    """Return the Content-Security-Policy of a rendered page, to be sent as an HTTP header."""
    style, script = digest(_style()), digest(part("report.js"))
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def percent(share: float) -> str:
    """Return a share, 0 to 1, as ``37.4%``; what is not all is never shown as all."""
    shown = f"{100 * share:.1f}"
    if shown == "100.0" and share < 1:
        shown = "99.9"
    return f"{shown.removesuffix('.0')}%"


def shown(text: str) -> str:
    """Return a text with a visible sign for each character that is none; none is added or lost."""
    return text.translate(_VISIBLE)


def name_of(title: str | None, key: str) -> str:
    """Return what a text is called: its title or, without one, its key."""
    return shown(title.strip()) if title and title.strip() else key_text(key)


def about_of(found: Match | SourceShare) -> str:
    """Return author, date and address of a document, in a line; what is its key is left out."""
    facts = (found.author, found.date, found.url)
    return shown(", ".join(fact for fact in facts if fact and fact != found.key))


def in_script(value: Any) -> str:
    """Return JSON that ends no script element and is one line for every reader."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_IN_SCRIPT)


@cache
def page_template(name: str) -> Template:
    """Return a template that escapes all it is given.

    Raises:
        MissingExtra: Jinja is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("an HTML report", "check") from error
    environment = Environment(
        loader=PackageLoader("simstore.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


@cache
def part(name: str) -> str:
    """Return a file of the report's templates: ``light.css``, ``dark.css``, ``report.js``, ..."""
    place = resources.files("simstore.reports") / "templates" / name
    return place.read_text(encoding="utf-8")


def _style() -> str:
    dark = f"@media (prefers-color-scheme: dark) {{\n{part('dark.css')}}}\n"
    return part("light.css") + dark + part("report.css")


def digest(text: str) -> str:
    """Return the digest of a style or script as a Content-Security-Policy names it."""
    made = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(made).decode('ascii')}'"
