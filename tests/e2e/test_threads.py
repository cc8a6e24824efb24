"""Commands that share out their work to processes print what one process prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import Nursery

from .shells import Shell


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with a store and a folder of 90 papers."""
    shell = Shell(nursery, tmp_path)
    texts = [
        " ".join(f"word{number * step % 9973}" for step in range(1, 26)) for number in range(1, 201)
    ]
    lines = [json.dumps({"key": f"k{place}", "text": text}) for place, text in enumerate(texts)]
    (tmp_path / "stored.jsonl").write_text("\n".join(lines))
    papers = tmp_path / "papers"
    papers.mkdir()
    for number in range(90):
        (papers / f"{number:02}.txt").write_text(f"Own words first. {texts[number]}. And last.")
    shell("ingest", "--passages", "stored.jsonl")
    return shell


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_check_of_many_papers_prints_the_same_with_any_number_of_threads(shell: Shell) -> None:
    pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
    alone = shell("check", "--format", "jsonl", "--threads", "1", "papers")
    shared = shell("check", "--format", "jsonl", "--threads", "3", "papers")
    assert len(alone.text.splitlines()) == 90
    assert shared.text == alone.text
    assert shared.errors == alone.errors == ""
