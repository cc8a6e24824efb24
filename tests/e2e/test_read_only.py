"""Stores that may only be read: questions are answered; what cannot be done is said in a line."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forked import Finished, Nursery

from simstore import Files, Store
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice

from . import corpora
from .processes import small_disk

NOBODY = 65_534
PAGES = corpora.pages(14, 60, repeats=False)


def of_the_disk(done: Finished) -> list[str]:
    """Return what a command says, but for what the course's format leaves out."""
    return [line for line in done.error_lines if line and not line.startswith("this format lists")]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    try:
        with small_disk(tmp_path / "disk", 16 << 20) as folder:
            yield folder
    except PermissionError as error:
        pytest.skip(f"cannot mount a file system here: {error}")


@pytest.fixture
def freeze(disk: Path) -> Callable[[], None]:
    """Make the disk read-only."""

    def remount() -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    return remount


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return corpora.article_file(tmp_path / "article.txt", PAGES)


def fill(path: Path, source: Path, scheme: str = "web") -> None:
    """Make a store with documents, a recorded query and, beside the source, a record rejected."""
    unreadable = source.with_name("unreadable.jsonl")
    unreadable.write_text("{no record}\n")
    with Store.create(path, scheme=SchemeChoice(scheme)) as store:
        store.ingest([str(source)])
        store.ingest([str(unreadable)])
        assert len(store.rejects.list()) == 1
        store.query_many(Files(str(source)), record=True)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["web", "simtool"])
def test_query_on_a_read_only_disk_answers_and_says_that_it_is_not_recorded(
    nursery: Nursery,
    tmp_path: Path,
    disk: Path,
    freeze: Callable[[], None],
    source: Path,
    scheme: str,
) -> None:
    path = disk / "store.db"
    fill(path, source, scheme)
    words = ["query", "--format", "simtool", "--db", path, source]
    before = nursery.simstore(tmp_path, *words)
    assert (before.code, of_the_disk(before)) == (0, [])
    freeze()
    asked = nursery.simstore(tmp_path, *words)
    assert asked.code == 0, asked.errors
    assert asked.out == before.out
    assert len(of_the_disk(asked)) == 1
    assert "not recorded" in asked.errors
    assert "read-only" in asked.errors
    quiet = nursery.simstore(tmp_path, *words, "--no-record")
    assert (quiet.code, quiet.out, of_the_disk(quiet)) == (0, before.out, [])


def test_writing_command_on_a_read_only_disk_says_so_in_one_line(
    nursery: Nursery, tmp_path: Path, disk: Path, freeze: Callable[[], None], source: Path
) -> None:
    path = disk / "store.db"
    fill(path, source)
    freeze()
    for words in (
        ["ingest", source],
        ["remove", "page-00001"],
        ["vocabulary", "refresh", "--anyway"],
        ["vocabulary", "policy", "frozen"],
        ["reindex"],
        ["compact"],
        ["rejects", "--clear", "--yes"],
        ["expire", "--not-seen-since", "2100-01-01", "--yes"],
        ["backup", disk / "copy.db"],
        ["report", "-o", disk / "result.txt"],
        ["init", "--db", disk / "new.db"],
        ["ingest", source, "--db", disk / "new.db"],
    ):
        place = [] if "--db" in words else ["--db", path]
        done = nursery.simstore(tmp_path, *words, *place)
        assert (done.code, done.out) == (6, b""), (words, done.errors)
        assert len(done.error_lines) == 1
        assert "read-only" in done.errors or "cannot be written" in done.errors, words
        assert "bug" not in done.errors


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["web", "simtool"])
def test_reading_command_works_on_a_read_only_disk(
    nursery: Nursery,
    tmp_path: Path,
    disk: Path,
    freeze: Callable[[], None],
    source: Path,
    scheme: str,
) -> None:
    path = disk / "store.db"
    fill(path, source, scheme)
    freeze()
    for words in (
        ["stats"],
        ["list"],
        ["show", "page-00001", "--text"],
        ["compare", "key:page-00001", "key:page-00002"],
        ["report", "-o", "-"],
        ["fsck"],
        ["rejects"],
        ["vocabulary", "show", "--limit", "1000000"],
    ):
        done = nursery.simstore(tmp_path, *words, "--db", path)
        assert (done.code, of_the_disk(done)) == (0, []), words
        assert done.out


