"""Kills without warning, at random instants: nothing acknowledged is lost, nothing is half there.

After each kill the file is in order, fsck finds nothing, and the store holds exactly the records
up to its committed position. The same command again finishes, and the store then equals one that
nobody disturbed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from forked import Child, Nursery

from simstore import Store
from simstore.errors import SchemaOutOfDate
from simstore.services.arriving.ingest import IngestOptions
from simstore.services.upkeep.choose import SchemeChoice

from . import corpora, golden
from .processes import until
from .states import State, assert_sound, committed, drafts, integrity, state_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BATCH = 5
PAGES = 110
# More than 1: a longer trial than is run each time.
ROUNDS = int(os.environ.get("SIMSTORE_CRASH_ROUNDS", "1"))
Records = list[tuple[str, str] | None]


def seeds(count: int) -> pytest.MarkDecorator:
    """Run a test so often, each time with kills at other places."""
    return pytest.mark.parametrize("seed", range(count * ROUNDS))


@dataclass
class Trial:
    """A corpus on disk, its records in order (None: to be rejected), and questions."""

    folder: Path
    source: Path
    records: Records
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
        list(made),
        corpora.samples(seed, made),
        lambda path: Store.create(path, scheme=choice),
    )


def web_trial(folder: Path, seed: int, count: int = PAGES) -> Trial:
    made = corpora.pages(seed, count)
    source = corpora.json_lines_file(folder / "crawl.jsonl", made)
    records: Records = []
    for line in source.read_text("utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            records.append(None)
            continue
        usable = isinstance(record["text"], str)
        records.append((record["key"], record["text"]) if usable else None)
    return Trial(folder, source, records, corpora.samples(seed, made), Store.create)


def packed_trial(folder: Path, seed: int, count: int = PAGES) -> Trial:
    trial = web_trial(folder, seed, count)
    packed = folder / "crawl.jsonl.zst"
    packed.write_bytes(zstd.compress(trial.source.read_bytes()))
    return replace(trial, source=packed)


TRIALS = {"simtool": simtool_trial, "web": web_trial, "packed": packed_trial}


def kill_at_random(child: Child, chance: random.Random, most_messages: int) -> list[str]:
    """Kill a process a random instant after a random number of messages; return all of them."""
    said = []
    for _ in range(chance.randint(1, most_messages)):
        line = child.message()
        if line is None:
            break
        said.append(line)
    # Not to wait for anything: to hit any place between two messages.
    time.sleep(chance.random() * 0.012)
    return said + child.kill()


def assert_holds(path: Path, records: Records) -> None:
    """The store holds these records and no others, the last of each key."""
    expected = dict(record for record in records if record is not None)
    with Store.open(path) as store:
        assert {one.key: one.text for one in store.documents(with_text=True)} == expected


def acknowledged(said: list[str]) -> int:
    return max((int(line) for line in said if line.isdigit()), default=0)


@seeds(3)
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


@seeds(2)
def test_killed_ingest_of_many_small_files_is_finished_by_the_same_command(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"files {seed}")
    made = corpora.pages(seed, PAGES)
    folder = tmp_path / "pages"
    folder.mkdir()
    rest = list(made)
    for number in range(PAGES):
        part, rest = rest[: (size := chance.randint(0, 7))], rest[size:]
        corpora.article_file(folder / f"article-{number:03d}.txt", part)
    assert not rest
    trial = Trial(tmp_path, folder, list(made), corpora.samples(seed, made), Store.create)
    expected = trial.state(trial.clean())
    path = tmp_path / "store.db"
    trial.make(path).close()
    command = {"place": str(path), "names": [str(folder)], "batch_documents": 20}
    prefixes = {frozenset(dict(made[:end]).items()): end for end in range(PAGES + 1)}
    reached = 0
    for _ in range(3):
        kill_at_random(nursery.start("ingest", tmp_path, **command), chance, 10)
        assert_sound(path)
        with Store.open(path) as store:
            held = frozenset((one.key, one.text) for one in store.documents(with_text=True))
        # A prefix of all pages; what was there before is read again, and stays.
        assert held in prefixes
        assert prefixes[held] >= reached
        reached = prefixes[held]
    finished = nursery.run("ingest", tmp_path, **command)
    assert (finished.code, finished.errors) == (0, "")
    assert_sound(path)
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


@seeds(2)
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


@seeds(2)
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
        first = store.vocabulary_status().generation_id
        store.ingest([str(trial.source)], options=IngestOptions(refresh=False))
        answers = _answers(store, trial)
    for _ in range(3):
        child = nursery.start("refresh", tmp_path, place=str(path))
        kill_at_random(child, chance, 12)
        assert_sound(path)
        with Store.open(path) as store:
            if store.vocabulary_status().generation_id == first:
                assert _answers(store, trial) == answers
    finished = nursery.run("refresh", tmp_path, place=str(path))
    assert (finished.code, finished.errors) == (0, "")
    assert_sound(path)
    assert _without_sources(trial.state(path)) == _without_sources(expected)


@seeds(2)
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
        store.reindex(SchemeChoice(**target))  # type: ignore[arg-type]
    new = trial.state(clean)
    assert old != new
    begun = False
    for _ in range(2):
        with Store.open(path) as store:
            if store.scheme() == new.scheme:
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
        unfinished = store.scheme() != new.scheme
    if unfinished:
        words = ["--resume"] if begun else [*_options(target)]
        finished = nursery.simstore(tmp_path, "reindex", "--db", path, *words)
        assert finished.code == 0, finished.errors
    assert_sound(path)
    assert trial.state(path) == new


@seeds(1)
def test_killed_reindex_that_is_given_up_leaves_the_store_as_it_was(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"abort {seed}")
    trial = web_trial(tmp_path, seed)
    path = trial.clean("store.db")
    old = trial.state(path)
    scheme = {"name": "simtool", "features": 100}
    child = nursery.start("reindex", tmp_path, place=str(path), scheme=scheme)
    assert [child.message(), child.message()] == ["open", "10"]
    kill_at_random(child, chance, 8)
    assert _is_reindexing(path)
    given_up = nursery.simstore(tmp_path, "reindex", "--abort", "--db", path)
    assert given_up.code == 0
    assert_sound(path)
    assert trial.state(path) == old
    assert nursery.simstore(tmp_path, "ingest", "--db", path, trial.source).code == 5
    assert trial.state(path) == old


@seeds(2)
def test_killed_upgrade_leaves_the_older_store_or_the_new_one_and_is_finished_by_the_same_command(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(f"upgrade {seed}")
    trial = simtool_trial(tmp_path, seed, 200)
    path = trial.clean("store.db")
    made = trial.state(path)
    golden.downgrade(path, "0001")
    undisturbed = Path(shutil.copy(path, tmp_path / "undisturbed.db"))
    assert nursery.simstore(tmp_path, "upgrade", "--db", str(undisturbed)).code == 0
    # An older store has no sketches; all else is there again.
    expected = trial.state(undisturbed)
    assert replace(expected, answers=made.answers) == made
    words = ["upgrade", "--db", str(path)]
    for _ in range(3):
        child = nursery.start("simstore", tmp_path, words=words)
        if chance.random() < 0.5:
            # The copy is made: the migrations run.
            _wait_for_copy(path, child)
            time.sleep(chance.random() * 0.06)
        else:
            time.sleep(chance.random() * 0.15)
        child.kill()
        assert integrity(path) == "ok"
        assert all(integrity(copy) == "ok" for copy in _backups(path))
        try:
            assert trial.state(path) == expected
        except SchemaOutOfDate:
            assert not _tables(path) & {"query_run", "query_match", "query_sample"}
    assert nursery.simstore(tmp_path, *words).code == 0
    assert "up to date" in nursery.simstore(tmp_path, *words).text
    assert_sound(path)
    assert trial.state(path) == expected


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


@seeds(2)
@pytest.mark.parametrize("bits", [64, 128])
def test_killed_packing_leaves_each_fingerprint_in_one_place_and_the_answers_as_they_were(
    nursery: Nursery, tmp_path: Path, bits: int, seed: int
) -> None:
    chance = random.Random(f"pack {bits} {seed}")
    trial = web_trial(tmp_path, seed)
    trial = replace(
        trial, make=lambda path: Store.create(path, scheme=SchemeChoice("web", bits=bits))
    )
    path = trial.clean("store.db")
    expected = trial.state(path)
    places = set()
    for _ in range(4):
        child = nursery.start("pack_without_end", tmp_path, place=str(path), batch_fingerprints=17)
        kill_at_random(child, chance, 20)
        assert_sound(path)
        assert trial.state(path) == expected
        with Store.open(path) as store:
            places.add(store.statistics().packed_fingerprints)
    assert any(places)
    assert nursery.simstore(tmp_path, "pack", "--db", path).code == 0
    assert trial.state(path) == expected
    assert_sound(path)
    assert nursery.simstore(tmp_path, "unpack", "--db", path).code == 0
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


def _answers(store: Store, trial: Trial) -> list[tuple[object, ...]]:
    return [(one.key, one.fingerprint, one.matches) for one in store.query_many(trial.samples)]


def _without_sources(state: State) -> tuple[object, ...]:
    """Leave out source, position and offset: the same pages came from two files."""
    documents = sorted(one[:5] + one[8:] for one in map(_hashable, state.documents))
    return documents, state.vocabulary, state.fresh, state.answers


def _hashable(document: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(map(str, document))


def _wait_for_copy(path: Path, child: Child) -> None:
    until(lambda: _backups(path) or not child.is_running, "the copy")


def _backups(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.backup"))


def _tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def _is_reindexing(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        statement = "SELECT count(*) FROM scheme WHERE status = 'building'"
        return bool(connection.execute(statement).fetchone()[0])


def _options(scheme: dict[str, object]) -> list[str]:
    names = {"name": "--scheme"}
    return [str(w) for k, value in scheme.items() for w in (names.get(k, f"--{k}"), value)]
