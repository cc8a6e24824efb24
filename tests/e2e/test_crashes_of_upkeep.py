"""Kills without warning in what keeps a store up: all of it is done, or nothing of it."""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store
from simstore.services.maintenance.scheme_choice import SchemeChoice

from .processes import until
from .states import assert_sound, drafts, integrity
from .trials import BATCH, TRIALS, assert_holds, kill_at_random, seeds, simtool_trial, web_trial

pytestmark = pytest.mark.slow


@seeds(1)
@pytest.mark.parametrize(
    ("scheme", "target"),
    [("web", {"name": "simtool", "features": 100}), ("simtool", {"name": "web", "bits": 100})],
    ids=["to-simtool", "to-web"],
)
def test_killed_reindex_leaves_the_old_scheme_or_the_new_and_is_finished_by_resume(
    nursery: Nursery, tmp_path: Path, scheme: str, target: dict[str, object], seed: int
) -> None:
    chance = random.Random(f"reindex {scheme} {seed}")
    trial = TRIALS[scheme](tmp_path, seed)
    path = trial.clean("store.db")
    old = trial.state(path)
    clean = tmp_path / "clean.db"
    shutil.copy(path, clean)
    with Store.open(clean) as store:
        store.maintenance.reindex(SchemeChoice(**target))  # type: ignore[arg-type]
    new = trial.state(clean)
    assert old != new
    begun = False
    for _ in range(2):
        with Store.open(path) as store:
            if store.maintenance.scheme() == new.scheme:
                break
        child = nursery.start(
            "reindex", tmp_path, place=str(path), resume=begun, scheme=None if begun else target
        )
        kill_at_random(child, chance, 24)
        assert_sound(path)
        state = trial.state(path)
        assert state in (old, new)
        begun = begun or _is_reindexing(path)
        if state == old and begun:
            refused = nursery.simstore(tmp_path, "ingest", "--db", path, trial.source)
            assert refused.code == 4
            assert "--resume" in refused.errors
    with Store.open(path) as store:
        unfinished = store.maintenance.scheme() != new.scheme
    if unfinished:
        words = ["--resume"] if begun else [*_options(target)]
        finished = nursery.simstore(tmp_path, "reindex", "--db", path, *words)
        assert finished.code == 0, finished.errors
    assert_sound(path)
    assert trial.state(path) == new


@seeds(1)
def test_killed_removal_removes_all_or_nothing_of_a_batch(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"remove {seed}")
    trial = simtool_trial(tmp_path, seed)
    path = trial.clean("store.db")
    with Store.open(path) as store:
        keys = [one.key for one in store]
    gone = chance.sample(keys, 40)
    clean = tmp_path / "kept.db"
    shutil.copy(path, clean)
    with Store.open(clean) as store:
        store.remove(*gone)
    expected = trial.state(clean)
    child = nursery.start("simstore", tmp_path, words=["remove", "--db", str(path), *gone])
    time.sleep(chance.random() * 0.1)
    child.kill()
    assert_sound(path)
    with Store.open(path) as store:
        left = [key for key in gone if key in store]
    assert left in ([], gone)
    words = ["remove", "--db", path, *gone] if left else ["vocabulary", "refresh", "--db", path]
    assert nursery.simstore(tmp_path, *words).code == 0
    assert trial.state(path) == expected
    assert_sound(path)


@seeds(1)
def test_killed_compaction_loses_nothing(nursery: Nursery, tmp_path: Path, seed: int) -> None:
    chance = random.Random(f"compact {seed}")
    trial = simtool_trial(tmp_path, seed)
    path = trial.clean("store.db")
    expected = trial.state(path)
    for _ in range(2):
        child = nursery.start("simstore", tmp_path, words=["compact", "--db", str(path)])
        time.sleep(chance.random() * 0.08)
        child.kill()
        assert_sound(path)
    assert nursery.simstore(tmp_path, "compact", "--db", path).code == 0
    assert trial.state(path) == expected


def test_store_that_replaces_a_killed_ones_file_takes_nothing_from_its_journal(
    nursery: Nursery, tmp_path: Path
) -> None:
    trial = web_trial(tmp_path, 1)
    path = tmp_path / "store.db"
    trial.make(path).close()
    child = nursery.start(
        "ingest", tmp_path, place=str(path), names=[str(trial.source)], batch_documents=BATCH
    )
    for _ in range(8):
        child.message()
    child.kill()
    assert path.with_name("store.db-wal").stat().st_size
    # As the message of `init` says: remove it first.
    path.unlink()
    assert nursery.simstore(tmp_path, "init", "--db", path).code == 0
    assert_sound(path)
    assert_holds(path, [])


def test_backup_that_replaces_a_killed_copy_takes_nothing_from_its_journal(
    nursery: Nursery, tmp_path: Path
) -> None:
    trial = web_trial(tmp_path, 2)
    path = trial.clean("store.db")
    copy = tmp_path / "copy.db"
    trial.make(copy).close()
    child = nursery.start("ingest", tmp_path, place=str(copy), names=[str(trial.source)])
    for _ in range(8):
        child.message()
    child.kill()
    assert copy.with_name("copy.db-wal").stat().st_size
    assert nursery.simstore(tmp_path, "backup", "--force", "--db", path, copy).code == 0
    assert_sound(copy)
    assert trial.state(copy) == trial.state(path)


def test_killed_backup_leaves_no_file_under_the_name_of_the_copy(
    nursery: Nursery, tmp_path: Path
) -> None:
    trial = web_trial(tmp_path, 3)
    path = trial.clean("store.db")
    copy = tmp_path / "copy.db"
    child = nursery.start("simstore", tmp_path, words=["backup", "--db", str(path), str(copy)])
    until(lambda: drafts(tmp_path) or copy.exists(), "the copy to begin")
    child.kill()
    if copy.exists():
        assert_sound(copy)
        return
    assert nursery.simstore(tmp_path, "backup", "--db", path, copy).code == 0
    assert_sound(copy)
    assert trial.state(copy) == trial.state(path)


@seeds(2)
def test_killed_restore_leaves_the_older_store_or_the_restored_one(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"restore {seed}")
    trial = web_trial(tmp_path, seed)
    backup = trial.clean("backup.db")
    restored = trial.state(backup)
    path = tmp_path / "store.db"
    trial.make(path).close()
    older = trial.state(path)
    words = ["restore", "--force", "--db", str(path), str(backup)]
    for _ in range(3):
        child = nursery.start("simstore", tmp_path, words=words)
        if chance.random() < 0.7:
            until(lambda now=child: drafts(tmp_path) or not now.is_running, "the copy to begin")
        time.sleep(chance.random() * 0.03)
        child.kill()
        assert integrity(path) == "ok"
        assert trial.state(path) in (older, restored)
    assert nursery.simstore(tmp_path, *words).code == 0
    assert_sound(path)
    assert trial.state(path) == restored == trial.state(backup)
    assert not drafts(tmp_path)


def _is_reindexing(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        statement = "SELECT count(*) FROM scheme WHERE status = 'building'"
        return bool(connection.execute(statement).fetchone()[0])


def _options(scheme: dict[str, object]) -> list[str]:
    names = {"name": "--scheme"}
    return [str(w) for k, value in scheme.items() for w in (names.get(k, f"--{k}"), value)]
