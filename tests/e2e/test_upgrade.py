"""`simstore upgrade`, with a second migration that was made up."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import second_migration
from forked import Nursery

from simstore import Store

from .states import assert_sound, integrity


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    with Store.create(made / "store.db") as store:
        store.add_many([("bridge", "The bridge stays shut for weeks."), ("bread", "Flour, salt.")])
    return made


def test_command_on_an_older_store_names_the_upgrade_and_changes_nothing(
    nursery: Nursery, folder: Path
) -> None:
    second_migration.write(folder)
    (folder / "sample.txt").write_text("one\ntext\n\f")
    before = (folder / "store.db").read_bytes()
    for words in (["stats"], ["query", "sample.txt"], ["ingest", "sample.txt"], ["fsck"]):
        done = nursery.simstore(folder, *words, "--db", "store.db")
        assert (done.code, done.out, len(done.error_lines)) == (6, b"", 1)
        assert "simstore upgrade" in done.errors
        assert "0001" in done.errors
        assert (folder / "store.db").read_bytes() == before


def test_upgrade_keeps_a_checked_copy_and_the_store_answers_as_before(
    nursery: Nursery, folder: Path
) -> None:
    second_migration.write(folder)
    asked = ["list", "--db", "store.db", "--format", "jsonl"]
    with Store.open(folder / "store.db") as store:
        expected = [(one.key, one.text) for one in store.list(with_text=True)]
    done = nursery.simstore(folder, "upgrade", "--db", "store.db")
    assert (done.code, done.text.count("\n")) == (0, 1), done.errors
    copy = folder / "store.db.0001.backup"
    assert copy.name in done.text
    assert integrity(copy) == "ok"
    with second_migration.opened(copy) as store:
        assert [(one.key, one.text) for one in store.list(with_text=True)] == expected
    assert second_migration.is_upgraded(folder / "store.db")
    assert not second_migration.is_upgraded(copy)
    with second_migration.opened(folder / "store.db") as store:
        assert [(one.key, one.text) for one in store.list(with_text=True)] == expected
        assert_sound(folder / "store.db")
    assert nursery.simstore(folder, *asked).code == 0
    again = nursery.simstore(folder, "upgrade", "--db", "store.db")
    assert (again.code, again.errors) == (0, "")
    assert "up to date" in again.text
    assert sorted(folder.glob("*.backup")) == [copy]


def test_store_of_an_unknown_revision_is_refused_as_too_new_by_every_command(
    nursery: Nursery, folder: Path
) -> None:
    path = folder / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    before = path.read_bytes()
    for command in ("stats", "upgrade", "fsck"):
        done = nursery.simstore(folder, command, "--db", "store.db")
        assert (done.code, len(done.error_lines)) == (6, 1)
        assert "9999" in done.errors
        assert "newer simstore" in done.errors
    assert path.read_bytes() == before
    assert not list(folder.glob("*.backup"))


@pytest.mark.parametrize(
    ("is_older", "statement", "named"),
    [
        (False, "DROP TABLE document_link", "document_link"),
        (False, "ALTER TABLE document DROP COLUMN version_seen", "document.version_seen"),
        (True, "DROP TABLE document_link", "document_link"),
        (True, "CREATE TABLE made_up (key BLOB)", "made_up"),
    ],
)
def test_store_whose_tables_are_not_those_of_its_revision_is_refused(
    nursery: Nursery, folder: Path, is_older: bool, statement: str, named: str
) -> None:
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        connection.execute("DROP VIEW documents")
        connection.execute(statement)
        connection.commit()
    if is_older:
        second_migration.write(folder)
    for _ in range(2):
        done = nursery.simstore(folder, "upgrade", "--db", "store.db")
        assert (done.code, done.out, len(done.error_lines)) == (6, b"", 1)
        assert named in done.errors
        assert not second_migration.is_upgraded(folder / "store.db")
