"""Disks that fill up: one clear line, nothing acknowledged lost, and the same command finishes.

A limit on the size of files (as ``ulimit -f``) works everywhere; a small file system of its own
needs the right to mount one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import Finished, Nursery

from simstore import Files, Store

from . import corpora
from .processes import small_disk
from .states import State, assert_sound, committed, drafts, integrity, state_of

LIMIT_BYTES = 500_000
DISK_BYTES = 3 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    try:
        with small_disk(tmp_path / "disk", DISK_BYTES) as folder:
            yield folder
    except PermissionError as error:
        pytest.skip(f"cannot mount a small file system here: {error}")


def assert_says_that_the_disk_is_full(done: Finished) -> None:
    assert done.code == 6
    assert len(done.error_lines) == 1, done.errors
    assert "no space left" in done.errors.lower()
    assert "Traceback" not in done.errors
    assert "bug" not in done.errors


class Corpus:
    """Some thousand pages outside of the disk that fills up, and the state they lead to."""

    def __init__(self, folder: Path) -> None:
        self.made = corpora.pages(4, 1_300)
        self.samples = corpora.samples(4, self.made)
        self.source = corpora.article_file(folder / "article.txt", self.made)
        self._clean = folder / "clean.db"
        self.make(self._clean)
        with Store.open(self._clean) as store:
            store.ingest([str(self.source)])

    def make(self, path: Path) -> None:
        Store.create(path, scheme="simtool").close()

    def state(self, path: Path) -> State:
        return state_of(path, self.samples)

    @property
    def clean_state(self) -> State:
        return self.state(self._clean)

    def is_held(self, path: Path, count: int) -> bool:
        """Whether a store holds the first ``count`` pages and no others."""
        with Store.open(path) as store:
            found = {one.key: one.text for one in store.list(with_text=True)}
        return found == dict(self.made[:count])


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


@pytest.mark.slow
def test_ingest_at_the_limit_of_file_sizes_keeps_what_is_committed_and_finishes_later(
    nursery: Nursery, tmp_path: Path, corpus: Corpus
) -> None:
    path = tmp_path / "store.db"
    corpus.make(path)
    child = nursery.start(
        "limited_ingest",
        tmp_path,
        place=str(path),
        names=[str(corpus.source)],
        limit_bytes=LIMIT_BYTES,
    )
    said = list(child.messages())
    done = child.wait()
    assert said[-1] == "DiskFull 6", said[-1]
    assert done.errors == ""
    acknowledged = max(int(line) for line in said if line.isdigit())
    assert 0 < acknowledged < len(corpus.made)
    assert integrity(path) == "ok"
    assert committed(path) == acknowledged
    assert corpus.is_held(path, acknowledged)
    assert_sound(path)
    command = nursery.simstore(
        tmp_path, "ingest", "--db", path, corpus.source, limit_bytes=LIMIT_BYTES
    )
    assert_says_that_the_disk_is_full(command)
    again = nursery.simstore(tmp_path, "ingest", "--db", path, corpus.source)
    assert again.code == 0, again.errors
    assert corpus.state(path) == corpus.clean_state
    assert_sound(path)


@pytest.mark.slow
def test_ingest_on_a_full_disk_keeps_what_is_committed_and_finishes_when_there_is_space(
    nursery: Nursery, tmp_path: Path, disk: Path, corpus: Corpus
) -> None:
    path = disk / "store.db"
    corpus.make(path)
    words = ["ingest", "--db", path, corpus.source]
    ballast = fill(disk, leave=400_000)
    done = nursery.simstore(tmp_path, *words)
    assert_says_that_the_disk_is_full(done)
    assert integrity(path) == "ok"
    position = committed(path)
    assert corpus.is_held(path, position)
    # Queries go on, although nothing can be recorded.
    sample = tmp_path / "sample.txt"
    corpora.article_file(sample, [("sample", corpus.made[0][1])])
    fill(disk, leave=40_000, name="rest")
    asked = nursery.simstore(tmp_path, "query", "--db", path, "--format", "jsonl", sample)
    assert asked.code == 0, asked.errors
    assert asked.text.count("\n") == 1
    assert_says_that_the_disk_is_full(nursery.simstore(tmp_path, *words))
    assert integrity(path) == "ok"
    for file in (ballast, disk / "rest"):
        file.unlink()
    enlarge(disk)
    again = nursery.simstore(tmp_path, *words)
    assert again.code == 0, again.errors
    assert corpus.state(path) == corpus.clean_state
    assert_sound(path)


def test_first_ingest_on_a_full_disk_leaves_no_store_and_no_draft(
    nursery: Nursery, tmp_path: Path, disk: Path
) -> None:
    source = corpora.article_file(tmp_path / "article.txt", corpora.pages(1, 10))
    fill(disk, leave=40_000)
    before = sorted(disk.iterdir())
    done = nursery.simstore(tmp_path, "ingest", "--db", disk / "store.db", source)
    assert_says_that_the_disk_is_full(done)
    assert sorted(disk.iterdir()) == before


@pytest.fixture
def full_disk_with_a_store(tmp_path: Path, disk: Path) -> Path:
    path = disk / "store.db"
    source = corpora.article_file(tmp_path / "article.txt", corpora.pages(1, 100))
    with Store.create(path) as store:
        store.ingest([str(source)])
        store.query_many(Files(str(source)), record=True)
    fill(disk, leave=100_000)
    return path


def test_backup_on_a_full_disk_leaves_no_copy_and_an_older_copy_as_it_was(
    nursery: Nursery, tmp_path: Path, full_disk_with_a_store: Path
) -> None:
    path = full_disk_with_a_store
    older = path.with_name("older.db")
    # A store without its end, which may be replaced.
    before = path.read_bytes()[:100]
    older.write_bytes(before)
    for words in (["backup", path.with_name("copy.db")], ["backup", "--force", older]):
        assert_says_that_the_disk_is_full(nursery.simstore(tmp_path, *words, "--db", path))
    assert older.read_bytes() == before
    assert not path.with_name("copy.db").exists()
    assert drafts(path.parent) == []
    assert_sound(path)


def test_report_on_a_full_disk_leaves_the_older_report(
    nursery: Nursery, tmp_path: Path, disk: Path
) -> None:
    path = tmp_path / "store.db"
    source = corpora.article_file(tmp_path / "article.txt", corpora.pages(1, 100))
    with Store.create(path) as store:
        store.ingest([str(source)])
        store.query_many(Files(str(source)), record=True)
    output = disk / "result.txt"
    output.write_bytes(b"older")
    fill(disk, leave=0)
    done = nursery.simstore(tmp_path, "report", "--force", "--db", path, "-o", output)
    assert done.code == 6
    assert len(done.error_lines) == 1
    assert "no space left" in done.errors.lower()
    assert output.read_bytes() == b"older"
    assert drafts(disk) == []


def fill(disk: Path, *, leave: int, name: str = "ballast") -> Path:
    """Fill a disk but for some bytes."""
    free = shutil.disk_usage(disk).free
    ballast = disk / name
    ballast.write_bytes(bytes(max(free - leave, 0)))
    return ballast


def enlarge(disk: Path) -> None:
    import subprocess

    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
