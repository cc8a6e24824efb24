"""Build the result of a paper check from the copies found: passages, sources and totals."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simstore.model import (
    Case,
    ChapterShare,
    CheckedPassage,
    CheckOptions,
    Copy,
    Excluded,
    SourceShare,
    Totals,
)
from simstore.model.check import ExcludedAs, PassageKind
from simstore.model.documents import SourceFacts
from simstore.search.cases import is_told, joined
from simstore.services.check.counted_copies import PaperMeasure, UnitCopy, counted_cases
from simstore.services.check.exclusions import Exclusions, mask_of
from simstore.text import headings, quotations
from simstore.text.located import LocatedUnits
from simstore.text.passages import Span, sentences, windows

_MOST_ALIKE = 101
# Characters: less than the shortest run that is certain to be found, of either kind of script.
_LEAST_ADDED = 13
_UNKNOWN = SourceFacts()
# How like a copy a passage is, the copy's length, and its number, negated: the largest is best.
_Alike = tuple[float, int, int]


@dataclass(frozen=True, slots=True)
class JudgedCopy:
    """The judged parts of a report; see :class:`simstore.model.CheckedPaper`."""

    passages: tuple[CheckedPassage, ...]
    cases: tuple[Case, ...]
    copies: tuple[Copy, ...]
    sources: tuple[SourceShare, ...]
    totals: Totals
    excluded: tuple[Excluded, ...]
    chapters: tuple[ChapterShare, ...]


def judge(
    text: str,
    measure: PaperMeasure,
    found: Sequence[UnitCopy],
    facts: Mapping[int, SourceFacts],
    options: CheckOptions,
    templates: Sequence[Span] = (),
) -> JudgedCopy:
    """Return the passages, cases, copies, sources and totals that a report gives for a paper.

    Args:
        text: The paper.
        measure: Its units, and how many are a copy.
        found: The copies.
        facts: What is known of the sources.
        options: What is excluded, the limits, and what a passage is.
        templates: What the paper has of its templates.
    """
    quoted = quotations.quotations(text)
    bibliography = quotations.bibliography(text)
    omitted: dict[ExcludedAs, Sequence[Span]] = {"template": templates}
    if options.exclude_quotations:
        omitted["quotation"] = quoted
    if options.exclude_bibliography and bibliography is not None:
        omitted["bibliography"] = [bibliography]
    exclusions = Exclusions(text)
    for reason, spans in omitted.items():
        exclusions.add(reason, spans)
    of_cases = told_cases(found)
    of_counted = counted_cases(of_cases, measure, exclusions, options)
    counted = sorted((each for case in of_counted for each in case), key=_order)
    cut = sentences(text) if options.by == "sentences" else windows(text, options.window)
    passages = _passages(cut, measure.units, counted, options)
    for reason, spans in omitted.items():
        passages = _excluded(passages, mask_of(len(text), spans), reason)
    copies = tuple(each.copy for each in counted)
    without = [span for spans in omitted.values() for span in spans]
    ink = Ink(text, without)
    numbers = {id(each): number for number, each in enumerate(counted)}
    cases = _cases(ink, of_counted, numbers)
    sources = _sources(ink, copies, cases, facts)
    kinds = [passage.kind for passage in passages if passage.excluded is None]
    spans = [_span(copy) for copy in copies]
    copied = ink.count(spans)
    identical = ink.count(_same(copies))
    every = [each.place for case in of_cases for each in case]
    totals = Totals(
        characters=ink.total,
        copied=copied,
        share=ink.share(copied),
        share_without_quotations=ink.share(Ink(text, [*without, *quoted]).count(spans)),
        share_with_excluded=ink.share(Ink(text).count(every)),
        largest_source_share=max((source.share for source in sources), default=0.0),
        high=kinds.count("high"),
        moderate=kinds.count("moderate"),
        none=kinds.count("none"),
        cases=_stretch_count(cases, len(text)),
        identical=identical,
        identical_share=ink.share(identical),
    )
    of_chapters = tuple(
        _chapter(ink, chapter, spans, _same(copies)) for chapter in headings.chapters(text)
    )
    return JudgedCopy(
        tuple(passages), cases, copies, sources, totals, exclusions.stretches(), of_chapters
    )


def _chapter(
    ink: Ink, chapter: headings.Chapter, copied: Sequence[Span], same: Sequence[Span]
) -> ChapterShare:
    """Return the shares of a chapter.

    Args:
        ink: The paper.
        chapter: The chapter.
        copied: Where the copies are.
        same: What of them is the same in a source.
    """
    place = chapter.start, chapter.end
    characters = ink.size(place)
    counts = [ink.count(_within(spans, place)) for spans in (copied, same)]
    shares = [count / characters if characters else 0.0 for count in counts]
    return ChapterShare(
        title=chapter.title,
        start=chapter.start,
        end=chapter.end,
        characters=characters,
        copied=counts[0],
        share=shares[0],
        identical=counts[1],
        identical_share=shares[1],
    )


def _within(spans: Sequence[Span], place: Span) -> list[Span]:
    """Return what of spans is within a place."""
    first, last = place
    return [(max(a, first), min(b, last)) for a, b in spans if a < last and b > first]


def _order(each: UnitCopy) -> tuple[int, float, int, int, int]:
    """Return the place of a copy among others: by the paper, then the likest first."""
    copy = each.copy
    return copy.start, -copy.similarity, -copy.end, copy.source_document_id, copy.source_start


def told_cases(found: Sequence[UnitCopy]) -> list[list[UnitCopy]]:
    """Return the copies of each case that is told, source by source.

    Args:
        found: Copies of all sources.
    """
    by_source: dict[int, list[UnitCopy]] = {}
    for each in found:
        by_source.setdefault(each.copy.source_document_id, []).append(each)
    cases = []
    for theirs in by_source.values():
        for numbers in joined([each.span for each in theirs]):
            case = [theirs[number] for number in numbers]
            if is_told([each.span for each in case]):
                cases.append(case)
    return cases


class Ink:
    """The characters of a text that are no white space.

    Args:
        text: The text.
        without: Spans whose characters are in the total, and are not counted.
    """

    def __init__(self, text: str, without: Sequence[Span] = ()) -> None:
        is_ink = mask_of(len(text), [found.span() for found in re.finditer(r"\S+", text)])
        self.total = int(is_ink.sum())
        self._before = np.r_[0, np.cumsum(is_ink)]
        self._counted = is_ink & ~mask_of(len(text), without)

    def size(self, place: Span) -> int:
        """Count all of a place, with those that are not counted elsewhere."""
        return int(self._before[place[1]] - self._before[place[0]])

    def count(self, spans: Sequence[Span]) -> int:
        """Count those in spans, each once."""
        return int((mask_of(len(self._counted), spans) & self._counted).sum())

    def primary(self, spans: Mapping[int, Sequence[Span]]) -> dict[int, tuple[int, int]]:
        """Return what few sources explain: place from 1 on and characters added, by source.

        Each is the one that explains most of what those before it leave, the earliest of equal
        ones. One that adds fewer than :data:`_LEAST_ADDED` has no place, but for the first.

        Args:
            spans: Where the copies from each source are.
        """
        left = self._counted.copy()
        waiting = [(-self.count(theirs), number) for number, theirs in spans.items()]
        heapq.heapify(waiting)
        taken: dict[int, tuple[int, int]] = {}
        while waiting:
            # What a source adds only becomes less, so what leads after a new count is taken.
            _, number = heapq.heappop(waiting)
            mask = mask_of(len(left), spans[number]) & left
            added = int(mask.sum())
            if added < (_LEAST_ADDED if taken else 1):
                continue
            if waiting and (-added, number) > waiting[0]:
                heapq.heappush(waiting, (-added, number))
                continue
            taken[number] = len(taken) + 1, added
            left &= ~mask
        return taken

    def share(self, count: int) -> float:
        """Return a count as a share of all."""
        return count / self.total if self.total else 0.0


def _span(copy: Copy) -> Span:
    return copy.start, copy.end


def _same(copies: Sequence[Copy]) -> list[Span]:
    """Return the stretches of the paper that are the same in a source."""
    return [(start, end) for copy in copies for start, end, _, _ in copy.blocks]


def _cases(
    ink: Ink, found: Sequence[Sequence[UnitCopy]], numbers: Mapping[int, int]
) -> tuple[Case, ...]:
    """Return the cases in the order of the paper.

    Args:
        ink: The paper.
        found: The copies of each.
        numbers: Which of the paper's copies each is, by its identity.
    """
    cases = []
    for theirs in found:
        copies = [each.copy for each in theirs]
        start, end = min(copy.start for copy in copies), max(copy.end for copy in copies)
        characters, identical = ink.count([(start, end)]), ink.count(_same(copies))
        cases.append(
            Case(
                start=start,
                end=end,
                source_key=copies[0].source_key,
                source_document_id=copies[0].source_document_id,
                source_start=min(copy.source_start for copy in copies),
                source_end=max(copy.source_end for copy in copies),
                characters=characters,
                identical=identical,
                identical_share=identical / characters if characters else 0.0,
                copies=tuple(sorted(numbers[id(each)] for each in theirs)),
            )
        )
    cases.sort(
        key=lambda case: (case.start, -case.identical, case.source_document_id, case.source_start)
    )
    return tuple(cases)


def _stretch_count(cases: Sequence[Case], size: int) -> int:
    """Return how many stretches of the paper the cases are: what several sources have is one.

    A case of which at least half lies in longer ones is the same stretch.

    Args:
        cases: The cases of all sources.
        size: Characters of the paper.
    """
    count = 0
    is_told = np.zeros(size, bool)
    for case in sorted(cases, key=lambda one: (one.start - one.end, one.start)):
        inside = is_told[case.start : case.end]
        if 2 * int(np.count_nonzero(inside)) < len(inside):
            count += 1
        inside[:] = True
    return count


def _sources(
    ink: Ink,
    copies: Sequence[Copy],
    cases: Sequence[Case],
    facts: Mapping[int, SourceFacts],
) -> tuple[SourceShare, ...]:
    by_source: dict[int, list[Copy]] = {}
    for copy in copies:
        by_source.setdefault(copy.source_document_id, []).append(copy)
    case_counts = Counter(case.source_document_id for case in cases)
    primary = ink.primary(
        {number: [_span(copy) for copy in theirs] for number, theirs in by_source.items()}
    )
    shares = []
    for document_id, theirs in by_source.items():
        order, added = primary.get(document_id, (None, 0))
        about = facts.get(document_id, _UNKNOWN)
        characters = ink.count([_span(copy) for copy in theirs])
        identical = ink.count(_same(theirs))
        shares.append(
            SourceShare(
                key=theirs[0].source_key,
                title=about.title,
                author=about.author,
                date=about.date,
                url=about.url,
                document_id=document_id,
                characters=characters,
                share=ink.share(characters),
                copies=len(theirs),
                cases=case_counts[document_id],
                identical=identical,
                identical_share=ink.share(identical),
                order=order,
                added=added,
                added_share=ink.share(added),
            )
        )
    return tuple(sorted(shares, key=lambda source: (-source.characters, source.document_id)))


def _passages(
    spans: Sequence[Span],
    units: LocatedUnits,
    found: Sequence[UnitCopy],
    options: CheckOptions,
) -> list[CheckedPassage]:
    """Return the passages, each with its best copy; of equal ones, that of the most characters."""
    if not spans:
        return []
    bounds = np.array(spans, np.int64)
    firsts = np.searchsorted(units.starts, bounds[:, 0]).tolist()
    ends = np.searchsorted(units.starts, bounds[:, 1]).tolist()
    alike: list[list[_Alike]] = [[] for _ in spans]
    for number, each in enumerate(found):
        copy = each.copy
        if not each.blocks:
            _take_whole(alike, spans, number, copy)
            continue
        places = [block[0] for block in each.blocks]
        last, _, size = each.blocks[-1]
        passage = max(0, bisect_right(firsts, places[0]) - 1)
        while passage < len(spans) and firsts[passage] < last + size:
            similarity = _similarity(each.blocks, places, firsts[passage], ends[passage])
            if similarity:
                alike[passage].append((similarity, copy.end - copy.start, -number))
            passage += 1
    passages = []
    for (start, end), copies in zip(spans, alike, strict=True):
        (similarity, _, number), *others = heapq.nlargest(_MOST_ALIKE, copies) or [(0.0, 0, 1)]
        kind: PassageKind = "none"
        if number <= 0 and similarity >= options.moderate:
            kind = "high" if similarity >= options.high else "moderate"
        passages.append(
            CheckedPassage(
                start=start,
                end=end,
                similarity=similarity,
                kind=kind,
                copy=-number if number <= 0 else None,
                others=tuple((-other, share) for share, _, other in others),
            )
        )
    return passages


def _take_whole(alike: list[list[_Alike]], spans: Sequence[Span], number: int, copy: Copy) -> None:
    """Give a copy without blocks to the passages that it takes in, by the share that it takes."""
    passage = max(0, bisect_right(spans, (copy.start, copy.start)) - 1)
    while passage < len(spans) and spans[passage][0] < copy.end:
        start, end = spans[passage]
        inside = min(end, copy.end) - max(start, copy.start)
        similarity = copy.similarity * inside / (end - start)
        if inside > 0:
            alike[passage].append((similarity, copy.end - copy.start, -number))
        passage += 1


def _similarity(
    blocks: Sequence[tuple[int, int, int]], places: Sequence[int], first: int, end: int
) -> float:
    """Return 2 M / (a + b) of a passage and the source from its first match to its last."""
    number = max(0, bisect_right(places, first) - 1)
    matched, begin, behind = 0, 0, 0
    while number < len(blocks) and blocks[number][0] < end:
        place, other, size = blocks[number]
        low, high = max(first, place), min(end, place + size)
        if high > low:
            if not matched:
                begin = other + low - place
            behind = other + high - place
            matched += high - low
        number += 1
    return 2 * matched / (end - first + behind - begin) if matched else 0.0


def _excluded(
    passages: Sequence[CheckedPassage], mask: NDArray[np.bool_], reason: ExcludedAs
) -> list[CheckedPassage]:
    """Mark the passages of which more than half is in a mask."""
    inside = np.r_[0, np.cumsum(mask)]
    return [
        replace(passage, excluded=reason)
        if passage.excluded is None
        and 2 * int(inside[passage.end] - inside[passage.start]) > passage.end - passage.start
        else passage
        for passage in passages
    ]
