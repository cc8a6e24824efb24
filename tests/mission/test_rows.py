"""The rows of docs/reference/requirements.md: frozen, shown by tests, and true in their commands."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e.test_readme import REPOSITORY, blocks_of

PAGE = REPOSITORY / "docs" / "reference" / "requirements.md"
DECISIONS = REPOSITORY / "docs" / "explanation" / "decisions.md"
HERE = Path(__file__).parent
DOCUMENTS = ("assignment", "slides", "forum post", "blog", "questions and answers")
STATES = ("works", "in part", "differs", "not")
LONGEST = 280
FROZEN = "dc8b7c3d9f2f"
"""Digest of the table as it was first frozen; a line "Mission row:" names that of a later one."""
_CODE = re.compile(r"^`([^`]+)`$")
_PLACE = re.compile(r"^\[[^\]]+\]\(((?:\.\./[\w-]+/)?[\w-]+\.md)?(?:#([\w-]+))?\)$")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_CHANGE = re.compile(r"^(?:- )?Mission row: .{20,}\((\w{12})\)$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="only a checkout has docs/")


@dataclass(frozen=True)
class Row:
    """A row of the page."""

    line: str
    document: str
    asked: str
    command: str
    place: str
    told: str

    @property
    def word(self) -> str:
        """The state, in one of four words."""
        return next((s for s in STATES if re.match(rf"{s}(?=$|[:;,])", self.told)), "")

    @property
    def frozen(self) -> tuple[str, str, str, str]:
        """What may not change: of a row that works the word, of another one the difference too."""
        state = self.word if self.word == "works" else _LINK.sub(r"\1", self.told)
        return self.document, self.asked, self.command, state


def rows_of_the_page() -> list[Row]:
    found: list[Row] = []
    document = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (\d)\. ", line):
            document = DOCUMENTS[int(heading[1]) - 1]
        elif document and line.startswith("| ") and not line.startswith("| what is "):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            assert len(cells) == 4, line
            code = _CODE.match(cells[1])
            assert code, line
            found.append(Row(line, document, cells[0], code[1], *cells[2:]))
    return found


def table() -> list[dict[str, str]]:
    rows: list[dict[str, str]] = tomllib.loads((HERE / "rows.toml").read_text("utf-8"))["row"]
    return rows


def frozen_rows() -> list[tuple[str, ...]]:
    return [
        tuple(row[name] for name in ("document", "asked", "command", "state")) for row in table()
    ]


def test_the_page_has_the_frozen_rows_and_no_others() -> None:
    page, frozen = [row.frozen for row in rows_of_the_page()], frozen_rows()
    gone, new = (
        [row for row in one if row not in other] for one, other in ((frozen, page), (page, frozen))
    )
    assert page == frozen, (
        f"rows of the page and of tests/mission/rows.toml differ; only frozen: {gone}; only on the"
        f' page: {new}. To change a row, add a line "Mission row:" with the reason to'
        " docs/explanation/decisions.md, then change the page, the table and the tests of the row."
    )


def test_a_change_of_a_row_has_its_reason_in_the_decisions() -> None:
    digest = hashlib.sha256(json.dumps(frozen_rows()).encode()).hexdigest()[:12]
    decided = [FROZEN, *_CHANGE.findall(DECISIONS.read_text(encoding="utf-8"))]
    assert decided[-1] == digest, (
        "tests/mission/rows.toml has changed; add to docs/explanation/decisions.md, behind any such"
        f' lines that are there: "Mission row: WHICH ROW AND WHY. ({digest})"'
    )


def test_each_row_is_shown_by_tests_that_exist_and_each_test_shows_a_row() -> None:
    written = set()
    for path in HERE.glob("test_*.py"):
        if path.stem != "test_rows":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
            written |= {f"{path.stem}.{f.name}" for f in functions if f.name.startswith("test_")}
    named = [name for row in table() for name in row["tests"]]
    assert all(row["tests"] for row in table())
    assert set(named) == written


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
            # The anchor of a heading, as it is made for Markdown pages.
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").lower())
            heading = words.strip().replace(" ", "-")
            found.setdefault(heading, "")
    return found


def test_every_row_names_a_command_that_is_run_where_it_says() -> None:
    pages: dict[str, dict[str, str]] = {}
    for row in rows_of_the_page():
        place = _PLACE.match(row.place)
        assert place, row.line
        name = place[1] or PAGE.name
        if name not in pages:
            pages[name] = code_under_headings(PAGE.parent / name)
        assert row.command in pages[name].get(place[2] or "", "no such heading"), row.line


def test_every_state_is_one_of_four_and_says_why_where_it_is_not_works() -> None:
    for row in rows_of_the_page():
        assert row.word, row.line
        assert row.word == "works" or re.match(rf"{row.word}: .{{10}}", row.told), row.line
        assert len(row.line) <= LONGEST, row.line


def test_summary_counts_the_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    everything: Counter[str] = Counter()
    for name in DOCUMENTS:
        states = Counter(row.word for row in rows_of_the_page() if row.document == name)
        everything += states
        assert states, name
        counts = " | ".join(str(states[state]) for state in STATES)
        shown = rf"^\| \[{name}\]\(#[\w-]+\) \| {states.total()} \| {re.escape(counts)} \|$"
        assert re.search(shown, text, re.MULTILINE), (name, states)
    counts = " | ".join(str(everything[state]) for state in STATES)
    assert f"| *all* | {everything.total()} | {counts} |" in text
