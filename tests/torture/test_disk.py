"""The model of a disk that loses power: what must be there, what may be, and what it catches."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest

from .disk import SECTOR, Disk, files_of
from .faults import cannot_build
from .power_loss import images_of
from .power_steps import Step, command, expected
from .record import Event, append_mark, build, events

Test = TypeVar("Test", bound=Callable[..., None])


def needs_compiler(test: Test) -> Test:
    """Mark a test that records a program."""
    skips = pytest.mark.skipif(cannot_build() is not None, reason=str(cannot_build()))
    marked: Test = pytest.mark.torture(skips(test))
    return marked


def write(place: int, data: bytes, inode: int = 1) -> Event:
    return Event("write", inode, place, len(data), data)


def left(tmp_path: Path, done: Iterable[Event], count: int = 300) -> Iterator[dict[str, bytes]]:
    """Yield what may be left of a folder after some operations."""
    disk = Disk(tmp_path)
    for event in done:
        disk.apply(event)
    for seed in range(count):
        yield disk.after_cut(random.Random(seed))


NEW = Event("create", 1, paths=("a",))
SYNC = Event("sync", 1)
SYNC_FOLDER = Event("sync folder", paths=(".",))


def test_what_was_synced_with_its_name_is_never_lost(tmp_path: Path) -> None:
    done = [NEW, write(0, b"one"), write(3, b"two"), SYNC, SYNC_FOLDER]
    assert all(one == {"a": b"onetwo"} for one in left(tmp_path, done))


def test_sync_of_a_file_does_not_keep_its_name(tmp_path: Path) -> None:
    done = [NEW, write(0, b"one"), SYNC]
    assert {tuple(one.items()) for one in left(tmp_path, done)} == {(), (("a", b"one"),)}


def test_name_may_come_without_the_data(tmp_path: Path) -> None:
    done = [NEW, write(0, b"one"), Event("rename", paths=("a", "b")), SYNC_FOLDER]
    found = {one["b"] for one in left(tmp_path, done)}
    assert {b"", b"one", bytes(3)} <= found


def test_names_are_lost_in_any_order_and_a_rename_is_done_or_not(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "log").write_bytes(b"log")
    done = [
        NEW, write(0, b"new"), SYNC, SYNC_FOLDER,
        Event("unlink", paths=("log",)), Event("rename", paths=("a", "old")),
    ]  # fmt: skip
    found = {tuple(sorted(one.items())) for one in left(tmp_path, done)}
    log, old, new, draft = ("log", b"log"), ("old", b"old"), ("old", b"new"), ("a", b"new")
    assert found == {(draft, log, old), (draft, old), (log, new), (new,)}


def test_writes_are_lost_torn_at_sectors_and_done_in_any_order(tmp_path: Path) -> None:
    size = 3 * SECTOR
    (tmp_path / "a").write_bytes(b"0" * size)
    inode = (tmp_path / "a").stat().st_ino
    done = [write(0, b"1" * size, inode), write(SECTOR - 100, b"2" * 200, inode)]
    cuts = [0, SECTOR - 100, SECTOR, SECTOR + 100, 2 * SECTOR, size]
    seen = set()
    for one in left(tmp_path, done, 2_000):
        parts = [one["a"][start:end] for start, end in pairwise(cuts)]
        assert all(len(set(part)) == 1 for part in parts)
        seen.add(b"".join(part[:1] for part in parts))
    assert {b"00000", b"11111", b"12211", b"02200", b"02000", b"00200", b"11000"} <= seen
    assert {b"00110", b"00001", b"12111", b"12000"} <= seen


def test_shorter_file_may_be_as_long_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"longer")
    inode = (tmp_path / "a").stat().st_ino
    resize = Event("resize", inode, size=0)
    assert {one["a"] for one in left(tmp_path, [resize])} == {b"longer", b""}
    assert {one["a"] for one in left(tmp_path, [resize, Event("sync", inode)])} == {b""}


def test_number_of_a_file_that_is_gone_is_that_of_another(tmp_path: Path) -> None:
    done = [
        NEW, write(0, b"one"), SYNC, SYNC_FOLDER, Event("unlink", paths=("a",)),
        Event("create", 1, paths=("b",)), write(0, b"two"), SYNC,
    ]  # fmt: skip
    found = {tuple(sorted(one.items())) for one in left(tmp_path, done)}
    one, two = ("a", b"one"), ("b", b"two")
    assert found == {(one,), (one, two), (two,), ()}


def test_operation_that_the_model_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="knows no link"):
        Disk(tmp_path).apply(Event("link", paths=("a", "b")))
    log = tmp_path / "log"
    append_mark(log, "a mark")
    assert [(one.kind, one.text) for one in events(log)] == [("mark", "a mark")]
    log.write_bytes(log.read_bytes().replace(b"!", b"?", 1))
    with pytest.raises(ValueError, match="not recorded: a mark"):
        events(log)


def test_acknowledged_state_and_those_after_it_are_expected() -> None:
    states: list[dict[str, str | None]] = [{}, {"a": "1"}, {"a": "1", "b": "2"}]
    step = Step(command("ingest"), states=states, marks={"1": 1}, output=("copy.db", {"a": "1"}))
    begun = [(0, "begin")]
    assert expected({}, {}, [step], []).documents == [{}]
    assert expected({}, {}, [step], begun).documents == states
    assert expected({}, {}, [step], [*begun, (0, "1")]).documents == states[1:]
    assert expected({}, {}, [step], begun).outputs == {"copy.db": [None, {"a": "1"}]}
    done = expected({}, {}, [step], [*begun, (0, "1"), (0, "exit 0")])
    assert (done.documents, done.outputs) == (states[2:], {"copy.db": [{"a": "1"}]})
    careful = replace(step, output_first=True)
    assert expected({}, {}, [careful], begun).first == ["copy.db"]
    with pytest.raises(AssertionError, match="exit 1"):
        expected({}, {}, [step], [*begun, (0, "exit 1")])


PROGRAM = """
import ctypes, os, sqlite3, sys
library, folder, log, synchronous = sys.argv[1:]
recorder = ctypes.CDLL(library)
assert recorder.record_to(folder.encode(), log.encode()) == 0
connection = sqlite3.connect(folder + "/store.db", isolation_level=None)
connection.execute(f"PRAGMA synchronous = {synchronous}")
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA wal_autocheckpoint = 20")
connection.execute("CREATE TABLE page (number, text)")
for number in range(40):
    connection.execute("INSERT INTO page VALUES (?, ?)", (number, "a text " * (number * 37 % 900)))
    recorder.mark(str(number).encode())
