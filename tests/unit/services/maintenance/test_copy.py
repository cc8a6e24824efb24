"""A store goes from one database to another, row by row, and back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from postgres_servers import PostgresServer

from simstore import Document, Store
from simstore.errors import Conflict, CorruptStore, StoreExists, StoreNotFound
from simstore.services.maintenance.copy import draft_of
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage import transfer
from simstore.storage.engine import Database
from simstore.store import copy_store

TEXT = "The iron bridge stays shut for eleven weeks while engineers replace its bearing."
SCHEMES = [SchemeChoice("web"), SchemeChoice("simtool", features=50)]


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    yield postgres_server.url(postgres_server.make_database())
    postgres_server.drop_databases()


def fill(place: Any, scheme: SchemeChoice) -> None:
    """Fill a store so that most tables have rows."""
    with Store.create(place, scheme=scheme) as store:
        for n in range(40):
            store.add_many(
                [
                    Document(
                        f"page {n}",
                        TEXT * (n % 7) + f" Notice {n % 11}.",
                        title=f"title {n}" if n % 2 else None,
                        metadata={"n": n, "é": [None, True, 1.5]} if n % 3 else {},
                        seen_at=1_000 * n,
                        links=(f"page {n - 1}", "k\udcff"),
                    )
                ]
            )
        store.add("flagged", TEXT * 3 + " x", on_duplicate="flag", seen_at=50_000)
        store.add("skipped", TEXT * 3 + " y", on_duplicate="skip", seen_at=50_001)
        store.add("page 3", "It says something else now.", seen_at=50_002)
        store.remove("page 7")
        store.query(TEXT)
        if scheme.name == "web":
            store.clusters.build(min_resemblance=0.4)
            store.add("page 41", TEXT * 4, seen_at=60_000)
            store.remove("page 4")
            store.clusters.build()
            store.passages.build()
        store.tokens.add("one", "read")
        store.maintenance.compact()
        store.add("last", TEXT * 9, seen_at=70_000)


@pytest.mark.sqlite("damages a file")
def test_damaged_store_is_not_copied(tmp_path: Path) -> None:
    one = tmp_path / "one.db"
    with Store.create(one) as store:
        store.add("page", TEXT)
    with closing(sqlite3.connect(one)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("CREATE TEMP TABLE again AS SELECT * FROM store")
        connection.execute("UPDATE again SET store_id = 2")
        connection.execute("INSERT INTO store SELECT * FROM again")
        connection.commit()
    with pytest.raises(CorruptStore, match=r"one\.db: it is damaged, and is not copied"):
        copy_store(one, tmp_path / "other.db")
    with closing(sqlite3.connect(one)) as connection:
        connection.execute("DELETE FROM store WHERE store_id = 2")
        connection.execute("UPDATE document SET run_id = 99")
        connection.commit()
    with pytest.raises(CorruptStore, match="refers to nothing in ingest_run"):
        copy_store(one, tmp_path / "other.db")
    assert [path.name for path in tmp_path.iterdir()] == ["one.db"]


def held(place: Any) -> dict[str, tuple[int, bytes]]:
    """Return count and digest of each table."""
    database = Database(place)
    try:
        with database.read() as connection:
            return {t.name: transfer.digest(connection, t) for t in transfer.tables()}
    finally:
        database.close()


def assert_the_same(one: Any, other: Any) -> None:
    with Store.open(one) as first, Store.open(other) as second:
        assert [store.maintenance.fsck() for store in (first, second)] == [[], []]
        for n in (0, 2, 5):
            text = TEXT * n + f" Notice {n}."
            for radius in (0, 3, 10):
                assert first.query(text, radius=radius) == second.query(text, radius=radius)
        assert first.vocabulary.terms() == second.vocabulary.terms()
        assert list(first) == list(second)
        for key in ("page 3", "flagged", "skipped"):
            assert first.duplicates.story(key) == second.duplicates.story(key)
        # Numbers go on where they were.
        for store in (first, second):
            store.add("new", TEXT * 8 + " Of another day.", seen_at=80_000)
        assert list(first) == list(second)
        assert first.query(TEXT * 8) == second.query(TEXT * 8)


@pytest.mark.sqlite("names both places itself")
def test_copy_of_a_file_is_the_store(tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    fill(one, SCHEMES[1])
    before = held(one)
    summary = copy_store(one, other)
    assert held(other) == before
    assert summary.row_count == sum(count for count, _ in before.values())
    assert summary.document_count == before["document"][0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.db", "other.db"]
    assert_the_same(one, other)


@pytest.mark.postgres
@pytest.mark.sqlite("names both places itself")
def test_copy_to_a_server_and_back_is_the_store(tmp_path: Path, url: str) -> None:
    one, back = tmp_path / "one.db", tmp_path / "back.db"
    fill(one, SCHEMES[0])
    before = held(one)
    copy_store(one, url)
    assert held(url) == before
    copy_store(url, back)
    assert held(back) == before
    assert_the_same(one, back)
    copied_again = tmp_path / "again.db"
    with Store.open(url) as store:
        store.add("new", TEXT * 8 + " Of another day.", seen_at=80_000)
    # What writers beside each other had added is in the counts.
    copy_store(url, copied_again)
    assert_the_same(one, copied_again)


@pytest.mark.slow
@pytest.mark.sqlite("names both places itself")
def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    fill(one, SCHEMES[0])
    with pytest.raises(StoreNotFound):
        copy_store(tmp_path / "none.db", other)
    other.write_bytes(b"precious")
    with pytest.raises(StoreExists):
        copy_store(one, other)
    assert other.read_bytes() == b"precious"


@pytest.mark.postgres
@pytest.mark.sqlite("names both places itself")
def test_tables_of_others_are_left_alone(
    tmp_path: Path, url: str, postgres_server: PostgresServer
) -> None:
    fill(tmp_path / "one.db", SCHEMES[1])
    name = Database(url).url.database or ""
    postgres_server.execute("CREATE TABLE document (mine int)", database=name)
    with pytest.raises(Conflict, match="document"):
        copy_store(tmp_path / "one.db", url)
    with pytest.raises(Conflict, match="document"):
        Store.create(url)


@pytest.mark.slow
@pytest.mark.sqlite("names both places itself")
def test_copy_that_differs_is_no_store(tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    fill(one, SCHEMES[0])

    def damage(done: int, total: int) -> None:
        if done == total:
            database = Database(draft_of(other))
            with database.write() as connection:
                connection.exec_driver_sql("UPDATE document SET title = 'x' WHERE document_id = 1")
            database.close()

    with pytest.raises(CorruptStore, match="table document has"):
        copy_store(one, other, on_progress=damage)
    assert not other.exists()


KILLED = """
import os, sys
from simstore.storage import transfer
from simstore.store import copy_store

transfer._FEW_ROWS, transfer._MANY_ROWS = 7, 11
steps = 0


def show(done, total):
    global steps
    steps += 1
    if steps == int(sys.argv[3]):
        os.kill(os.getpid(), 9)


copy_store(sys.argv[1], sys.argv[2], on_progress=show)
"""


@pytest.mark.postgres
@pytest.mark.sqlite("names both places itself")
def test_copy_that_was_killed_goes_on(tmp_path: Path, url: str) -> None:
    one = tmp_path / "one.db"
    fill(one, SCHEMES[0])
    for steps in (2, 13):
        command = [sys.executable, "-c", KILLED, str(one), url, str(steps)]
        assert subprocess.run(command, check=False, env=os.environ.copy()).returncode == -9
    copy_store(one, url)
    assert held(url) == held(one)
