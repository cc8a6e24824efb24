"""The migrations and the table definitions say the same, on SQLite and on PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from postgres_servers import PostgresServer

from simstore import Store
from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.index.passages import PASSAGES
from simstore.services.check.passage_lookup import near_passages
from simstore.storage import migrate, passages
from simstore.storage.engine import Connection, Database
from simstore.storage.tables import metadata

MakeDatabase = Callable[[], Database]
TEXTS = [
    ("first", "The iron bridge stays shut for eleven weeks while engineers replace its bearing."),
    ("copy", "The iron bridge stays shut for eleven weeks while engineers replace its bearing."),
    ("other", "Mix a hundred grams of rye flour with a level teaspoon of salt, and wait."),
]


def alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrate.script_location()).replace("%", "%%"))
    return config


def downgrade(database: Database, target: str) -> None:
    config = alembic_config()
    with database.write() as connection:
        config.attributes["connection"] = connection.sqlalchemy
        command.downgrade(config, target)


def differences(database: Database) -> list[object]:
    """Return what Alembic would change to make the database what the tables say."""
    with database.read() as connection:
        context = MigrationContext.configure(connection.sqlalchemy, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))


def rows(connection: Connection, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.exec_driver_sql(statement)]


@pytest.fixture
def sqlite(tmp_path: Path) -> MakeDatabase:
    """Return a maker of empty SQLite databases that are marked as ours."""
    made: list[Database] = []

    def make() -> Database:
        database = Database(tmp_path / f"{len(made)}.db")
        migrate.prepare_new_file(database)
        made.append(database)
        return database

    return make


def sqlite_objects(database: Database) -> dict[str, tuple[str, ...]]:
    """Return the parts of the definition of every table and index, in no order of theirs."""
    with database.read() as connection:
        found = rows(connection, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {str(name): definition_parts(str(sql)) for name, sql in found}


def definition_parts(sql: str) -> tuple[str, ...]:
    """Split a CREATE statement at the commas of its outermost parentheses."""
    text = re.sub(r"\s+", " ", sql.replace('"', "")).strip()
    start, end = text.index("("), text.rindex(")")
    parts, depth, piece = [], 0, ""
    for character in text[start + 1 : end]:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(piece.strip())
            piece = ""
        else:
            piece += character
    return (text[:start].strip(), *sorted([*parts, piece.strip()]), text[end + 1 :].strip())


def test_history_is_the_one_of_the_migration_scripts() -> None:
    scripts = list(ScriptDirectory.from_config(alembic_config()).walk_revisions())
    assert [script.revision for script in reversed(scripts)] == list(migrate.HISTORY)
    assert [script.down_revision for script in reversed(scripts)] == [None, *migrate.HISTORY[:-1]]


@pytest.mark.slow
def test_new_sqlite_store_is_what_the_migrations_make(sqlite: MakeDatabase) -> None:
    created, migrated = sqlite(), sqlite()
    with created.write() as connection:
        migrate.create_tables(connection)
    migrate.upgrade(migrated)
    assert sqlite_objects(created) == sqlite_objects(migrated)
    assert differences(created) == []
    assert differences(migrated) == []
    for database in (created, migrated):
        migrate.check_revision(database)


@pytest.mark.slow
def test_sqlite_migrations_can_be_taken_back_and_made_again(sqlite: MakeDatabase) -> None:
    database = sqlite()
    migrate.upgrade(database)
    first = sqlite_objects(database)
    downgrade(database, "base")
    left = {name for name in sqlite_objects(database) if not name.startswith("sqlite_")}
    assert left == {"alembic_version"}
    for revision in migrate.HISTORY:
        migrate.upgrade(database, revision)
        with database.read() as connection:
            assert migrate.revision(connection) == revision
    assert sqlite_objects(database) == first


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[MakeDatabase]:
    """Return a maker of empty PostgreSQL databases."""
    made: list[Database] = []

    def make() -> Database:
        database = Database(postgres_server.url(postgres_server.make_database()))
        made.append(database)
        return database

    yield make
    for database in made:
        database.close()
    postgres_server.drop_databases()


def postgres_objects(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Return columns, indexes and constraints as the server describes them."""
    with database.read() as connection:
        return {
            "columns": rows(
                connection,
                "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, "
                "column_default FROM information_schema.columns WHERE table_schema = 'public' "
                "ORDER BY 1, 2",
            ),
            "indexes": rows(
                connection,
                "SELECT tablename, indexname, indexdef FROM pg_indexes "
                "WHERE schemaname = 'public' ORDER BY 1, 2",
            ),
            "views": rows(
                connection,
                "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1",
            ),
            "constraints": rows(
                connection,
                "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) "
                "FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
            ),
        }


@pytest.mark.postgres
def test_new_postgres_store_is_what_the_migrations_make(postgres: MakeDatabase) -> None:
    created, migrated = postgres(), postgres()
    with created.write() as connection:
        migrate.create_tables(connection)
    migrate.upgrade(migrated)
    assert postgres_objects(created) == postgres_objects(migrated)
    assert differences(created) == []
    assert differences(migrated) == []
    for database in (created, migrated):
        migrate.check_revision(database)


@pytest.mark.postgres
def test_postgres_store_keeps_the_same_passage_index(
    postgres: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "TAIL_TEXTS", 4)
    monkeypatch.setattr(passages, "PASSAGES", replace(PASSAGES, most_runs=1))
    url = postgres().url.render_as_string(hide_password=False)
    text = TEXTS[0][1]
    recipe = PassageRecipe(fingerprints=True)
    asked = recipe.index(text).hashes
    told = []
    with Store.create(url) as server, Store.create(tmp_path / "store.db") as file:
        for store in (server, file):
            seen: list[object] = []
            store.add_many(TEXTS)
            seen.append(store.passages.build(fingerprints=True))
            for number in range(9):
                store.add(f"more {number}", f"{text} It is number {number}. So it is said.")
            store.add("other", text)
            store.remove("more 3")
            for compacted in (False, True):
                if compacted:
                    store.maintenance.compact()
                with store._opened.database.read() as connection:
                    for most in (None, 4):
                        found = passages.postings(connection, asked, most)
                        seen += [getattr(found, name).tolist() for name in found.__slots__]
                    near = near_passages(store._opened.snapshot(connection), text)
                    seen += [sorted(getattr(near, name).tolist()) for name in near.__slots__]
                seen.append(store.passages.status())
                assert store.maintenance.fsck() == []
            told.append(seen)
            store.maintenance.compact(drop_passages=True)
            assert store.maintenance.fsck() == []
    assert told[0] == told[1]
