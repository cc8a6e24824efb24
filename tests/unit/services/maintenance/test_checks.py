"""Each check of a store finds the damage that it is there for, and nothing else would find it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simstore import Store, restore_store
from simstore.errors import CorruptStore, SchemeMismatch, SimstoreError
from simstore.fingerprint import schemes
from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.fingerprint.sketching import Sketching
from simstore.services.open_store import open_store
from simstore.storage import migrate

pytestmark = pytest.mark.sqlite("files are damaged")

TEXT = "the iron bridge stays shut for eleven weeks while engineers replace its bearing"
Patch = pytest.MonkeyPatch


def made(folder: Path) -> Path:
    with Store.create(folder / "s.db") as store:
        store.add_many({"bridge": TEXT, "bread": "mix flour and water"})
        store.passages.build()
    return folder / "s.db"


def without_an_index(path: Path) -> None:
    """Empty the root page of the index of digests."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        statement = "SELECT rootpage FROM sqlite_master WHERE name = 'ix_document_digest'"
        (page,) = connection.execute(statement).fetchone()
    data = bytearray(path.read_bytes())
    cell_count = (page - 1) * size + 3
    data[cell_count : cell_count + 2] = bytes(2)
    path.write_bytes(data)


def changed(statement: str) -> Callable[[Path], None]:
    """Return what changes a store by a statement; foreign keys are off in a connection as made."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(statement).rowcount == 1
            connection.commit()

    return change


def answered(statement: str, answer: str) -> Callable[[Patch], None]:
    """Return a fault: SQLite answers a statement as another one."""

    class Careless(sqlite3.Connection):
        def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
            return super().execute(answer if sql.startswith(statement) else sql, *rest)

    whole = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        return whole(*arguments, **{"factory": Careless, **options})

    return lambda patch: patch.setattr(sqlite3, "connect", connect)


def replaced(owner: Any, name: str, value: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(owner, name, value)


def back_up(path: Path) -> None:
    with Store.open(path) as store:
        store.maintenance.backup(path.with_name("copy.db"))


def restore(path: Path) -> None:
    restore_store(path, path.with_name("copy.db"))


def ask(path: Path) -> None:
    with Store.open(path) as store:
        store.query(TEXT)


def check(path: Path) -> None:
    with Store.open(path) as store:
        store.check(TEXT)


def recipe_as_stored(record: Any) -> PassageRecipe:
    known = {name: record[name] for name in ("cut", "window", "fingerprints", "sentences")}
    return PassageRecipe(**known, neighbours=record["neighbours"])


ORPHAN = "UPDATE document SET run_id = 99 WHERE document_id = 1"
INDEX = without_an_index, answered("PRAGMA integrity_check", "SELECT 'ok'"), CorruptStore
REFERENCE = changed(ORPHAN), answered("PRAGMA foreign_key_check", "SELECT 1 WHERE 0"), CorruptStore
# What is damaged, a fault that leaves the check out, and how the check answers.
CHECKS = {
    "backup, indexes": (back_up, *INDEX, "its copy is not sound"),
    "backup, references": (back_up, *REFERENCE, "refers to nothing"),
    "restore, indexes": (restore, *INDEX, "its copy is not sound"),
    "restore, references": (restore, *REFERENCE, "refers to nothing"),
    "opening, schema": (
        ask,
        changed("UPDATE alembic_version SET version_num = '0000'"),
        replaced(migrate, "check_revision", lambda _: None),
        SimstoreError,
        "schema 0000",
    ),
    "opening, fingerprints": (
        ask,
        changed("UPDATE scheme SET known_answers = replace(known_answers, '8318', '8319')"),
        replaced(open_store, "open_scheme", schemes.make_scheme),
        SchemeMismatch,
        "known text",
    ),
    "opening, sketches": (
        ask,
        changed("UPDATE scheme SET channels = replace(channels, 'a68d', 'a68e')"),
        replaced(Sketching, "comes_out", lambda *_: True),
        SchemeMismatch,
        "sketches come out otherwise",
    ),
    "opening, passages": (
        check,
        changed(
            "UPDATE passage_index SET recipe = replace(recipe, 'answer\": \"', 'answer\": \"5')"
        ),
        replaced(PassageRecipe, "from_record", recipe_as_stored),
        SchemeMismatch,
        "anchors come out otherwise",
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_check_finds_its_damage(tmp_path: Path, name: str) -> None:
    use, damage, _, error, told = CHECKS[name]
    path = made(tmp_path)
    damage(path)
    with pytest.raises(error, match=told):
        use(path)
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize("name", CHECKS)
def test_damage_passes_where_the_check_is_left_out(
    tmp_path: Path, monkeypatch: Patch, name: str
) -> None:
    use, damage, fault, *_ = CHECKS[name]
    path = made(tmp_path)
    damage(path)
    fault(monkeypatch)
    use(path)


@pytest.mark.parametrize("name", CHECKS)
def test_sound_store_passes_each_check(tmp_path: Path, name: str) -> None:
    CHECKS[name][0](made(tmp_path))
