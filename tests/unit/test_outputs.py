"""Files that get their name when they are whole, and the journals beside them."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from simstore import Document, Store, outputs
from simstore.errors import Conflict, InvalidParameter, StorageError
from simstore.outputs import check_apart, make_folder, write_file
from simstore.version import APPLICATION_ID

pytestmark = pytest.mark.sqlite("files and their journals")

TEXTS = {f"page {n}": f"The bridge of page {n} stays shut for {n * n} weeks." for n in range(12)}


def store_with_a_log(path: Path) -> None:
    """Make a store whose last documents are in its log alone, as a killed process leaves it."""
    made = path.with_name("made.db")
    Store.create(made).close()
    with Store.open(made) as store:
        store.add_many(Document(key, text) for key, text in TEXTS.items())
        for suffix in ("", "-wal"):
            shutil.copy(made.with_name(made.name + suffix), path.with_name(path.name + suffix))
    made.unlink()
    assert path.with_name(path.name + "-wal").stat().st_size


@dataclass(frozen=True)
class Synced:
    """What was synced: its path, size and mode at the time, and whether it had its last name."""

    path: Path
    size: int
    mode: int
    is_named: bool


def synced_paths(monkeypatch: pytest.MonkeyPatch) -> list[Synced]:
    """Return a list that gets what is synced from now on."""
    found: list[Synced] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        state = os.fstat(descriptor)
        found.append(Synced(path, state.st_size, state.st_mode, path.suffix != ".new"))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return found


def dead_draft(path: Path) -> Path:
    """Return the name of a draft of a process that no PID namespace has room for."""
    draft = outputs.draft_beside(path)
    return draft.with_name(draft.name.replace(f"-{os.getpid()}-", "-4194305-"))


def refuse(draft: Path, path: Path) -> None:
    raise OSError("as if power were lost here")


def texts(path: Path) -> dict[str, str | None]:
    with Store.open(path) as store:
        assert store.maintenance.fsck() == []
        return {one.key: one.text for one in store.list(with_text=True)}


def test_older_copy_keeps_what_is_in_its_log_until_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_with_a_log(tmp_path / "older.db")

    with Store.create(tmp_path / "store.db") as store:
        monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(StorageError):
            store.maintenance.backup(tmp_path / "older.db", replace=True)
        monkeypatch.undo()
        assert texts(tmp_path / "older.db") == TEXTS
        store_with_a_log(tmp_path / "older.db")
        store.maintenance.backup(tmp_path / "older.db", replace=True)
    assert texts(tmp_path / "older.db") == {}


def test_damaged_store_is_replaced_with_its_journals(tmp_path: Path) -> None:
    for suffix in ("", "-wal", "-journal"):
        (tmp_path / f"older.db{suffix}").write_bytes(b"nothing that SQLite knows" * 100)
    with Store.create(tmp_path / "store.db") as store:
        header = (tmp_path / "store.db").read_bytes()[:100]
        (tmp_path / "older.db").write_bytes(header + b"nothing that SQLite knows" * 100)
        store.maintenance.backup(tmp_path / "older.db", replace=True)
    assert texts(tmp_path / "older.db") == {}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["older.db", "store.db"]


def test_transaction_of_an_older_file_that_was_not_ended_is_undone_before_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = tmp_path / "older.db"
    with closing(sqlite3.connect(tmp_path / "made.db", isolation_level=None)) as connection:
        # What is changed comes to the file before it is committed.
        connection.execute("PRAGMA cache_size = 1")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("CREATE TABLE page (text)")
        rows = [("kept " * 200,)] * 50
        connection.executemany("INSERT INTO page VALUES (?)", rows)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE page SET text = 'changed'")
        for suffix in ("", "-journal"):
            shutil.copy(tmp_path / f"made.db{suffix}", tmp_path / f"older.db{suffix}")
    with Store.create(tmp_path / "store.db") as store:
        monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(StorageError):
            store.maintenance.backup(older, replace=True)
    with closing(sqlite3.connect(older)) as connection:
        assert connection.execute("SELECT text FROM page").fetchall() == rows


def test_journals_of_another_store_are_gone_for_good_before_a_store_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[set[str]] = []
    sync = outputs.sync_folder

    def noted(path: Path) -> None:
        synced.append({one.name for one in tmp_path.iterdir()})
        sync(path)

    monkeypatch.setattr(outputs, "sync_folder", noted)
    store_with_a_log(tmp_path / "gone.db")
    (tmp_path / "gone.db").unlink()
    synced.clear()
    Store.create(tmp_path / "gone.db").close()
    first, last = synced
    assert len(first) == 1
    assert first.pop().endswith(".new")
    assert last == {"gone.db"}
    assert texts(tmp_path / "gone.db") == {}


def test_journal_of_a_draft_that_is_gone_is_deleted(tmp_path: Path) -> None:
    draft, other = (dead_draft(tmp_path / name).name for name in ("file", "other"))
    for name in (f"{draft}-wal", f"{draft}-journal", f"{other}-wal"):
        (tmp_path / name).write_bytes(b"left")
    write_file(tmp_path / "file", b"new", replace=False)
    assert {path.name for path in tmp_path.iterdir()} == {"file", f"{other}-wal"}


@pytest.mark.parametrize("name", ["é" * 127, "n" * 240 + ".gz"])
def test_file_of_a_long_name_is_written_and_its_drafts_of_dead_processes_are_deleted(
    tmp_path: Path, name: str
) -> None:
    dead_draft(tmp_path / name).write_bytes(b"left")
    write_file(tmp_path / name, b"new", replace=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_store_of_a_long_name_is_made_and_copied(tmp_path: Path) -> None:
    # With the longest of its journals it fits.
    names = ["s" * 244 + ".db", "t" * 244 + ".db"]
    with Store.create(tmp_path / names[0]) as store:
        store.add("one", "A text.")
        store.maintenance.backup(tmp_path / names[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert texts(tmp_path / names[1]) == {"one": "A text."}


def test_file_is_durable_with_its_permissions_before_it_gets_its_name_and_then_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = synced_paths(monkeypatch)
    write_file(tmp_path / "file", b"content", replace=False)
    file, folder = synced
    assert (file.size, folder.path) == (7, tmp_path)
    assert file.mode == (tmp_path / "file").stat().st_mode
    assert not file.is_named
    with Store.create(tmp_path / "store.db") as store:
        synced.clear()
        store.maintenance.backup(tmp_path / "copy.db")
    *_, file, before, after = synced
    assert (file.size, file.mode) == (
        (tmp_path / "copy.db").stat().st_size,
        (tmp_path / "copy.db").stat().st_mode,
    )
    assert [one.path for one in (before, after)] == [tmp_path, tmp_path]
    assert not file.is_named


def test_folder_that_is_made_has_a_durable_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = synced_paths(monkeypatch)
    make_folder(tmp_path / "one" / "two")
    assert {one.path for one in synced} == {tmp_path, tmp_path / "one"}
    synced.clear()
    make_folder(tmp_path / "one" / "two")
    assert synced == []
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")


def test_outputs_of_one_command_are_files_apart_whatever_they_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("mine")
    (tmp_path / "folder").mkdir()
    os.symlink("a", "link")
    os.link("a", "hard")
    os.symlink("new", "to-be")
    for one, other in (
        ("a", "./a"), ("a", tmp_path / "a"), ("a", "link"), ("a", "hard"), ("a", "folder/../a"),
        ("new", "to-be"), ("new", "./new"), ("-", "/dev/stdout"), ("-", "-"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match="the log and the export are one file: give"):
            check_apart({"log": one, "export": other})
    for path in ("a", "./a", "link", "hard", tmp_path / "a"):
        with pytest.raises(InvalidParameter, match="is an input; name another file for the log"):
            check_apart({"log": path, "export": "-"}, ["a"])
    check_apart({"log": "/dev/null", "export": "/dev/null", "report": None}, ["/dev/null", "a"])
    check_apart({"log": "new", "export": "new2", "report": "-"}, ["a"])


@pytest.mark.parametrize(
    ("suffix", "data", "is_taken"),
    [
        ("-shm", b"", False),
        ("-shm", b"\7" * 4_096, False),
        ("-wal", bytes(32), False),
        ("-shm", b"precious", True),
        ("-wal", b"precious", True),
        ("-journal", b"precious", True),
    ],
)
def test_what_a_loss_of_power_leaves_of_a_journal_is_not_of_others(
    tmp_path: Path, suffix: str, data: bytes, is_taken: bool
) -> None:
    (tmp_path / f"s.db{suffix}").write_bytes(data)
    with pytest.raises(Conflict) if is_taken else nullcontext():
        outputs.check_journals(tmp_path / "s.db")
