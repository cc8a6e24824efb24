"""The threat model names tests that there are, and a threat has one at least."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENT = REPOSITORY / "docs" / "explanation" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def test_every_threat_is_answered_by_a_test_that_there_is() -> None:
    text = DOCUMENT.read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 25
    for row in rows:
        assert row.count("|") == 4, row
        assert NAMED.search(row), f"no test shows the answer: {row}"
    for path, name in NAMED.findall(text):
        held = (REPOSITORY / path).read_text("utf-8")
        assert not name or f"\ndef {name}(" in held, f"{path} has no {name}"
