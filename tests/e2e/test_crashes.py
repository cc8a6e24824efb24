"""Kills without warning, at random instants: nothing acknowledged is lost, nothing is half there.

After each kill the file is in order, fsck finds nothing, and the store holds exactly the records
up to its committed position. The same command again finishes, and the store then equals one that
nobody disturbed.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store
from simstore.services.ingest.ingest import IngestOptions

from . import corpora
from .processes import until
from .states import State, assert_sound, committed, integrity
from .trials import (
    BATCH,
    PAGES,
    TRIALS,
    Trial,
    acknowledged,
    assert_holds,
    kill_at_random,
    seeds,
    simtool_trial,
    web_trial,
)

pytestmark = pytest.mark.slow


@seeds(1)
@pytest.mark.parametrize("scheme", TRIALS)
def test_killed_ingest_keeps_what_it_acknowledged_and_is_finished_by_the_same_command(
    nursery: Nursery, tmp_path: Path, scheme: str, seed: int
) -> None:
    chance = random.Random(f"{scheme} {seed}")
    trial = TRIALS[scheme](tmp_path, seed)
    expected = trial.state(trial.clean())
    path = tmp_path / "store.db"
    trial.make(path).close()
    command = {"place": str(path), "names": [str(trial.source)], "batch_documents": BATCH}
    was_complete = False
    for _ in range(3):
        before = committed(path)
        said = kill_at_random(nursery.start("ingest", tmp_path, **command), chance, 16)
        assert integrity(path) == "ok"
        after = committed(path)
        if not was_complete:
            # At most one batch was committed and not yet acknowledged.
            assert acknowledged(said) <= after - before <= acknowledged(said) + BATCH
            assert_holds(path, trial.records[:after])
        was_complete |= after == len(trial.records)
        assert_sound(path)
    finished = nursery.run("ingest", tmp_path, **command)
    assert (finished.code, finished.errors) == (0, "")
    assert_sound(path)
    assert trial.state(path) == expected
    # Once more changes nothing.
    assert nursery.run("ingest", tmp_path, **command).code == 0
    assert trial.state(path) == expected


@seeds(1)
def test_killed_command_line_ingest_goes_on_where_the_last_commit_ended(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"command line {seed}")
    trial = simtool_trial(tmp_path, seed, 2_200)
    expected = trial.state(trial.clean())
    path = tmp_path / "store.db"
    trial.make(path).close()
    words = ["ingest", "--db", str(path), str(trial.source)]
    child = nursery.start("simstore", tmp_path, words=words)
    least = chance.randint(1, 2)
    until(lambda: committed(path) >= least * 1_000, "a commit")
    time.sleep(chance.random() * 0.05)
    child.kill()
    position = committed(path)
    assert position >= least * 1_000
    assert_holds(path, trial.records[:position])
    assert_sound(path)
    again = nursery.simstore(tmp_path, *words)
    assert again.code == 0
    if position < len(trial.records):
        assert f"went on after record {position}" in again.errors
    assert trial.state(path) == expected
    assert_sound(path)


@seeds(1)
def test_first_ingest_killed_at_any_instant_is_finished_by_the_same_command(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"first {seed}")
    trial = web_trial(tmp_path, seed, 60)
    expected = trial.state(trial.clean())
    path = tmp_path / "store.db"
    words = ["ingest", "--db", str(path), str(trial.source)]
    for _ in range(3):
        child = nursery.start("simstore", tmp_path, words=words)
        time.sleep(chance.random() * 0.12)
        child.kill()
        # There is no store, or a whole one.
        if path.exists():
            assert_sound(path)
            assert_holds(path, trial.records[: committed(path)])
    assert nursery.simstore(tmp_path, *words).code == 5
    assert_sound(path)
    assert trial.state(path) == expected


@seeds(1)
def test_queries_answer_from_the_old_generation_after_a_killed_refresh_until_it_is_finished(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"refresh {seed}")
    trial = simtool_trial(tmp_path, seed)
    expected = trial.state(trial.clean())
    path = tmp_path / "store.db"
    half = corpora.article_file(
        tmp_path / "half.txt", [page for page in trial.records[: PAGES // 2] if page]
    )
    with trial.make(path) as store:
        store.ingest([str(half)])
        first = store.vocabulary.status().generation_id
        store.ingest([str(trial.source)], options=IngestOptions(refresh=False))
        answers = _answers(store, trial)
    for _ in range(3):
        child = nursery.start("refresh", tmp_path, place=str(path))
        kill_at_random(child, chance, 12)
        assert_sound(path)
        with Store.open(path) as store:
            if store.vocabulary.status().generation_id == first:
                assert _answers(store, trial) == answers
    finished = nursery.run("refresh", tmp_path, place=str(path))
    assert (finished.code, finished.errors) == (0, "")
    assert_sound(path)
    assert _without_sources(trial.state(path)) == _without_sources(expected)


def _answers(store: Store, trial: Trial) -> list[tuple[object, ...]]:
    return [(one.key, one.fingerprint, one.matches) for one in store.query_many(trial.samples)]


def _without_sources(state: State) -> tuple[object, ...]:
    """Leave out source, position and offset: the same pages came from two files."""
    documents = sorted(one[:5] + one[8:] for one in map(_hashable, state.documents))
    return documents, state.vocabulary, state.fresh, state.answers


def _hashable(document: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(map(str, document))
