"""Which places are opened as stores, which are refused, and what is said of them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from postgres_places import raw_store, stores_are_on_server
from postgres_servers import PostgresServer

from simstore import Store
from simstore.errors import (
    ClosedStore,
    CorruptStore,
    NotAStore,
    ReadOnlyStore,
    StoreNotFound,
)
from simstore.storage import copies
from simstore.store import upgrade_store
from simstore.version import EARLIER_APPLICATION_ID


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "s.db", synchronous="normal") as made:
        yield made


def test_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for options in ({}, {"read_only": True}, {"read_only": True, "create": True}):
        with pytest.raises(StoreNotFound) as raised:
            Store.open(tmp_path / "s.db", **options)
        assert raised.value.path == str(tmp_path / "s.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sqlite("the log is a file beside the store")
def test_a_reader_that_could_make_no_log_sees_what_is_committed_later(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Store.open(path, create=True) as store:
        store.add("a", "a lamp stands on the table")
    shared = tmp_path / "s.db-shm"
    shared.symlink_to("nowhere")  # SQLite follows none: as on a full disk, it cannot make the file
    with Store.open(path, read_only=True) as reader:
        assert [match.key for match in reader.query("a lamp stands on the table")] == ["a"]
        shared.unlink()
        with Store.open(path) as store:
            store.add("b", "a lamp stands on the table")
            assert [match.key for match in reader.query("a lamp stands on the table")] == ["a", "b"]


@pytest.mark.sqlite("the log is a file beside the store")
def test_a_writer_sees_its_commits_after_a_reader_could_make_no_log(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Store.open(path, create=True).close()
    shared = tmp_path / "s.db-shm"
    shared.symlink_to("nowhere")
    with Store.open(path) as store:
        assert len(store) == 0
        shared.unlink()
        store.add("a", "a lamp stands on the table")
        assert len(store) == 1


@pytest.mark.sqlite("looks at what is beside the file")
def test_store_is_made_where_asked_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        store.add("a", "x")
    with Store.open(tmp_path / "s.db", create=True) as store:
        assert len(store) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]


@pytest.mark.sqlite("a link leads to the file")
def test_link_is_followed_to_the_file_it_points_at(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link = tmp_path / "s.db"
    link.symlink_to(tmp_path / "far" / "real.db")
    with Store.create(link) as store:
        store.add("a", "river")
    with Store.open(tmp_path / "far" / "real.db") as store:
        assert "a" in store
    with Store.open(link) as store:
        store.add("b", "river")
        assert len(store) == 2
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["real.db"]


@pytest.mark.sqlite("the file has other bytes")
def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    for data in [
        b"x",
        b"SQLite format 3\0" + b"\0" * 84,
        b"\0" * 4096,
        b"a text file, of all things\n" * 500,
        b"\x1f\x8b\x08" + b"\0" * 100,
    ]:
        path = tmp_path / "s.db"
        path.write_bytes(data)
        for read_only in (False, True):
            with pytest.raises(NotAStore):
                Store.open(path, read_only=read_only)
        with pytest.raises(NotAStore):
            Store.open(path, create=True)
        assert path.read_bytes() == data
        assert [one.name for one in tmp_path.iterdir()] == ["s.db"]


def with_revision(path: Path, statement: str) -> Path:
    Store.create(path).close()
    with raw_store(path) as connection:
        connection.execute(statement)
    return path


@pytest.mark.sqlite("a file has a mark")
def test_store_of_an_earlier_build_says_how_to_move_its_documents(tmp_path: Path) -> None:
    path = with_revision(tmp_path / "s.db", f"PRAGMA application_id = {EARLIER_APPLICATION_ID}")
    for use in (Store.open, upgrade_store):
        with pytest.raises(NotAStore, match=r"a build before simstore 0\.1\.0 made it.* export"):
            use(path)


@pytest.mark.parametrize("statement", ["DROP TABLE alembic_version", "DELETE FROM alembic_version"])
def test_store_without_revision_is_refused(tmp_path: Path, statement: str) -> None:
    # A database without the table is one that may get a store; a file is another program's.
    is_nothing = stores_are_on_server() and statement.startswith("DROP")
    with pytest.raises(StoreNotFound if is_nothing else NotAStore):
        Store.open(with_revision(tmp_path / "s.db", statement))


def test_read_only_store_answers_and_refuses_to_write(tmp_path: Path, store: Store) -> None:
    store.add("a", "river")
    with Store.open(tmp_path / "s.db", read_only=True) as reader:
        assert [match.key for match in reader.query("river")] == ["a"]
        assert reader.get("a").key == "a"
        assert reader.stats().document_count == 1
        assert reader.maintenance.fsck() == []
        for write in (
            lambda: reader.add("b", "x"),
            lambda: reader.remove("a"),
            lambda: reader.maintenance.compact(),
            lambda: reader.maintenance.reindex(),
            lambda: reader.vocabulary.set_policy("frozen"),
            lambda: reader.rejects.clear(),
        ):
            with pytest.raises(ReadOnlyStore, match="open it without read_only"):
                write()
        store.add("b", "stone")
        assert "b" in reader


@pytest.mark.sqlite("the file has a name of any characters")
def test_path_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c%20d é'\"&mode=ro;.db"
    with Store.create(path) as store:
        store.add("a", "river")
        assert [match.key for match in store.query("river")] == ["a"]
    with Store.open(path) as store:
        assert len(store) == 1
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.postgres
@pytest.mark.sqlite("names a database of its own")
def test_short_urls_of_a_postgresql_database_mean_the_same(postgres_server: PostgresServer) -> None:
    for short in ["postgres", "postgresql"]:
        pytest.importorskip("psycopg", reason="pip install '.[postgres]' runs this test")
        url = postgres_server.url(postgres_server.make_database())
        with Store.create(url) as store:
            store.add("a", "river")
        with Store.open(url.replace("postgresql+psycopg", short)) as store:
            assert "a" in store


@pytest.mark.sqlite("its file is damaged")
def test_a_schema_with_names_that_are_no_utf_8_is_damaged(tmp_path: Path) -> None:
    path, copy = tmp_path / "s.db", tmp_path / "copy.db"
    Store.create(path).close()
    data = path.read_bytes()
    assert b" ON document (" in data
    path.write_bytes(data.replace(b" ON document (", b" ON docume\xc9t ("))
    # Only then does this damage show in a message that cannot be decoded.
    with closing(sqlite3.connect(path)) as connection, pytest.raises(UnicodeDecodeError):
        connection.execute("SELECT count(*) FROM sqlite_master")
    for opening in (Store.open, lambda path: Store.open(path, read_only=True)):
        with pytest.raises(CorruptStore, match="not UTF-8"):
            opening(path)
    shutil.copy(path, copy)
    copies.settle(copy)
    assert copies.check(copy) == "a name in its schema is not UTF-8"


def test_a_closed_store_answers_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add("a", "one text")
        clusters, documents = store.clusters, store.list()
    for ask in (lambda: len(store), lambda: store.query("one text"), lambda: store.add("b", "c"),
                clusters.once, lambda: list(documents)):  # fmt: skip
        with pytest.raises(ClosedStore, match="open it again by Store"):
            ask()
    store.close()
    with Store(tmp_path / "s.db") as store:
        assert len(store) == 1
