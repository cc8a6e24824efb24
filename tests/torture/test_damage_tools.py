"""The ways to damage a store, and the judgement of what it answers then."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from forked import Finished

from simstore import Store

from .damage import _different, _judge_check, _judge_end, _judge_errors
from .damage_makers import BYTES, damage_bytes, damage_rows, differences
from .damage_templates import commits
from .damage_unknowable import unknowable_settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for name, rows in (("older.db", 300), ("s.db", 900)):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, word TEXT, blob BLOB)")
            connection.executemany(
                "INSERT INTO t VALUES (?, ?, ?)",
                [(n, f"word {n} of {rows}", bytes([n % 256]) * 30) for n in range(rows)],
            )
            connection.commit()
    return tmp_path / "s.db"


@pytest.mark.parametrize("kind", dict.fromkeys(BYTES))
def test_each_kind_of_damage_changes_the_file_as_the_seed_says(path: Path, kind: str) -> None:
    before = path.read_bytes()
    changed = 0
    for seed in range(8):
        path.write_bytes(before)
        told = damage_bytes(path, kind, random.Random(seed))
        after = path.read_bytes()
        changed += after != before
        path.write_bytes(before)
        assert damage_bytes(path, kind, random.Random(seed)) == told
        assert path.read_bytes() == after
    # A random byte of the header, or two pages, may be what they were before.
    assert changed >= 6


@pytest.mark.slow
def test_changed_rows_are_the_differences_of_two_stores(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    sound = tmp_path / "sound.db"
    sound.write_bytes(before)
    found: set[str] = set()
    for seed in range(60):
        path.write_bytes(before)
        told = damage_rows(path, random.Random(seed))
        assert told is not None
        apart = differences(sound, path)
        assert apart, told
        found |= apart
    assert found == {"t.*", "t.word", "t.blob"}
    assert differences(sound, sound) == set()


def test_answers_that_are_others_or_are_not_there_are_told() -> None:
    right = {"a": ["answer", "one"], "b": ["answer", "two"]}
    assert _different(right, right) == {}
    assert list(_different({"a": ["answer", "other"], "b": right["b"]}, right)) == ["a"]
    assert list(_different({"a": right["a"]}, right)) == ["b"]
    assert list(_different({"open": ["error", "NotAStore", "no"]}, right)) == ["open"]


@pytest.mark.parametrize(
    "answer",
    [
        ["broken", "Traceback"],
        ["error", "CorruptStore", "something is wrong"],
        ["error", "NotFound", " "],
    ],
)
def test_error_without_place_and_remedy_is_refused(answer: list[str]) -> None:
    with pytest.raises(AssertionError):
        _judge_errors({"a": answer}, {"a": ["answer", "one"]})


@pytest.mark.parametrize(
    "done",
    [
        Finished(-11, b"", b""),
        Finished(1, b"", b""),
        Finished(6, b"", b"Traceback (most recent call last)"),
        Finished(0, b"", b"", 1 << 31),
    ],
)
def test_crash_traceback_and_much_memory_are_refused(done: Finished) -> None:
    with pytest.raises(AssertionError):
        _judge_end(done, "a command")


@pytest.mark.parametrize(
    "done",
    [
        Finished(0, b"", b""),
        Finished(6, b"", b""),
        Finished(6, b"something is wrong\n", b""),
        Finished(5, b"text: it is wrong -- mend it\n", b""),
    ],
)
def test_check_that_does_not_say_what_helps_is_refused(done: Finished) -> None:
    with pytest.raises(AssertionError):
        _judge_check(done)


def test_log_ends_behind_each_commit(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (number INTEGER)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("INSERT INTO t VALUES (2)")
        sound, log = path.read_bytes(), path.with_name("s.db-wal").read_bytes()
    held = []
    for end in commits(log):
        path.write_bytes(sound)
        path.with_name("s.db-wal").write_bytes(log[:end])
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            asked = "SELECT count(*) FROM t" if names[0] else "SELECT -1"
            held.append(connection.execute(asked).fetchone()[0])
    assert held == [-1, 0, 1, 2]


def test_settings_are_not_to_be_known_while_no_row_contradicts_them(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        assert unknowable_settings(tmp_path / "s.db") == {"store.text_kept", "store.keep_columns"}
        store.add("a", "a lamp stands on the table")
        assert unknowable_settings(tmp_path / "s.db") == {"store.keep_columns"}
        store.maintenance.compact()
        assert unknowable_settings(tmp_path / "s.db") == set()