def test_backup_from_a_read_only_disk_is_a_store_that_can_be_written(
    nursery: Nursery, tmp_path: Path, disk: Path, freeze: Callable[[], None], source: Path
) -> None:
    fill(disk / "store.db", source)
    freeze()
    done = nursery.simstore(tmp_path, "backup", "copy.db", "--db", disk / "store.db")
    assert done.code == 0, done.errors
    with Store.open(tmp_path / "copy.db") as store:
        assert store.add("new", "text") == "added"
        assert store.maintenance.fsck() == []


def test_killed_writers_commits_are_read_on_a_read_only_disk_or_refused(
    nursery: Nursery, tmp_path: Path, disk: Path, freeze: Callable[[], None], source: Path
) -> None:
    path = disk / "store.db"
    Store.create(path).close()
    child = nursery.start("ingest", tmp_path, place=str(path), names=[str(source)])
    said = [child.message() for _ in range(6)]
    child.kill()
    freeze()
    done = nursery.simstore(tmp_path, "list", "--format", "keys", "--db", path)
    if done.code:
        assert done.code == 6
        assert len(done.error_lines) == 1
        assert "bug" not in done.errors
    else:
        assert len(done.text.splitlines()) >= int(said[-1] or 0)


def test_stale_store_on_a_read_only_disk_answers_and_says_so_or_exits_with_4(
    nursery: Nursery, tmp_path: Path, disk: Path, freeze: Callable[[], None], source: Path
) -> None:
    path = disk / "store.db"
    fill(path, source, "simtool")
    with Store.open(path) as store:
        more = corpora.article_file(tmp_path / "article-more.txt", corpora.pages(15, 20))
        store.ingest([str(more)], options=IngestOptions(refresh=False))
    freeze()
    asked = nursery.simstore(tmp_path, "query", "--db", path, source)
    assert asked.code == 0
    assert "vocabulary refresh" in asked.errors
    refused = nursery.simstore(tmp_path, "query", "--require-fresh", "--db", path, source)
    assert refused.code == 4
    assert refused.out == b""
    assert len(refused.error_lines) == 1


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("file_mode", "folder_mode"),
    [(0o444, 0o555), (0o444, 0o777), (0o666, 0o555)],
    ids=["both", "file", "folder"],
)
def test_user_without_the_right_to_write_can_query_and_is_told_why_not_to_ingest(
    nursery: Nursery, open_folder: Path, file_mode: int, folder_mode: int
) -> None:
    source = corpora.article_file(open_folder / "article.txt", PAGES)
    path = open_folder / "store.db"
    fill(path, source)
    path.chmod(file_mode)
    open_folder.chmod(folder_mode)
    asked = nursery.simstore(
        open_folder, "query", "--format", "jsonl", "--db", path, source, user=NOBODY
    )
    assert asked.code == 0, asked.errors
    assert len(asked.text.splitlines()) == len(PAGES)
    assert len(of_the_disk(asked)) == 1
    assert "not recorded" in asked.errors
    done = nursery.simstore(open_folder, "ingest", "--db", path, source, user=NOBODY)
    assert done.code == 6
    assert len(done.error_lines) == 1
    assert "read-only" in done.errors or "permission" in done.errors.lower()


def test_user_without_the_right_to_read_is_told_so(nursery: Nursery, open_folder: Path) -> None:
    source = corpora.article_file(open_folder / "article.txt", PAGES)
    path = open_folder / "store.db"
    fill(path, source)
    path.chmod(0o600)
    done = nursery.simstore(open_folder, "stats", "--db", path, user=NOBODY)
    assert done.code == 6
    assert len(done.error_lines) == 1
    assert "permission" in done.errors.lower()
    path.chmod(0o644)
    source.chmod(0o600)
    done = nursery.simstore(open_folder, "query", "--db", path, source, user=NOBODY)
    assert done.code == 5
    assert "permission" in done.errors.lower()
