"""Kills without warning, at random instants, beside those of the campaign ``faults``.

After each kill the file is in order and fsck finds nothing; the same command again finishes.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from forked import Child, Nursery

from simstore import Store
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice

from . import corpora
from .processes import until
from .states import State, assert_sound, drafts, integrity, state_of

pytestmark = pytest.mark.slow

BATCH = 5
PAGES = 110
# More than 1: a longer trial than is run each time.
ROUNDS = int(os.environ.get("SIMSTORE_CRASH_ROUNDS", "1"))


def seeds(count: int) -> pytest.MarkDecorator:
    """Run a test so often, each time with kills at other places."""
    return pytest.mark.parametrize("seed", range(count * ROUNDS))


@dataclass
class Trial:
    """A corpus on disk, its records in order, and questions."""

    folder: Path
    source: Path
    records: list[tuple[str, str]]
    samples: list[tuple[str, str]]
    make: Callable[[Path], Store]

    def clean(self, name: str = "clean.db") -> Path:
        """Return a store that took the source in without any disturbance, in one batch."""
        path = self.folder / name
        with self.make(path) as store:
            store.ingest([str(self.source)])
        assert_sound(path)
        return path

    def state(self, path: Path) -> State:
        return state_of(path, self.samples, folder=self.folder)


def simtool_trial(folder: Path, seed: int, count: int = PAGES) -> Trial:
    made = corpora.pages(seed, count)
    course = corpora.course_folder(folder / "course", features=120)
    choice = SchemeChoice(
        "simtool",
        features=120,
        hash_table=str(course / "hashvalue.txt"),
        stopwords=str(course / "stopwords.txt"),
    )
    source = corpora.article_file(folder / "article.txt", made)
    return Trial(
        folder,
        source,
        made,
        corpora.samples(seed, made),
        lambda path: Store.create(path, scheme=choice),
    )


def web_trial(folder: Path, seed: int, count: int = PAGES) -> Trial:
    made = corpora.pages(seed, count)
    source = corpora.json_lines_file(folder / "crawl.jsonl", made)
    return Trial(folder, source, made, corpora.samples(seed, made), Store.create)


def kill_at_random(child: Child, chance: random.Random, most_messages: int) -> None:
    """Kill a process a random instant after a random number of messages."""
    for _ in range(chance.randint(1, most_messages)):
        if child.message() is None:
            break
    # Not to wait for anything: to hit any place between two messages.
    time.sleep(chance.random() * 0.012)
    child.kill()


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
    with Store.open(path) as store:
        assert len(store) == 0


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


@seeds(1)
def test_queries_answer_from_the_old_generation_after_a_killed_refresh_until_it_is_finished(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"refresh {seed}")
    trial = simtool_trial(tmp_path, seed)
    expected = trial.state(trial.clean())
    path = tmp_path / "store.db"
    half = corpora.article_file(tmp_path / "half.txt", trial.records[: PAGES // 2])
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
