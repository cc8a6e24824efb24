"""Build what the script of a check's report needs to know: copies, cases, passages, exclusions.

A page of a long paper is small because what a source has in common with the paper is not said
twice: of a copy only the words are given that differ.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from simstore.model.check import Case, CheckedPaper, CheckedPassage, CheckOptions, Copy
from simstore.reports.html_page import shown
from simstore.reports.lines import key_text, rounded, to_json
from simstore.text import quotations

# More copies than these are not shown beside their sources, but for those that are the best of a
# passage; they count all the same.
MOST_COPIES = 4_000
# Other sources of a passage that are offered.
_MOST_OTHERS = 20
_SAME = 0
# What the script takes for white space; a page shows some of it by signs.
_BLANK = re.compile(r"[\s\ufeff]")
_OMITTED = frozenset(("template", "quotation", "bibliography"))


def paper_data(
    paper: CheckedPaper,
    passages: Sequence[CheckedPassage],
    names: Sequence[str],
    links: Sequence[str],
) -> dict[str, Any]:
    """Return the JSON values for a paper.

    Args:
        paper: The paper, its sources in the order of the report.
        passages: Those that can be selected.
        names: What its sources are called.
        links: Where more is told of them; empty: nowhere.
    """
    text = shown(paper.text)
    numbers = {source.key: number for number, source in enumerate(paper.sources, 1)}
    places = _kept(paper, passages)
    kept = set(places)
    cases = [case for case in paper.cases if not kept.isdisjoint(case.copies)]
    return {
        "text": text,
        "sources": list(names),
        "links": list(links),
        "copies": [
            _copy_row(copy, numbers, text)
            for number, copy in enumerate(paper.copies)
            if number in kept
        ],
        "rest": [
            [
                numbers.get(copy.source_key, 0),
                copy.start,
                copy.end,
                [place for block in _joined(copy.blocks) for place in block[:2]],
            ]
            for number, copy in enumerate(paper.copies)
            if number not in kept
        ],
        "cases": [_case_row(case, numbers, places) for case in cases],
        "left": len(paper.cases) - len(cases),
        "passages": [_passage_row(one, places) for one in passages],
        "limits": [paper.high, paper.moderate],
        # What a reader's choice of sources changes is counted again in the page.
        "characters": paper.totals.characters,
        "counted": paper.totals.high + paper.totals.moderate + paper.totals.none,
        "omitted": [
            place
            for one in paper.excluded
            if one.reason in _OMITTED
            for place in (one.start, one.end)
        ],
        "quoted": [place for span in quotations.quotations(paper.text) for place in span],
        "odd": [
            place
            for place, (sign, seen) in enumerate(zip(paper.text, text, strict=True))
            if sign.isspace() != bool(_BLANK.match(seen))
        ],
        "chapters": [[one.start, one.end, one.characters] for one in paper.chapters],
    }


def kind_of(passage: CheckedPassage) -> str:
    """Return the class of a passage with a source: high, moderate, low, or excluded."""
    if passage.excluded is not None:
        return "excluded"
    return "low" if passage.kind == "none" else passage.kind


def settings_text(options: CheckOptions) -> str:
    """Return the options that are not those by default, in a line; empty where all are."""
    told = []
    for one in fields(options):
        value = getattr(options, one.name)
        if value == one.default:
            continue
        if one.name == "template":
            value = len(value)
        elif isinstance(value, tuple):
            value = " ".join(shown(each) for each in value)
        name = one.name.replace("_", " ")
        told.append(name if value is True else f"{name}: {value}")
    return "; ".join(told)


def report_number(papers: Sequence[CheckedPaper], *facts: object) -> str:
    """Return the number of a report: another one where anything in it is another.

    Args:
        papers: Its papers.
        facts: What else it says.
    """
    digest = hashlib.sha256()
    for paper in papers:
        digest.update(paper.text.encode("utf-8", "surrogatepass"))
        said = [paper.key, repr(paper.totals), repr(paper.sources), repr(paper.cases)]
        digest.update("\0".join(said).encode("utf-8", "surrogatepass"))
    digest.update(to_json([str(fact) for fact in facts]).encode("utf-8", "surrogatepass"))
    number = digest.hexdigest()[:12].upper()
    return "-".join(number[place : place + 4] for place in (0, 4, 8))


def _kept(paper: CheckedPaper, passages: Sequence[CheckedPassage]) -> dict[int, int]:
    """Return the place in the page of each copy that is shown beside its source."""
    if len(paper.copies) <= MOST_COPIES:
        return {number: number for number in range(len(paper.copies))}
    primary = {source.key for source in paper.sources if source.order is not None}
    best = [one.copy for one in passages if one.copy is not None]
    of_primary = [number for number, copy in enumerate(paper.copies) if copy.source_key in primary]
    wanted = dict.fromkeys([*best, *of_primary, *range(len(paper.copies))])
    chosen = sorted(list(wanted)[: max(MOST_COPIES, len(set(best)))])
    return {number: place for place, number in enumerate(chosen)}


def _passage_row(passage: CheckedPassage, places: dict[int, int]) -> list[object]:
    """Return a passage for the script, with each of its copies and how like that it is."""
    alike = [(passage.copy, passage.similarity), *passage.others]
    held = [
        (places[number], rounded(share))
        for number, share in alike
        if number is not None and number in places
    ]
    return [passage.start, passage.end, kind_of(passage), held[: 1 + _MOST_OTHERS]]


def _copy_row(copy: Copy, numbers: dict[str, int], text: str) -> list[object]:
    """Return a copy for the script.

    What the source says is told in turns: what stands before a block that is the same in both, and
    the block, which is 0 where it is the very same; then what stands behind the last.
    """
    number = numbers.get(copy.source_key, 0)
    blocks = _joined(copy.blocks)
    row: list[object] = [
        copy.start,
        copy.end,
        number,
        copy.source_start,
        copy.source_end,
        rounded(copy.similarity),
        copy.evidence,
        [place for block in blocks for place in block],
        None if copy.source_text is None else _said(copy, blocks, text),
    ]
    return row if number else [*row, key_text(copy.source_key)]


def _said(copy: Copy, blocks: Sequence[tuple[int, int, int, int]], text: str) -> list[str | int]:
    source, first = shown(copy.source_text or ""), copy.source_start
    pieces, place = list[str | int](), 0
    for start, end, other, last in blocks:
        pieces.append(source[place : other - first])
        block = source[other - first : last - first]
        pieces.append(_SAME if block == text[start:end] else block)
        place = last - first
    pieces.append(source[place:])
    return pieces


def _case_row(case: Case, numbers: dict[str, int], places: dict[int, int]) -> list[object]:
    """Return a case for the script: its ends, source, the share that is the same, and copies."""
    number = numbers.get(case.source_key, 0)
    row: list[object] = [
        case.start,
        case.end,
        number,
        rounded(case.identical_share),
        [places[one] for one in case.copies if one in places],
    ]
    return row if number else [*row, key_text(case.source_key)]


def _joined(blocks: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Return the blocks; two that adjoin in both texts are one."""
    held: list[tuple[int, int, int, int]] = []
    for block in blocks:
        if held and held[-1][1] == block[0] and held[-1][3] == block[2]:
            held[-1] = (held[-1][0], block[1], held[-1][2], block[3])
        else:
            held.append(block)
    return held
