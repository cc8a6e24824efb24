"""Render the HTML report of a text-reuse check: copied passages beside their sources."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

from simstore.errors import InvalidParameter
from simstore.model import MutualCheck, MutualPair
from simstore.model.check import (
    CheckedPaper,
    CheckedPassage,
    Copy,
    Excluded,
    SourceShare,
)
from simstore.reports.check_data import kind_of, paper_data, report_number
from simstore.reports.html_charts import Bar, chart, strip
from simstore.reports.html_page import (
    SHOWN_SOURCES,
    Library,
    PairRow,
    PapersBeside,
    Piece,
    Section,
    SourceRow,
    Tile,
    about_of,
    contents,
    name_of,
    percent,
    render,
    shown,
)
from simstore.reports.html_words import Language, sentence_in, words_of
from simstore.reports.lines import key_text

# Pairs that are listed, and of which two papers can be put side by side.
MOST_PAIRS = 500
# A matrix of more papers cannot be read.
MOST_IN_MATRIX = 40
_SHADES = 5


def papers_beside(mutual: MutualCheck, titles: Sequence[str]) -> PapersBeside:
    """Return the data of a report on papers that were compared with one another.

    Args:
        mutual: The comparison.
        titles: What the papers are called, in the same order.
    """
    papers = mutual.papers
    return PapersBeside(
        titles=tuple(titles),
        pairs=tuple(_row(mutual, pair) for pair in mutual.pairs[:MOST_PAIRS]),
        left=max(len(mutual.pairs) - MOST_PAIRS, 0),
        shares=tuple(percent(paper.totals.share) for paper in papers),
        nearest=tuple(paper.sources[0].document_id if paper.sources else None for paper in papers),
        matrix=_matrix(mutual) if len(papers) <= MOST_IN_MATRIX else (),
    )


def _row(mutual: MutualCheck, pair: MutualPair) -> PairRow:
    copies = [
        [copy.start, copy.end, copy.source_start, copy.source_end, *chain(*copy.blocks)]
        for copy in mutual.papers[pair.first].copies
        if copy.source_document_id == pair.second
    ]
    return PairRow(
        first=pair.first,
        second=pair.second,
        own_share=percent(pair.own_share),
        width=round(1000 * pair.own_share),
        share=percent(pair.share),
        second_share=percent(pair.second_share),
        facts=(f"{pair.characters:,}", percent(pair.identical_share), f"{pair.cases:,}"),
        data=[pair.first, pair.second, copies],
    )


def _matrix(mutual: MutualCheck) -> tuple[tuple[tuple[str, int] | None, ...], ...]:
    shares = {
        (number, source.document_id): source.share
        for number, paper in enumerate(mutual.papers)
        for source in paper.sources
    }
    numbers = range(len(mutual.papers))
    return tuple(
        tuple(None if one == other else _cell(shares.get((one, other), 0.0)) for other in numbers)
        for one in numbers
    )


def _cell(share: float) -> tuple[str, int]:
    """Return a share in whole percent, and its shade; what is not nothing is never shown as 0."""
    if not share:
        return "", 0
    whole = min(max(round(100 * share), 1), 100 if share == 1 else 99)
    return str(whole), min(1 + int(share * _SHADES), _SHADES)


_HAN = re.compile("[\u3400-\u9fff]")
_LINE = re.compile(r"\n")
_PARAGRAPH = re.compile(r"\n[^\S\n]*(?=\n)|(?<=\n)\n")
_FULL, _WIDEST = 45, 100


def html_report(
    papers: Sequence[CheckedPaper],
    *,
    lang: Language = "en",
    generated_at: int,
    compared_with: Library | None = None,
    mutual: MutualCheck | None = None,
) -> str:
    """Return a page that shows papers with their copied passages.

    Args:
        papers: What was checked, at least one.
        lang: Language of the interface.
        generated_at: When it is made, in seconds since 1970-01-01 UTC.
        compared_with: The documents that they were compared with; None: nothing is said of them.
        mutual: The same papers beside each other; None: nothing is said of that.

    Raises:
        InvalidParameter: There is no paper, or no such language.
        MissingExtra: Jinja is not installed.
    """
    return render(
        report_contents(
            papers,
            lang=lang,
            generated_at=generated_at,
            compared_with=compared_with,
            mutual=mutual,
        )
    )


def report_contents(
    papers: Sequence[CheckedPaper],
    *,
    lang: Language,
    generated_at: int,
    compared_with: Library | None = None,
    address_of: Callable[[str], str] | None = None,
    mutual: MutualCheck | None = None,
) -> dict[str, Any]:
    """Return the template variables of ``report_body.html`` for papers; as :func:`html_report`.

    Args:
        papers: What was checked, at least one.
        lang: Language of the interface.
        generated_at: When it is made, in seconds since 1970-01-01 UTC.
        compared_with: As for :func:`html_report`.
        address_of: Returns where more is told of the document with a key; None: nowhere.
        mutual: As for :func:`html_report`.
    """
    words = words_of(lang)
    if not papers:
        raise InvalidParameter("a report needs at least one paper")
    sections = [_section(paper, words, lang, address_of) for paper in papers]
    title = words["report"]
    if len(papers) == 1:
        title = f"{name_of(papers[0].title, papers[0].key)} – {title}"
    number = report_number(papers, generated_at, compared_with, mutual.pairs if mutual else ())
    return contents(
        sections,
        form="check",
        lang=lang,
        title=title,
        generated_at=generated_at,
        compared_with=compared_with,
        number=number,
        beside=None if mutual is None else papers_beside(mutual, [one.title for one in sections]),
    )


def _section(
    paper: CheckedPaper,
    words: dict[str, str],
    lang: Language,
    address_of: Callable[[str], str] | None,
) -> Section:
    paper = replace(paper, sources=_primary_first(paper.sources))
    primary = sum(source.order is not None for source in paper.sources)
    numbers = {source.key: number for number, source in enumerate(paper.sources, 1)}
    totals = paper.totals
    passages = _in_turn(paper.passages)
    length = len(paper.text) or 1
    selected = [passage for passage in passages if passage.copy is not None]
    title = name_of(paper.title, paper.key)
    return Section(
        title=title,
        facts=() if title == key_text(paper.key) else (key_text(paper.key),),
        share=percent(totals.share),
        share_width=round(1000 * totals.share),
        tiles=_tiles(paper, words),
        chart=chart(
            [
                Bar(one.start / length, one.end / length, one.similarity, one.kind)
                for one in passages
                if one.excluded is None
            ]
        ),
        sources=_sources(paper, address_of),
        shown_sources=primary or SHOWN_SOURCES,
        about_sources=words["primary_sources"] if primary else "",
        fact_names=(
            *((words["added"],) if primary else ()),
            words["copied"],
            words["word_for_word"],
            words["stretches"],
        ),
        blocks=tuple(_blocks(paper, passages, numbers, words)),
        method=(
            (words["how_found"], sentence_in(lang, paper.method)),
            (words["guarantee"], sentence_in(lang, paper.guarantee)),
            (words["reading"], words["reading_check"]),
        ),
        data=paper_data(
            paper,
            selected,
            [name_of(source.title, source.key) for source in paper.sources],
            [address_of(source.key) for source in paper.sources] if address_of else [],
        ),
        chapters=tuple(
            (
                shown(one.title) or words["before_chapters"],
                percent(one.share),
                round(1000 * one.share),
                f"{one.copied:,}",
                percent(one.identical_share),
            )
            for one in paper.chapters
        ),
        flows=_is_wrapped(shown(paper.text)),
        language="zh" if 3 * len(_HAN.findall(paper.text)) > len(paper.text) else "",
        high=paper.high,
        moderate=paper.moderate,
        notices=_notices(paper, words),
        nothing=words["nothing_counted"] if _excludes(paper) else words["nothing"],
    )


def _tiles(paper: CheckedPaper, words: dict[str, str]) -> tuple[Tile, ...]:
    totals = paper.totals
    shares = [
        ("word_for_word", words["word_for_word"], totals.identical_share),
        ("without_quotations", words["without_quotations"], totals.share_without_quotations),
    ]
    if _excludes(paper):
        shares.append(("with_excluded", words["with_excluded"], totals.share_with_excluded))
    shares.append(("largest", words["largest"], totals.largest_source_share))
    told = words["characters_copied"].format(f"{totals.copied:,}")
    return (
        *(Tile(name, percent(share), of=of) for of, name, share in shares),
        Tile(words["characters"], f"{totals.characters:,}", told, of="characters"),
    )


def _excludes(paper: CheckedPaper) -> bool:
    """Return whether anything that is copied does not count."""
    return paper.totals.share_with_excluded > paper.totals.share


def _notices(paper: CheckedPaper, words: dict[str, str]) -> tuple[str, ...]:
    decoding = paper.decoding
    name = "" if decoding is None else decoding.encoding.upper()
    lost = 0 if decoding is None else decoding.replaced_bytes
    return (
        *((words["detected"].format(name),) if decoding and decoding.is_detected else ()),
        *((words["unreadable_bytes"].format(f"{lost:,}", name),) if lost else ()),
        *(_warned(flag, paper, words) for flag in paper.flags),
        *((_not_counted(paper, words),) if paper.excluded else ()),
        *((words["exclusions"],) if _excludes(paper) else ()),
        *((words["positions"],) if paper.verified_by == "positions" else ()),
    )


def _warned(flag: str, paper: CheckedPaper, words: dict[str, str]) -> str:
    """Return what hides words, and where its file hides text."""
    places = [place for one in paper.warnings if one.kind == flag for place in one.places]
    told = words[flag.replace(" ", "_")]
    return shown(f"{told} {'; '.join(places)}") if places else told


def _not_counted(paper: CheckedPaper, words: dict[str, str]) -> str:
    """Return how many characters do not count, and why."""
    counts = Counter[str]()
    for one in paper.excluded:
        counts[one.reason] += one.characters
    parts = [
        words[f"part_{reason.replace(' ', '_')}"].format(f"{count:,}")
        for reason, count in counts.items()
    ]
    return words["not_counted"].format(f"{counts.total():,}", ", ".join(parts))


def _primary_first(sources: Sequence[SourceShare]) -> tuple[SourceShare, ...]:
    """Return the primary sources in their order, then the others as they were."""
    return tuple(sorted(sources, key=lambda one: (one.order is None, one.order or 0)))


def _sources(paper: CheckedPaper, address_of: Callable[[str], str] | None) -> tuple[SourceRow, ...]:
    places: dict[str, list[tuple[float, float]]] = {}
    length = len(paper.text) or 1
    for copy in paper.copies:
        span = (copy.start / length, copy.end / length)
        places.setdefault(copy.source_key, []).append(span)
    largest = max((source.characters for source in paper.sources), default=0) or 1
    rows = []
    for number, source in enumerate(paper.sources, 1):
        name, key = name_of(source.title, source.key), key_text(source.key)
        rows.append(
            SourceRow(
                number=number,
                title=name,
                key="" if name == key else key,
                about=about_of(source),
                share=percent(source.share),
                width=round(1000 * source.characters / largest),
                facts=(
                    *((percent(source.added_share),) if source.order else ()),
                    f"{source.characters:,}",
                    percent(source.identical_share),
                    f"{source.cases:,}",
                ),
                where=strip(places.get(source.key, ())),
                address=address_of(source.key) if address_of else "",
            )
        )
    return tuple(rows)


def _in_turn(passages: Sequence[CheckedPassage]) -> list[CheckedPassage]:
    """Return the passages in the order of the text; one that begins in another is left out."""
    held: list[CheckedPassage] = []
    for passage in sorted(passages, key=lambda one: (one.start, -one.end)):
        if not held or passage.start >= held[-1].end:
            held.append(passage)
    return held


def _blocks(
    paper: CheckedPaper,
    passages: Sequence[CheckedPassage],
    numbers: dict[str, int],
    words: dict[str, str],
) -> Iterator[tuple[Piece, ...]]:
    """Yield the text by paragraphs, a passage of several lines in one; blank ones are left out."""
    text, block, place, number = shown(paper.text), list[Piece](), 0, 0
    breaks = _PARAGRAPH if _is_wrapped(text) else _LINE
    parts = _Parts(text, paper.excluded, words)
    for passage in (*passages, None):
        until = len(text) if passage is None else passage.start
        for line, (start, end) in enumerate(_lines(text, breaks, place, until)):
            if line:
                if any(piece.text.strip() for piece in block):
                    yield tuple(block)
                block = []
            if start < end:
                block.append(Piece(text[start:end], parts=parts.of(start, end)))
        if passage is not None:
            start, end = passage.start, passage.end
            piece = Piece(text[start:end], parts=parts.of(start, end))
            if passage.copy is None:
                block.append(piece)
            else:
                copy = paper.copies[passage.copy]
                source = numbers.get(copy.source_key, 0)
                block.append(_marked(piece, passage, number, copy, source, words))
                number += 1
            place = passage.end
    if any(piece.text.strip() for piece in block):
        yield tuple(block)


def _lines(text: str, breaks: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a stretch begin and end; at least one, which may be empty."""
    begin = start
    for found in breaks.finditer(text[start:end]):
        yield begin, start + found.start()
        begin = start + found.end()
    yield begin, end


