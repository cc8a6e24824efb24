"""``progress=True`` of ``add_many`` and ``ingest`` in a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .terminals import Terminal

PROGRAM = """
from pathlib import Path
from simstore import Store

texts = ((str(n), f"a text of some words, number {n}") for n in range(2_500))
with Store("s.db") as store:
    summary = store.add_many(texts, progress=True, batch_documents=500)
    Path("more.txt").write_text("one more text")
    print(summary)
    print(store.ingest("more.txt", progress=True))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, "utf-8")
    return path


@pytest.mark.slow
def test_a_terminal_of_80_columns_shows_a_bar_and_a_summary_that_fits(
    tmp_path: Path, program: Path
) -> None:
    terminal = Terminal(tmp_path, columns=80, program=program)
    assert terminal.wait() == 0
    counts = {
        int(found.replace(",", ""))
        for screen in terminal.screens
        for found in re.findall(r"ingest ━.* ([\d,]+) documents?", screen)
    }
    assert {2_500, 1} <= counts
    assert len(counts) > 2
    terminal_lines = terminal.screen.text.splitlines()
    assert len(terminal_lines) == 2
    printed = (tmp_path / "stdout.txt").read_text("utf-8").splitlines()
    assert len(printed) == 2
    assert max(map(len, [*terminal_lines, *printed])) <= 80
