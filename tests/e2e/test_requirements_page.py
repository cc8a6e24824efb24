"""docs/reference/requirements.md: a test runs the command of each row, and the counts are true."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from .test_readme import REPOSITORY, blocks_of

PAGE = REPOSITORY / "docs" / "reference" / "requirements.md"
DOCUMENTS = ("assignment", "slides", "forum post", "blog", "questions and answers")
STATES = ("works", "in part", "differs", "not")
LONGEST = 280
_CODE = re.compile(r"^`([^`]+)`$")
_PLACE = re.compile(r"^\[[^\]]+\]\(((?:\.\./[\w-]+/)?[\w-]+\.md)?(?:#([\w-]+))?\)$")

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="only a checkout has docs/")


@dataclass(frozen=True)
class Row:
    """A requirement: what is asked, the command, where it is run, and how it stands."""

    document: int
    line: str
    cells: tuple[str, ...]

    @property
    def state(self) -> str:
        """The word that the last cell begins with."""
        return next((s for s in STATES if re.match(rf"{s}(?=$|[:;,])", self.cells[3])), "")


def rows() -> list[Row]:
    """Return the rows of the five tables."""
    found: list[Row] = []
    document = 0
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (\d)\. ", line):
            document = int(heading[1])
        elif document and line.startswith("| ") and not line.startswith("| what is "):
            cells = tuple(cell.strip() for cell in line.strip("|").split(" | "))
            found.append(Row(document, line, cells))
    return found


def slug(heading: str) -> str:
    """Return the anchor of a heading, as it is made for Markdown pages."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def code_under_headings(path: Path) -> dict[str, str]:
    """Return the code that is run under each heading of a page; under "" that of all."""
    lines = path.read_text(encoding="utf-8").splitlines()
    run = {int(block.place.rpartition(":")[2]): block for block in blocks_of(path) if block.is_run}
    found: dict[str, str] = {"": "".join(block.code for block in run.values())}
    heading = ""
    inside = False
    for number, line in enumerate(lines, start=1):
        if line.startswith("```"):
            inside = not inside
            if number in run and heading:
                found[heading] += run[number].code
        elif line.startswith("#") and not inside:
            heading = slug(line.lstrip("#"))
            found.setdefault(heading, "")
    return found


def test_every_row_names_a_command_that_is_run_where_it_says() -> None:
    pages: dict[str, dict[str, str]] = {}
    for row in rows():
        assert len(row.cells) == 4, row.line
        code, place = _CODE.match(row.cells[1]), _PLACE.match(row.cells[2])
        assert code, row.line
        assert place, row.line
        name = place[1] or PAGE.name
        if name not in pages:
            pages[name] = code_under_headings(PAGE.parent / name)
        assert code[1] in pages[name].get(place[2] or "", "no such heading"), row.line


def test_every_state_is_one_of_four_and_says_why_where_it_is_not_works() -> None:
    for row in rows():
        assert row.state, row.line
        if row.state != "works":
            assert re.match(rf"{row.state}: .{{10}}", row.cells[3]), row.line
        assert len(row.line) <= LONGEST, row.line


def test_summary_counts_the_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    everything: Counter[str] = Counter()
    for number, name in enumerate(DOCUMENTS, start=1):
        states = Counter(row.state for row in rows() if row.document == number)
        everything += states
        assert states, name
        counts = " | ".join(str(states[state]) for state in STATES)
        shown = rf"^\| \[{name}\]\(#[\w-]+\) \| {states.total()} \| {re.escape(counts)} \|$"
        assert re.search(shown, text, re.MULTILINE), (name, states)
    counts = " | ".join(str(everything[state]) for state in STATES)
    assert f"| *all* | {everything.total()} | {counts} |" in text
