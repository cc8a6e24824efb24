"""The rows of docs/reference/requirements.md: frozen, and each shown by tests."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from e2e.test_requirements_page import DOCUMENTS, PAGE, rows

HERE = Path(__file__).parent
DECISIONS = PAGE.parents[1] / "explanation" / "decisions.md"
FROZEN = "dc8b7c3d9f2f"
"""Digest of the table as it was first frozen; a line "Mission row:" names that of a later one."""
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_CHANGE = re.compile(r"^(?:- )?Mission row: .{20,}\((\w{12})\)$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="only a checkout has docs/")


def table() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((HERE / "rows.toml").read_text("utf-8"))["row"]
    return found


def frozen() -> list[list[str]]:
    names = ("document", "asked", "command", "state")
    return [[row[name] for name in names] for row in table()]


def test_the_page_has_the_frozen_rows_and_no_others() -> None:
    page = []
    for row in rows():
        # A row that works is frozen by that word, another one with its difference.
        state = row.state if row.state == "works" else _LINK.sub(r"\1", row.cells[3])
        page.append([DOCUMENTS[row.document - 1], row.cells[0], row.cells[1].strip("`"), state])
    gone = [row for row in frozen() if row not in page]
    new = [row for row in page if row not in frozen()]
    assert page == frozen(), (
        f"only in tests/mission/rows.toml: {gone}; only on the page: {new}. To change a row, add a"
        ' line "Mission row:" with the reason to docs/explanation/decisions.md, then change the'
        " page, the table and the tests of the row."
    )


def test_a_change_of_a_row_has_its_reason_in_the_decisions() -> None:
    digest = hashlib.sha256(json.dumps(frozen()).encode()).hexdigest()[:12]
    decided = [FROZEN, *_CHANGE.findall(DECISIONS.read_text(encoding="utf-8"))]
    assert decided[-1] == digest, (
        "tests/mission/rows.toml has changed; add to docs/explanation/decisions.md, after any such"
        f' lines that are there: "Mission row: WHICH ROW AND WHY. ({digest})"'
    )


def test_each_row_is_shown_by_tests_that_exist_and_each_test_shows_a_row() -> None:
    written = set()
    for path in HERE.glob("test_*.py"):
        names = [getattr(node, "name", "") for node in ast.parse(path.read_text("utf-8")).body]
        written |= {f"{path.stem}.{name}" for name in names if name.startswith("test_")}
    named = [name for row in table() for name in row["tests"]]
    assert all(row["tests"] for row in table())
    assert set(named) == {name for name in written if not name.startswith("test_rows.")}
