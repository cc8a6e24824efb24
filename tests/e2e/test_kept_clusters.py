"""Clusters that are kept, by real processes: the command, kills, several at once."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from forked import Nursery

from simstore import Store
from simstore.cli import main
from simstore.storage.engine import Database

from . import corpora
from .shells import Shell
from .states import assert_sound
from .test_clusters import pages, write
from .trials import seeds

COLUMNS = "cluster_id,key,role,distance,resemblance,reason"


def clusters(path: Path) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the kept clusters without their names."""
    with Store.open(path) as store:
        found = [
            (one.key, [(m.key, m.resemblance) for m in one.members])
            for one in store.clusters.list(1)
        ]
    return sorted(found)


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with a store of four hundred pages."""
    write(tmp_path / "documents.jsonl", pages())
    made = Shell(nursery, tmp_path)
    made("ingest", "documents.jsonl")
    return made


@pytest.mark.slow
def test_store_that_cannot_be_written_shows_what_stands(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("clusters")
    write(shell.folder / "more.jsonl", {"late": next(iter(pages().values())) + " more"})
    shell("ingest", "more.jsonl")
    monkeypatch.setattr(Database, "can_write", property(lambda _self: False))
    place = str(shell.folder / "simstore.db")
    done = CliRunner().invoke(main, ["clusters", "--db", place, "--format", "csv"])
    assert done.exit_code == 0
    assert done.stdout.startswith(COLUMNS)
    assert "late" not in done.stdout
    assert "read-only" in done.stderr
    assert "behind: the documents of 1 text changed since" in done.stderr


@pytest.mark.slow
@seeds(1)
def test_killed_while_clusters_are_brought_up_to_date_the_next_goes_on(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"kept {seed}")
    made = dict(corpora.pages(seed, 240, repeats=False))
    keys = list(made)
    path, clean = tmp_path / "s.db", tmp_path / "clean.db"
    with Store.create(path) as store:
        store.add_many([(key, made[key]) for key in keys[:80]], threads=1)
        store.clusters.build(min_resemblance=0.4)
        store.add_many([(key, made[key]) for key in keys[80:]], threads=1)
        gone = chance.sample(keys[:80], 40)
        store.remove(*gone)
        changed = {key: made[chance.choice(keys)] + " changed" for key in chance.sample(keys, 30)}
        store.add_many(list(changed.items()), threads=1)
    kills = 0
    while True:
        arguments: dict[str, Any] = {"batch_texts": 3, "rebuild": kills == 3}
        child = nursery.start("keep_clusters", tmp_path, place=str(path), **arguments)
        if kills == 6:
            assert list(child.messages())[-1] == "done"
            assert child.wait().code == 0
            break
        for _ in range(chance.randint(1, 8)):
            if child.message() is None:
                break
        time.sleep(chance.random() * 0.02)
        child.kill()
        kills += 1
        assert_sound(path)
    assert_sound(path)
    with Store.open(path) as store:
        survivors = [(one.key, store.get(one.key, with_text=True).text) for one in store.list()]
    with Store.create(clean) as store:
        for key, text in survivors:
            store.add(key, text or "")
        store.clusters.build(min_resemblance=0.4)
    assert clusters(path) == clusters(clean)


@pytest.mark.slow
def test_several_processes_bring_the_same_clusters_up_to_date(
    nursery: Nursery, tmp_path: Path
) -> None:
    made = list(pages().items())
    path, clean = tmp_path / "s.db", tmp_path / "clean.db"
    with Store.create(path) as store:
        store.add_many(made[:100], threads=1)
        store.clusters.build()
        store.add_many(made[100:], threads=1)
    children = [
        nursery.start("keep_clusters", tmp_path, place=str(path), batch_texts=7, rebuild=turn == 2)
        for turn in range(4)
    ]
    for child in children:
        assert list(child.messages())[-1] == "done"
        assert child.wait().code == 0
    assert_sound(path)
    with Store.create(clean) as store:
        store.add_many(made, threads=1)
        store.clusters.build()
    with Store.open(path) as store:
        # Whoever began last to make them may have left something to the next.
        store.clusters.build()
    assert clusters(path) == clusters(clean)