connection.close()
with open(folder + "/draft", "wb") as file:
    file.write(b"whole " * 999)
os.rename(folder + "/draft", folder + "/file")
print("done", flush=True)
"""


def recorded(folder: Path, synchronous: str) -> list[Event]:
    """Return what a program of SQLite does to an empty folder."""
    made = folder / "disk"
    made.mkdir()
    whole = Disk(made)
    library, log = build(folder), folder / "log"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, library, os.path.realpath(made), log, synchronous],
        env={**os.environ, "LD_PRELOAD": str(library)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    history = events(log)
    for event in history:
        whole.apply(event)
    assert whole.contents == {name: (made / name).read_bytes() for name in files_of(made)}
    assert b"".join(event.data for event in history if event.kind == "told") == b"done\n"
    return history


def faults_of(folder: Path, history: list[Event]) -> list[str]:
    """Return what is wrong with images of the program's disk."""
    empty = folder / "empty"
    empty.mkdir()
    found = []
    for seed in range(5):
        for image in images_of(history, Disk(empty), random.Random(seed)):
            done = sum(event.kind == "mark" for event in history[: image.at])
            image.write(folder / "image")
            with closing(sqlite3.connect(folder / "image" / "store.db")) as connection:
                try:
                    (told,) = connection.execute("PRAGMA integrity_check").fetchone()
                    there = connection.execute("SELECT name FROM sqlite_master").fetchall()
                    rows = connection.execute("SELECT text FROM page").fetchall() if there else []
                except sqlite3.Error as error:
                    found.append(str(error))
                    continue
            if told != "ok" or len(rows) < done:
                found.append(f"{told}: {len(rows)} of {done}")
    return found


@needs_compiler
def test_program_that_syncs_what_it_acknowledges_loses_nothing(tmp_path: Path) -> None:
    assert faults_of(tmp_path, recorded(tmp_path, "FULL")) == []


@needs_compiler
@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_program_that_does_not_sync_what_it_acknowledges_is_found_out(
    tmp_path: Path, synchronous: str
) -> None:
    found = faults_of(tmp_path, recorded(tmp_path, synchronous))
    assert found
    # Without any sync not even the file is sound.
    assert all(one.startswith("ok: ") for one in found) == (synchronous == "NORMAL")


@needs_compiler
def test_file_that_was_renamed_before_it_was_synced_may_be_empty(tmp_path: Path) -> None:
    history = recorded(tmp_path, "FULL")
    empty = tmp_path / "empty"
    empty.mkdir()
    sizes = {len(one["file"]) for one in left(empty, history) if "file" in one}
    assert {0, 5_994} < sizes
