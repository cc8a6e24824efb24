"""Render the results of text-reuse checks as tables, JSON Lines and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from simstore.errors import counted, printable
from simstore.model import (
    Case,
    CheckedPaper,
    CheckedPassage,
    MutualCheck,
    SourceShare,
    Totals,
)
from simstore.reports.lines import (
    about_line,
    csv_line,
    decoding_fields,
    key_bytes,
    key_text,
    record_of,
    rounded,
    to_json,
)
from simstore.text.located import located_units

CSV_COLUMNS = (
    "paper", "start", "end", "among", "source", "title", "source_start", "source_end", "characters",
    "identical", "identical_share", "text",
)  # fmt: skip
# What is excluded, of which several stretches are told together.
_EXCLUDED = {
    "template": "template",
    "quotation": "quotations",
    "bibliography": "bibliography",
    "excluded source": "excluded sources",
    "small source": "small sources",
    "small match": "small matches",
}
# Of hidden text that are told in a line.
_MOST_PLACES = 5


def render_jsonl(
    papers: Iterable[CheckedPaper],
    mutual: MutualCheck | None = None,
    *,
    all_sources: bool = False,
) -> Iterator[bytes]:
    """Yield one JSON object a paper; places are [start, end) in characters of the texts.

    A case names its copies by their places among the copies, from 0 on. A passage that is told of
    names its best copy in the same way. Blocks of a copy are the stretches that are the same in
    both texts: start and end in the paper, start and end in the source.

    Args:
        papers: The papers.
        mutual: The same papers beside each other: sources, cases and copies of each are told.
        all_sources: List all sources, the largest first; else the primary ones, with how many
            others there are.
    """
    for number, paper in enumerate(papers):
        listed, others = listed_sources(paper, all_sources=all_sources)
        record = {
            "paper": key_text(paper.key),
            **key_bytes("paper", paper.key),
            "title": paper.title,
            "totals": record_of(paper.totals),
            "high": paper.high,
            "moderate": paper.moderate,
            "verified_by": paper.verified_by,
            "method": paper.method,
            "guarantee": paper.guarantee,
            **decoding_fields(paper.decoding),
            "flags": paper.flags,
            "warnings": [
                record_of(one, "spans") | {"passages": one.spans} for one in paper.warnings
            ],
            "excluded": [record_of(one) for one in paper.excluded],
            "chapters": [record_of(one) for one in paper.chapters],
            **_found(paper, listed),
            "other_sources": others,
            "passages": [record_of(one, "others") for one in paper.passages],
            **({} if mutual is None else _beside(mutual, number)),
        }
        yield to_json(record).encode("utf-8", "backslashreplace") + b"\n"


def render_csv(
    papers: Iterable[CheckedPaper], mutual: MutualCheck | None = None
) -> Iterator[bytes]:
    """Yield a header and a row a case, with its text on one line.

    Args:
        papers: The papers.
        mutual: The same papers beside each other: cases of which another paper is the source
            follow those of each paper.
    """
    yield csv_line(CSV_COLUMNS)
    for number, paper in enumerate(papers):
        # Without a library, the result among the papers is the only one.
        if mutual is None or mutual.papers[number] is not paper:
            yield from _case_lines(paper, "library")
        if mutual is not None:
            yield from _case_lines(mutual.papers[number], "papers")


def _case_lines(paper: CheckedPaper, among: str) -> Iterator[bytes]:
    titles = {source.document_id: source.title or "" for source in paper.sources}
    for case in paper.cases:
        row = (
            paper.key,
            case.start,
            case.end,
            among,
            case.source_key,
            titles.get(case.source_document_id, ""),
            case.source_start,
            case.source_end,
            case.characters,
            case.identical,
            f"{case.identical_share:.4f}",
            " ".join(paper.text[case.start : case.end].split()),
        )
        yield csv_line([printable(one) if isinstance(one, str) else one for one in row])


def total_facts(paper: CheckedPaper) -> list[tuple[str, str]]:
    """Return the totals of a paper by name, for people."""
    totals = paper.totals
    more = totals.share_with_excluded > totals.share
    return [
        ("paper", printable(paper.key)),
        ("copied", f"{totals.share:.1%} ({totals.copied:,} of {totals.characters:,} characters)"),
        ("word for word", _identical(totals)),
        ("without quotations", f"{totals.share_without_quotations:.1%}"),
        *([("with what is excluded", f"{totals.share_with_excluded:.1%}")] if more else []),
        *([("excluded", excluded_line(paper))] if paper.excluded else []),
        ("largest source", f"{totals.largest_source_share:.1%}"),
        (
            "passages",
            f"{totals.high:,} high (>= {paper.high:g}), {totals.moderate:,} moderate "
            f"(>= {paper.moderate:g}), {totals.none:,} neither",
        ),
        (
            "compared by",
            "the texts" if paper.verified_by == "text" else "places: the store keeps no texts",
        ),
        *([("warning", _hiding(paper))] if paper.flags else []),
    ]


def _hiding(paper: CheckedPaper) -> str:
    """Return what hides words of a paper, and where its file hides text."""
    told = f"it hides words: {', '.join(paper.flags)}"
    places = [place for one in paper.warnings for place in one.places]
    more = f"; and {len(places) - _MOST_PLACES} more places" if len(places) > _MOST_PLACES else ""
    return f"{told} ({'; '.join(places[:_MOST_PLACES])}{more})" if places else told


def excluded_line(paper: CheckedPaper) -> str:
    """Return how many characters of a paper do not count, and why, in a line.

    Args:
        paper: What was checked; something in it is excluded.
    """
    counts: dict[str, int] = {}
    for one in paper.excluded:
        counts[one.reason] = counts.get(one.reason, 0) + one.characters
    told = ", ".join(f"{_EXCLUDED[reason]} {count:,}" for reason, count in counts.items())
    total = sum(counts.values())
    return f"{counted(total, 'character')} {'does' if total == 1 else 'do'} not count: {told}"


def _identical(totals: Totals) -> str:
    told = f"{totals.identical_share:.1%} ({totals.identical:,} characters"
    return f"{told}, in {counted(totals.cases, 'case')})" if totals.cases else f"{told})"


def listed_sources(
    paper: CheckedPaper, *, all_sources: bool = False
) -> tuple[list[SourceShare], int]:
    """Return the sources to list, and how many others there are.

    The primary ones in their order; where all are asked for, or none is primary, all, the largest
    first.

    Args:
        paper: What was checked.
        all_sources: List all.
    """
    primary = sorted(
        (source for source in paper.sources if source.order is not None),
        key=lambda source: source.order or 0,
    )
    listed = list(paper.sources) if all_sources or not primary else primary
    return listed, len(paper.sources) - len(listed)


def source_rows(
    paper: CheckedPaper, *, all_sources: bool = False
) -> list[tuple[str, str, str, int, int, str, str]]:
    """Return a row a source: share, what it adds, what is the same, characters, cases, key, facts.

    Args:
        paper: What was checked.
        all_sources: As for :func:`listed_sources`.
    """
    return [
        (
            f"{source.share:.1%}",
            f"{source.added_share:.1%}" if source.order is not None else "",
            f"{source.identical_share:.1%}",
            source.characters,
            source.cases,
            source.key,
            about_line(source),
        )
        for source in listed_sources(paper, all_sources=all_sources)[0]
    ]


def case_rows(
    paper: CheckedPaper, *, all_sources: bool = False
) -> list[tuple[str, int, int, int, str, str]]:
    """Return a row a case of the listed sources: source, place, words, what is the same, its text.

    Source by source, in the order in which they are listed; of each in the order of the paper.
    Words are characters where a script has no blanks between them. Of a case that is excluded as a
    whole nothing is the same.

    Args:
        paper: What was checked.
        all_sources: As for :func:`listed_sources`.
    """
    listed = listed_sources(paper, all_sources=all_sources)[0]
    of_source: dict[str, list[Case]] = {source.key: [] for source in listed}
    for case in paper.cases:
        of_source.get(case.source_key, []).append(case)
    starts = located_units(paper.text).starts
    return [
        (
            case.source_key,
            case.start,
            case.end,
            int(np.diff(np.searchsorted(starts, (case.start, case.end)))[0]),
            f"{case.identical_share:.1%}" if case.characters else "excluded",
            " ".join(paper.text[case.start : case.end].split()),
        )
        for case in chain.from_iterable(of_source.values())
    ]


def passage_rows(paper: CheckedPaper) -> list[tuple[int, int, str, str, str, str]]:
    """Return a row a passage that is like a source: place, class, similarity, source, text."""
    return [_passage_row(paper, passage) for passage in paper.passages if passage.kind != "none"]


def _passage_row(
    paper: CheckedPaper, passage: CheckedPassage
) -> tuple[int, int, str, str, str, str]:
    text = " ".join(paper.text[passage.start : passage.end].split())
    source = "" if passage.copy is None else paper.copies[passage.copy].source_key
    kind = passage.kind if passage.excluded is None else f"{passage.kind} ({passage.excluded})"
    return passage.start, passage.end, kind, f"{passage.similarity:.3f}", source, text


def pair_rows(mutual: MutualCheck) -> list[tuple[str, str, str, int, int, str, str]]:
    """Return a row a pair: share not in the library, both shares, characters, cases, both keys."""
    return [
        (
            f"{pair.own_share:.1%}",
            f"{pair.share:.1%}",
            f"{pair.second_share:.1%}",
            pair.characters,
            pair.cases,
            pair.first_key,
            pair.second_key,
        )
        for pair in mutual.pairs
    ]


def _beside(mutual: MutualCheck, number: int) -> dict[str, Any]:
    """Return what a paper has in common with others; of each also the share of no document."""
    paper = mutual.papers[number]
    own = {pair.second: pair.own_share for pair in mutual.pairs if pair.first == number}
    own |= {pair.first: pair.second_own_share for pair in mutual.pairs if pair.second == number}
    found = _found(paper, paper.sources)
    for source in found["sources"]:
        source["own_share"] = rounded(own[source["document_id"]])
    return {"mutual": found}


def _found(paper: CheckedPaper, sources: Sequence[SourceShare]) -> dict[str, Any]:
    """Return what was found in a paper: sources, its cases and copies."""
    return {
        "sources": [record_of(source) for source in sources],
        "cases": [record_of(case) for case in paper.cases],
        "copies": [record_of(copy) for copy in paper.copies],
    }