class _Parts:
    """The parts of a text that count, and those that do not, with why.

    Args:
        text: The text.
        excluded: The stretches that do not count, in order.
        words: Words of the report.
    """

    def __init__(self, text: str, excluded: Sequence[Excluded], words: dict[str, str]) -> None:
        self._text = text
        self._excluded = excluded
        self._ends = [one.end for one in excluded]
        self._words = words

    def of(self, start: int, end: int) -> tuple[tuple[str, str], ...]:
        """Return the parts of a stretch, each with why it does not count; none: all counts."""
        found: list[tuple[str, str]] = []
        place = start
        for one in self._excluded[bisect_right(self._ends, start) :]:
            if one.start >= end:
                break
            first, last = max(one.start, start), min(one.end, end)
            if place < first:
                found.append((self._text[place:first], ""))
            found.append((self._text[first:last], self._words[one.reason.replace(" ", "_")]))
            place = last
        if found and place < end:
            found.append((self._text[place:end], ""))
        return tuple(found)


def paragraphs_of(text: str) -> tuple[list[str], bool]:
    """Return the paragraphs of a text as a report shows them, and whether lines are joined."""
    said = shown(text)
    wrapped = _is_wrapped(said)
    parts = (_PARAGRAPH if wrapped else _LINE).split(said)
    return [part for part in parts if part.strip()], wrapped


def _is_wrapped(text: str) -> bool:
    """Return whether most lines of paragraphs end where a column of letters was full."""
    followed = [
        len(line) for line, after in pairwise(text.split("\n")) if line.strip() and after.strip()
    ]
    full = sum(_FULL <= length <= _WIDEST for length in followed)
    return bool(followed) and 10 * full >= 7 * len(followed) and not _HAN.search(text)


def _marked(
    piece: Piece,
    passage: CheckedPassage,
    number: int,
    copy: Copy,
    source: int,
    words: dict[str, str],
) -> Piece:
    kind = kind_of(passage)
    said = words[(passage.excluded or kind).replace(" ", "_")]
    hint = f"{said}: {percent(passage.similarity)} [{source or '–'}] {key_text(copy.source_key)}"
    if passage.flags:
        hint += "\n" + "\n".join(words[flag.replace(" ", "_")] for flag in passage.flags)
    return replace(piece, number=number, kind=kind, source=source, hint=shown(hint))
