"""What stays of an index or of clusters of which the row that says how they are made is gone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from stores import SIMTOOL, filled, raw

from simstore.errors import CorruptStore
from simstore.store import Store


@pytest.mark.parametrize(
    ("table", "invariant"), [("passage_index", "passages"), ("clustering", "clusters")]
)
def test_rows_without_the_row_that_says_how_they_are_made_are_found(
    tmp_path: Path, table: str, invariant: str
) -> None:
    with filled(tmp_path) as store:
        store.passages.build()
        store.clusters.build()
        assert store.maintenance.fsck() == []
    with raw(tmp_path) as connection:
        connection.execute(f"DELETE FROM {table}")
    with Store.open(tmp_path / "s.db") as store:
        found = store.maintenance.fsck()
    assert {one.invariant for one in found} == {invariant}
    assert all("has rows" in one.detail for one in found)


def test_vocabulary_of_a_store_whose_feature_counts_are_gone_is_a_named_error(
    tmp_path: Path,
) -> None:
    filled(tmp_path, SIMTOOL).close()
    with raw(tmp_path) as connection:
        connection.execute("DELETE FROM document_features WHERE document_id = 1")
    with (
        Store.open(tmp_path / "s.db") as store,
        pytest.raises(CorruptStore, match="counts of document 1 are gone"),
    ):
        store.vocabulary.status()


def test_mark_of_a_store_whose_settings_are_gone_is_a_named_error(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        with raw(tmp_path) as connection:
            connection.execute("DELETE FROM store")
        with pytest.raises(CorruptStore, match="parameters are gone"):
            store.filters.known_mark()


def change_without_index(path: Path, index: str, statement: str) -> None:
    """Change a table so that an index of it keeps what it had."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        asked = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE name = ?"
        row = connection.execute(asked, (index,)).fetchone()
        connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (index,))
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute(statement)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)


@pytest.mark.sqlite("an index of a file that contradicts its table")
def test_digest_that_the_index_of_documents_has_not_is_a_named_error(tmp_path: Path) -> None:
    filled(tmp_path).close()
    change_without_index(
        tmp_path / "s.db",
        "ix_document_digest",
        "UPDATE document SET digest = x'00112233445566778899aabbccddeeff' WHERE document_id = 3",
    )
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(CorruptStore, match="document 3 is not found by the digest"):
            list(store.list())
        with pytest.raises(CorruptStore, match="document 3 is not found by the digest"):
            store.get("bread")
        assert {one.invariant for one in store.maintenance.fsck()} == {"file"}


@pytest.mark.sqlite("a server holds to the columns that have a value")
@pytest.mark.parametrize(("table", "column"), [("reject", "source"), ("document", "key")])
def test_column_without_the_value_that_it_must_have_is_a_named_error(
    tmp_path: Path, table: str, column: str
) -> None:
    (tmp_path / "broken.jsonl").write_text("broken\n")
    with filled(tmp_path) as store:
        store.ingest([str(tmp_path / "broken.jsonl")])
    with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?",
            (" NOT NULL", " ", table),
        )
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute(f"UPDATE {table} SET {column} = NULL")
    asks = {
        "reject": lambda store: store.rejects.list(),
        "document": lambda store: list(store.list()),
    }
    with (
        Store.open(tmp_path / "s.db") as store,
        pytest.raises(CorruptStore, match=f"column {column} holds nothing, not"),
    ):
        asks[table](store)


@pytest.mark.sqlite("a server holds to the constraints of its tables")
def test_second_rule_of_kept_clusters_is_a_named_error(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        store.clusters.build()
    with raw(tmp_path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("CREATE TEMP TABLE again AS SELECT * FROM clustering")
        connection.execute("UPDATE again SET clustering_id = 2")
        connection.execute("INSERT INTO clustering SELECT * FROM again")
    with Store.open(tmp_path / "s.db") as store:
        for ask in (lambda: list(store.clusters.list()), store.clusters.build):
            with pytest.raises(
                CorruptStore, match=r"not the one row that it should.*maintenance\.fsck"
            ):
                ask()
        assert {one.invariant for one in store.maintenance.fsck()} == {"file"}
