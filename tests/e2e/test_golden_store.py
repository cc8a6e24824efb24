"""Stores of every older revision open, upgrade and answer as they did."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store
from simstore.storage import migrate

from . import golden
from .states import assert_sound, integrity

stores = pytest.mark.parametrize("name", golden.NAMES)
ends = pytest.mark.parametrize("name", [golden.NAMES[0], golden.NAMES[-1]])


def revision_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def test_there_is_a_golden_store_of_every_older_revision() -> None:
    for revision in migrate.HISTORY[:-1]:
        assert revision_of_golden(revision), f"no golden store of revision {revision}"


def revision_of_golden(revision: str) -> list[Path]:
    return sorted(golden.FOLDER.glob(f"*-{revision}.db"))


@pytest.mark.slow
@ends
def test_command_on_an_older_store_names_the_upgrade_and_changes_nothing(
    nursery: Nursery, tmp_path: Path, name: str
) -> None:
    path = golden.copy_to(tmp_path, name)
    before = path.read_bytes()
    (tmp_path / "sample.txt").write_text("one\ntext\n\f")
    for words in (["stats"], ["query", "sample.txt"], ["ingest", "sample.txt"], ["fsck"]):
        done = nursery.simstore(tmp_path, *words, "--db", "store.db")
        assert (done.code, done.out, len(done.error_lines)) == (6, b"", 1)
        assert "simstore upgrade" in done.errors
        assert golden.revision(name) in done.errors
        assert path.read_bytes() == before


@pytest.mark.slow
@stores
def test_upgrade_keeps_a_checked_copy_and_the_store_answers_as_before(
    nursery: Nursery, tmp_path: Path, name: str
) -> None:
    path = golden.copy_to(tmp_path, name)
    done = nursery.simstore(tmp_path, "upgrade", "--db", "store.db")
    assert done.code == 0, done.errors
    assert done.text.count("\n") == 1
    assert ("reindex --channels simhash,minhash" in done.errors) == (golden.revision(name) < "0003")
    copy = tmp_path / f"store.db.{golden.revision(name)}.backup"
    assert copy.name in done.text
    assert revision_of(copy) == golden.revision(name)
    assert integrity(copy) == "ok"
    assert revision_of(path) == migrate.HEAD
    assert_sound(path)
    with Store.open(path) as store:
        found = json.loads(json.dumps(golden.script().describe(store)))
    assert found == golden.described(name)
    again = nursery.simstore(tmp_path, "upgrade", "--db", "store.db")
    assert (again.code, again.errors) == (0, "")
    assert "up to date" in again.text
    assert sorted(tmp_path.glob("*.backup")) == [copy]


@pytest.mark.slow
@ends
def test_upgraded_store_has_the_very_schema_of_a_new_one(
    nursery: Nursery, tmp_path: Path, name: str
) -> None:
    path = golden.copy_to(tmp_path, name)
    new = tmp_path / "new.db"
    Store.create(new).close()
    assert nursery.simstore(tmp_path, "upgrade", "--db", path).code == 0

    def schema(path: Path) -> dict[tuple[str, str], list[tuple[object, ...]]]:
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
            pragma = {"table": "table_info", "index": "index_xinfo", "view": "table_info"}
            return {
                (kind, name): sorted(connection.execute(f"PRAGMA {pragma[kind]}({name})"))
                for kind, name in names
                if not name.startswith("sqlite_autoindex")
            }

    assert schema(path) == schema(new)


@pytest.mark.slow
@ends
def test_upgraded_store_takes_new_documents_records_queries_and_reports_them(
    nursery: Nursery, tmp_path: Path, name: str
) -> None:
    golden.copy_to(tmp_path, name)
    assert nursery.simstore(tmp_path, "upgrade", "--db", "store.db").code == 0
    page = "fresh\nMix flour, water and salt; let the dough rest for a night; bake it hot.\n\f"
    (tmp_path / "new.txt").write_text(page)
    added = nursery.simstore(tmp_path, "ingest", "--db", "store.db", "--as", "articles", "new.txt")
    assert added.code == 0
    asked = nursery.simstore(
        tmp_path, "query", "--db", "store.db", "--as", "articles", "--format", "simtool", "new.txt"
    )
    assert asked.code == 0
    assert asked.text.startswith("fresh\n0:fresh ")
    reported = nursery.simstore(tmp_path, "report", "--db", "store.db", "-o", "-")
    assert reported.out == asked.out
    assert_sound(tmp_path / "store.db")


@ends
def test_store_of_an_unknown_revision_is_refused_as_too_new_by_every_command(
    nursery: Nursery, tmp_path: Path, name: str
) -> None:
    path = golden.copy_to(tmp_path, name)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    before = path.read_bytes()
    for command in ("stats", "upgrade", "fsck"):
        done = nursery.simstore(tmp_path, command, "--db", "store.db")
        assert done.code == 6
        assert len(done.error_lines) == 1
        assert "9999" in done.errors
        assert "newer simstore" in done.errors
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.backup"))


@pytest.mark.slow
@pytest.mark.parametrize("name", golden.WEB2)
def test_store_of_web_2_answers_as_it_did(nursery: Nursery, tmp_path: Path, name: str) -> None:
    path = golden.copy_to(tmp_path, name)
    assert nursery.simstore(tmp_path, "upgrade", "--db", path).code == 0
    # Fingerprints, sketches and passages are those that its texts have here.
    assert_sound(path)
    with Store.open(path) as store:
        assert json.loads(json.dumps(golden.script().describe_web2(store))) == golden.described(
            name
        )
        assert store.maintenance.scheme().label == "web/2"
        passages = store.passages.status()
        assert passages is not None
        assert not passages.older_form
        store.maintenance.reindex()
        again = golden.script().describe_web2(store)
    assert json.loads(json.dumps(again))["disguised"] == golden.described(name)["disguised"]
