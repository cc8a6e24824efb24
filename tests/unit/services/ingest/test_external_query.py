"""Rows of a query to another database."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from stores import create

from simstore import SqlRows
from simstore.errors import InvalidParameter, MissingExtra, SourceNotFound, UnreadableSource
from simstore.sources.reader import ReadOptions

ROWS = [(n, f"title {n}", f"text of row {n}", n / 2, "2026-05-01", b"raw") for n in range(2_500)]
ALL = "SELECT id, title, body AS text, price, day, picture FROM post ORDER BY id"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "blog 100%.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE post (id INTEGER, title, body, price, day, picture)")
        connection.executemany("INSERT INTO post VALUES (?, ?, ?, ?, ?, ?)", ROWS)
        connection.commit()
    return path


def test_columns_can_be_named_and_bad_rows_are_rejected(tmp_path: Path, database: Path) -> None:
    statement = """
        SELECT title, body FROM post WHERE id < 3
        UNION ALL SELECT NULL, 'no key'
        UNION ALL SELECT 'no text', NULL
        UNION ALL SELECT ':x %s', 'time 12:30 :y %d'
        UNION ALL SELECT 'long', 'abcdefghijklmnopqrstuvwxyz'
    """
    read = ReadOptions(key_field="title", text_field="body", max_document_bytes=20)
    with create(tmp_path) as store:
        done = store.ingest(SqlRows(str(database), statement), read=read)
        assert (done.added, done.rejected) == (4, 3)
        assert ":x %s" in store
        found = [one.rejection for one in store.rejects.list()]
        assert [one.position for one in found] == [3, 4, 6]
        assert "no key" in found[0].reason
        assert "not a string" in found[1].reason
        assert "limit" in found[2].reason
        assert found[0].source.startswith("sqlite:")


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM post RETURNING id, body AS text", "DROP TABLE post"],
)
def test_nothing_is_written(tmp_path: Path, database: Path, statement: str) -> None:
    before = database.read_bytes()
    with create(tmp_path) as store:
        there = sorted(tmp_path.iterdir())
        with pytest.raises((UnreadableSource, InvalidParameter)) as caught:
            store.ingest(SqlRows(str(database), statement))
    assert "\n" not in str(caught.value)
    assert database.read_bytes() == before
    # Of an SQLite file, the log goes when it is closed.
    assert set(tmp_path.iterdir()) == {one for one in there if not one.name.startswith("s.db-")}


def test_place_that_is_none_is_refused(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        for place, error in (
            (str(tmp_path / "none.db"), SourceNotFound),
            (f"sqlite:///{tmp_path}/none.db", SourceNotFound),
            ("nothing://x/y", InvalidParameter),
            ("://", InvalidParameter),
        ):
            with pytest.raises(error):
                store.ingest(SqlRows(place, ALL))
        (tmp_path / "text.db").write_text("this is no database, but it is long enough to look")
        with pytest.raises(UnreadableSource, match="not a database"):
            store.ingest(SqlRows(str(tmp_path / "text.db"), ALL))


@pytest.mark.sqlite("takes the server's driver away")
def test_driver_of_postgresql_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with (
        create(tmp_path) as store,
        pytest.raises(MissingExtra, match=r"extra 'postgres'") as it,
    ):
        store.ingest(SqlRows("postgresql+psycopg://me:secret@host/db", ALL))
    assert "secret" not in str(it.value)
