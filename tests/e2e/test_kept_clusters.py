"""Clusters that are kept, by real processes: the command, several at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from forked import Nursery

from simstore import Store
from simstore.cli import main
from simstore.storage.engine import Database

from .shells import Shell
from .states import assert_sound
from .test_clusters import pages, write

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
