"""The passage index by real processes: made, kept up, killed, dropped."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store

from .shells import Shell
from .states import assert_sound
from .test_clusters import pages, write
from .trials import kill_at_random, seeds


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


@pytest.mark.slow
@seeds(1)
def test_a_killed_build_goes_on_and_makes_what_an_undisturbed_one_makes(
    shell: Shell, nursery: Nursery, seed: int
) -> None:
    chance = random.Random(f"passages {seed}")
    shell("ingest", "documents.jsonl")
    path = shell.folder / "simstore.db"
    clean = shell.folder / "clean.db"
    with Store.open(path) as store:
        store.maintenance.backup(clean)
    with Store.open(clean) as store:
        expected = store.passages.build()
    done: list[int] = []
    for _ in range(4):
        child = nursery.start("build_passages", shell.folder, place=str(path))
        said = kill_at_random(child, chance, 14)
        with Store.open(path) as store:
            held = store.passages.status()
        done.append(held.document_count if held is not None else 0)
        assert done[-1] >= max([0, *(int(line) for line in said if line.isdigit())])
        assert_sound(path)
    assert done == sorted(done)
    shell("passages", "build")
    found = status(shell)
    for name in ("document_count", "passage_count", "anchor_count", "complete"):
        assert found[name] == getattr(expected, name)
    assert_sound(path)
