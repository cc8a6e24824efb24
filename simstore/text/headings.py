"""Find the chapters of a text by its headings.

Places are [start, end) in characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

# Longer lines are sentences; a heading of Chinese characters is shorter.
_LONGEST, _LONGEST_HAN, _LONGEST_MARKED = 90, 36, 300
# What has less text below its heading is a line of a table of contents, or a heading above another.
_LEAST_TEXT = 80
# Capitals alone are the weakest mark: they count where no others are.
_CAPITALS = 9
_HAN = re.compile("[\u3400-\u9fff]")
_LINE = re.compile(r"[^\n]+")
_MARKDOWN = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t#]*$")
_CHAPTER = re.compile(
    r"(?:chapter|part|section|book|appendix|adventure|lecture|letter|act)[ \t]+"
    r"(?:\d+|[ivxlc]+|[a-z]|one|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"|第[ \t]*[0-9一二三四五六七八九十百零〇]+[ \t]*[章篇部回卷讲]",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"[IVXL]{1,6}\.[ \t]+(?=[A-Z])")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})[.、]?[ \t]*(?=[A-Z\u3400-\u9fff])")
_COUNTED_HAN = re.compile("[一二三四五六七八九十]{1,3}、")
_NAMED = re.compile(
    r"(?:abstract|summary|introduction|background|related work|methods?|materials and methods|"
    r"results|discussion|results and discussion|conclusions?|references|bibliography|"
    r"acknowledge?ments?|摘\s*要|引\s*言|绪\s*论|前\s*言|结\s*论|结\s*语|讨\s*论|参\s*考\s*文\s*献|致\s*谢|后\s*记)"
    r"[:：.]?$",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[,;，；。！？!?…]$|[a-z\u3400-\u9fff][.:：]$")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of a text with its heading.

    Attributes:
        title: Its heading; empty for what stands before the first one.
        start: Where its heading begins.
        end: Where the next one begins.
    """

    title: str
    start: int
    end: int


def chapters(text: str) -> list[Chapter]:
    r"""Return the chapters of a text, in order; none where fewer than two headings are found.

    >>> said = "The water rises twice a day, and nobody has seen it wait for a boat. " * 2
    >>> [one.title for one in chapters(f"# Tides\n{said}\n# Boats\n{said}")]
    ['Tides', 'Boats']

    A heading is a short line that stands alone and is marked (``#``), numbered (``2 Method``,
    ``Chapter 3``, ``第三章``), one of the names that parts of papers have, or all capitals. Of
    headings of several levels the highest of which there are two or more count.

    Args:
        text: The text.
    """
    found = list(_headings(text))
    counts = Counter(level for _, _, level in found)
    level = min((each for each, count in counts.items() if count > 1), default=0)
    if not level:
        return []
    starts = [(start, title) for start, title, each in found if each == level]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    kept = [
        (start, title)
        for (start, title), end in zip(starts, ends, strict=True)
        if end - start - len(title) >= _LEAST_TEXT
    ]
    if len(kept) < 2:
        return []
    if text[: kept[0][0]].strip():
        kept.insert(0, (0, ""))
    ends = [start for start, _ in kept[1:]] + [len(text)]
    return [Chapter(title, start, end) for (start, title), end in zip(kept, ends, strict=True)]


def _headings(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield where each heading begins, what it says, and its level from 1 on."""
    has_blank_lines = "\n\n" in text
    for found in _LINE.finditer(text):
        line = found[0].strip()
        level, title = _level(line) if line else (0, "")
        if not level:
            continue
        # Between lines of one paragraph is no heading, but below a mark text may begin at once.
        start, end = found.span()
        above = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : start].strip()
        below = text[end : end + 2].strip(" \t")
        if line.startswith("#") or not has_blank_lines or (not above and below in ("\n\n", "")):
            yield start + len(found[0]) - len(found[0].lstrip()), title, level


def _level(line: str) -> tuple[int, str]:
    """Return the level of a heading and its words; 0 where the line is none."""
    if len(line) > _LONGEST_MARKED:
        return 0, line
    if marked := _MARKDOWN.match(line):
        return len(marked[1]), marked[2]
    if len(line) > (_LONGEST_HAN if _HAN.search(line) else _LONGEST):
        return 0, line
    if _CHAPTER.match(line) and not re.search(r"[,;，；。！？!?]$", line):
        return 1, line
    if _ENDS.search(line):
        return 0, line
    if numbered := _NUMBERED.match(line):
        return 1 + numbered[1].count("."), line
    if _NAMED.match(line) or _COUNTED_HAN.match(line) or _ROMAN.match(line):
        return 1, line
    letters = [sign for sign in line if sign.isalpha()]
    capitals = len(letters) > 3 and line[0].isalpha() and all(sign.isupper() for sign in letters)
    return (_CAPITALS if capitals else 0), line
