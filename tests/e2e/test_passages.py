"""The passage index by real processes: made, kept up, dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import Nursery

from .shells import Shell
from .states import assert_sound
from .test_clusters import write
from .test_kept_clusters import pages


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    write(tmp_path / "documents.jsonl", pages())
    return Shell(nursery, tmp_path)


def status(shell: Shell) -> dict[str, object]:
    found: dict[str, object] = json.loads(shell("passages", "status", "--format", "json").text)
    return found


@pytest.mark.slow
def test_an_index_is_built_shown_and_dropped(shell: Shell) -> None:
    shell("ingest", "documents.jsonl")
    done = shell("passages", "status", code=3)
    assert done.error_lines == [
        "Error: this store has no passage index; `simstore passages build` makes one"
    ]
    done = shell("passages", "build", "--by", "window", "--window", "40")
    assert done.text.startswith(f"{len(pages()):,} documents, ")
    shown = shell("passages", "status").text
    assert "cut" in shown
    assert "window" in shown
    done = shell("passages", "build", "--by", "sentences", code=4)
    assert "windows of 40 characters" in done.errors
    assert "compact --drop-passages" in done.errors
    shell("passages", "build", "--by", "sentences", "--window", "9", code=2)
    shell("compact", "--drop-passages")
    shell("passages", "build")
    assert status(shell)["cut"] == "sentences"
    assert_sound(shell.folder / "simstore.db")
