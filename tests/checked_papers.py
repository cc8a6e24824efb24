"""Papers that were checked, by a plain aligner over the texts of examples/article.txt."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from itertools import cycle
from pathlib import Path

from simstore.model.check import Case, CheckedPaper, CheckedPassage, Copy, SourceShare, Totals

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "article.txt"
UNITS = re.compile(r"[A-Za-z0-9']+|[\u3400-\u9fff]")
SENTENCES = re.compile(
    r"[^\s.!?。！？][^.!?。！？\n]*(?:\n(?!\s*\n)[^.!?。！？\n]*)*[.!?。！？”\"]*"
)
ENGLISH_TITLE = "Small crossings: bridges, boats and bread in the towns of the north coast"
CHINESE_TITLE = "水乡小镇的日常：桥、茶与菜市场"


def articles() -> dict[str, str]:
    """The articles of the examples by key."""
    pages = EXAMPLES.read_text(encoding="utf-8").split("\f")
    return dict(page.strip("\n").partition("\n")[::2] for page in pages if page.strip())


def english_paper() -> CheckedPaper:
    """A paper with own sentences, verbatim and reworded ones, a quotation and a bibliography."""
    held = articles()
    bridge, bread, ferry = (
        held[key].split("\n\n")[1:] for key in ("news-en-001", "science-en-002", "news-en-005")
    )
    text = "\n\n".join((
        "This essay follows three things that small towns take for granted until they fail. It "
        "draws on a winter of visits and on conversations with people who were kind enough to "
        "put down their tools.",
        bridge[0],
        "Closures of this kind are common. What is less common is how calmly a town can take them: "
        "in Alderwick the baker moved her second oven across the water within a week.",
        reworded(bridge[1], 5) if len(bridge) > 1 else "",
        f"One notice on the pier put it more plainly: “{first_sentence(ferry[0])}” Nobody there "
        "seemed surprised.",
        bread[0],
        reworded(bread[1], 3),
        "The baker in question had her own view of the matter, which involved linen, patience and "
        "a remark about summer visitors that she asked me not to print.",
        "References",
        "Port Fennel Gazette. Readers form a chain to save the Fennel Street library. Thursday.",
    ))  # fmt: skip
    titles = {key: body.partition("\n")[0] for key, body in held.items()}
    sources = {key: body for key, body in held.items() if "-en-" in key}
    return checked("essays/small-crossings.txt", ENGLISH_TITLE, text, sources, titles)


def chinese_paper() -> CheckedPaper:
    """A Chinese paper with verbatim and reworded passages."""
    held = articles()
    bridge, tea, market = (
        held[key].split("\n\n")[1:] for key in ("news-zh-001", "science-zh-001", "news-zh-005")
    )
    text = "\n".join((
        "小镇的日子看似平常，一旦桥封了、市场关了，人们才发现平常并不容易。本文记录一年里的几件小事。",
        bridge[0],
        "封桥以后，镇上的人绕道下游，多走二十分钟，抱怨却不多。",
        reworded(tea[0] + tea[1], 6),
        market[0],
        "摊主们说，习惯比地方更难搬。这句话我记了很久。",
        reworded(bridge[1], 4),
    ))  # fmt: skip
    titles = {key: body.partition("\n")[0] for key, body in held.items()}
    sources = {key: body for key, body in held.items() if "-zh-" in key}
    return checked("论文/水乡.txt", CHINESE_TITLE, text, sources, titles)


def first_sentence(text: str) -> str:
    return " ".join(next(SENTENCES.finditer(text))[0].split())


def reworded(text: str, every: int) -> str:
    """Replace every n-th long word, or Han character, of a text."""
    new = cycle(("quite", "calmly", "nearly", "always", "seldom", "later", "gently", "slowly"))
    seen = 0

    def other(found: re.Match[str]) -> str:
        nonlocal seen
        long_enough = len(found[0]) > 3 or ord(found[0][0]) > 0x2E80
        seen += long_enough
        if not long_enough or seen % every:
            return found[0]
        return "某" if ord(found[0][0]) > 0x2E80 else next(new)

    return UNITS.sub(other, text)


def checked(
    key: str,
    title: str | None,
    text: str,
    sources: Mapping[str, str],
    titles: Mapping[str, str],
    *,
    with_text: bool = True,
) -> CheckedPaper:
    """Align each sentence with each source by difflib; good enough to be shown."""
    units = {name: located(body) for name, body in sources.items()}
    copies: list[Copy] = []
    passages = []
    references = text.find("\nReferences")
    for found in SENTENCES.finditer(text):
        start, end = found.span()
        near = [
            copy
            for name in sources
            if (copy := best_copy(text, start, end, name, sources[name], units[name]))
        ]
        first = len(copies)
        copies += near
        best = max(range(len(near)), key=lambda at: near[at].similarity, default=None)
        value = 0.0
        if best is not None:
            held = near[best]
            value = held.similarity * (held.end - held.start) / (end - start)
        kind = "high" if value >= 0.8 else "moderate" if value >= 0.5 else "none"
        excluded = "bibliography" if 0 <= references < start else None
        excluded = "quotation" if "“" in found[0] else excluded
        passages.append(
            CheckedPassage(
                start=start, end=end, similarity=round(value, 4), kind=kind,  # type: ignore[arg-type]
                copy=None if best is None else first + best, excluded=excluded,  # type: ignore[arg-type]
                others=tuple(
                    (first + at, copy.similarity * (copy.end - copy.start) / (end - start))
                    for at, copy in enumerate(near) if at != best
                ),
            )
        )  # fmt: skip
    return summed(key, title, text, tuple(passages), tuple(copies), titles, with_text=with_text)


def summed(
    key: str,
    title: str | None,
    text: str,
    passages: tuple[CheckedPassage, ...],
    copies: tuple[Copy, ...],
    titles: Mapping[str, str],
    *,
    with_text: bool = True,
) -> CheckedPaper:
    """Count; characters with white space, which is near enough for a picture."""
    covered: dict[str, set[int]] = {}
    for copy in copies:
        covered.setdefault(copy.source_key, set()).update(range(copy.start, copy.end))
    size = len(text) or 1
    together = set().union(*covered.values()) if covered else set()
    shares = sorted(
        (
            SourceShare(
                key=name,
                title=titles.get(name),
                document_id=number,
                characters=len(places),
                share=len(places) / size,
                copies=sum(copy.source_key == name for copy in copies),
                cases=sum(copy.source_key == name for copy in copies),
                identical=identical_of([copy for copy in copies if copy.source_key == name]),
                identical_share=identical_of([c for c in copies if c.source_key == name]) / size,
            )
            for number, (name, places) in enumerate(covered.items())
        ),
        key=lambda share: -share.characters,
    )
    excluded = {
        at for one in passages if one.excluded for at in range(one.start, one.end)
    } & together
    counts = {
        kind: sum(one.kind == kind and one.excluded is None for one in passages)
        for kind in ("high", "moderate", "none")
    }
    share, counted = len(together) / size, len(together - excluded) / size
    totals = Totals(
        characters=len(text),
        copied=len(together - excluded),
        share=counted,
        share_without_quotations=counted,
        share_with_excluded=share,
        largest_source_share=shares[0].share if shares else 0.0,
        cases=len(copies),
        identical=identical_of(copies),
        identical_share=identical_of(copies) / size,
        **counts,
    )
    if not with_text:
        copies = tuple(
            Copy(
                start=c.start,
                end=c.end,
                source_key=c.source_key,
                source_document_id=c.source_document_id,
                source_start=c.source_start,
                source_end=c.source_end,
                similarity=c.similarity,
                evidence="anchors",
                blocks=c.blocks,
                source_text=None,
            )
            for c in copies
        )
    return CheckedPaper(
        key=key,
        title=title,
        text=text,
        passages=passages,
        copies=copies,
        sources=tuple(shares),
        totals=totals,
        cases=tuple(case_of(number, copy) for number, copy in enumerate(copies)),
        method="Anchors of the paper were looked up in the passage index, and texts were aligned.",
        guarantee="Every verbatim run of at least 8 words, or 13 characters of Han, is found.",
        verified_by="text" if with_text else "positions",
    )


def identical_of(copies: Iterable[Copy]) -> int:
    return len({
        place for copy in copies for block in copy.blocks for place in range(block[0], block[1])
    })  # fmt: skip


def case_of(number: int, copy: Copy) -> Case:
    """A case of one copy."""
    identical = identical_of([copy])
    return Case(
        start=copy.start,
        end=copy.end,
        source_key=copy.source_key,
        source_document_id=copy.source_document_id,
        source_start=copy.source_start,
        source_end=copy.source_end,
        characters=copy.end - copy.start,
        identical=identical,
        identical_share=identical / (copy.end - copy.start),
        copies=(number,),
    )


def located(text: str) -> list[tuple[str, int, int]]:
    return [(found[0].lower(), *found.span()) for found in UNITS.finditer(text)]


def best_copy(
    text: str, start: int, end: int, name: str, source: str, units: list[tuple[str, int, int]]
) -> Copy | None:
    own = [(unit, a + start, b + start) for unit, a, b in located(text[start:end])]
    spoken, written = [unit for unit, _, _ in own], [unit for unit, _, _ in units]
    if not own or not units:
        return None
    matcher = SequenceMatcher(None, spoken, written, autojunk=False)
    longest = matcher.find_longest_match()
    if longest.size < 3:
        return None
    # The stretch of the source as long as the sentence, about the longest run that both have.
    low = max(0, longest.b - longest.a - 2)
    high = min(len(units), low + len(own) + 4)
    matcher = SequenceMatcher(None, spoken, written[low:high], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    common = sum(block.size for block in blocks)
    if 2 * common < len(own):
        return None
    first, last = blocks[0], blocks[-1]
    spans = tuple(
        (own[b.a][1], own[b.a + b.size - 1][2],
         units[low + b.b][1], units[low + b.b + b.size - 1][2])
        for b in blocks
    )  # fmt: skip
    length = last.a + last.size - first.a + last.b + last.size - first.b
    return Copy(
        start=spans[0][0],
        end=spans[-1][1],
        source_key=name,
        source_document_id=0,
        source_start=spans[0][2],
        source_end=spans[-1][3],
        similarity=2 * common / length,
        evidence="text",
        blocks=spans,
        source_text=source[spans[0][2] : spans[-1][3]],
    )


def long_paper(passages: int = 5_000, sources: int = 300) -> CheckedPaper:
    """A paper of 200 pages: some 80 characters a passage, half of them from somewhere."""
    draw = random.Random(7)
    vocabulary = [
        "".join(draw.choices("abcdefghilmnoprstu", k=draw.randint(3, 9))) for _ in range(4_000)
    ]
    pieces: list[str] = []
    spans, copies, place = [], [], 0
    for number in range(passages):
        words = " ".join(draw.choices(vocabulary, k=12)).capitalize() + "."
        end = place + len(words)
        copy = None
        if number % 2:
            name = f"source-{min(int(draw.expovariate(0.02)), sources - 1):04d}"
            half = words.index(" ", len(words) // 2)
            kept = draw.random() < 0.6
            block = ((place, end, 0, len(words)),) if kept else ((place, place + half, 0, half),)
            other = words if kept else words[:half] + " and something else altogether."
            copy = len(copies)
            copies.append(
                Copy(
                    start=place,
                    end=end,
                    source_key=name,
                    source_document_id=1,
                    source_start=0,
                    source_end=len(other),
                    similarity=1.0 if kept else draw.uniform(0.3, 0.79),
                    evidence="text",
                    blocks=block,
                    source_text=other,
                )
            )
        value = copies[copy].similarity if copy is not None else 0.0
        kind = "high" if value >= 0.8 else "moderate" if value >= 0.5 else "none"
        spans.append(CheckedPassage(start=place, end=end, similarity=value, kind=kind, copy=copy))  # type: ignore[arg-type]
        separator = "\n" if number % 9 == 8 else " "
        pieces += (words, separator)
        place = end + 1
    titles: dict[str, str] = {}
    return summed("long.txt", "A long paper", "".join(pieces), tuple(spans), tuple(copies), titles)
