"""Rows written and looked up in statements of many rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from sqlalchemy import (
    Column,
    Integer,
    LargeBinary,
    MetaData,
    Table,
)

from simstore.storage.connection import Connection
from simstore.storage.dialects.sqlite_file import AdoptingEngine
from simstore.storage.rows import insert_rows, select_in

THINGS = Table(
    "thing",
    MetaData(),
    Column("number", Integer, primary_key=True),
    Column("name", LargeBinary, unique=True),
    Column("amount", Integer),
)
COUNTS = [0, 1, 33, 1_365, 1_366, 3_000]


@pytest.fixture
def connection() -> Iterator[Connection]:
    driver = sqlite3.connect(":memory:", isolation_level=None)
    connection = Connection(driver, "things", AdoptingEngine("things").adopt)
    THINGS.metadata.create_all(connection.sqlalchemy)
    yield connection
    connection.close()


@pytest.mark.parametrize("count", COUNTS)
def test_rows_of_any_number_are_inserted_in_order(connection: Connection, count: int) -> None:
    rows = [(b"%d" % -n, n * n) for n in range(count)]
    assert insert_rows(connection, THINGS, ("name", "amount"), rows) == count
    found = connection.exec_driver_sql("SELECT name, amount FROM thing ORDER BY number")
    assert [tuple(row) for row in found] == rows


@pytest.mark.parametrize("count", COUNTS)
def test_rows_whose_key_is_there_are_left_out_and_not_counted(
    connection: Connection, count: int
) -> None:
    columns = ("number", "name", "amount")
    rows = [(n, b"%d" % n, 1) for n in range(count)]
    skip = "ON CONFLICT DO NOTHING"
    assert insert_rows(connection, THINGS, columns, rows[::3], skip) == len(rows[::3])
    others = [(n, name, 2) for n, name, _ in rows]
    assert insert_rows(connection, THINGS, columns, others, skip) == count - len(rows[::3])
    found = connection.exec_driver_sql("SELECT number, amount FROM thing ORDER BY number")
    assert [tuple(row) for row in found] == [(n, 2 if n % 3 else 1) for n in range(count)]


@pytest.mark.parametrize("count", COUNTS)
def test_look_up_finds_each_value_of_a_list(connection: Connection, count: int) -> None:
    rows = [(n, b"%d" % n, n % 2) for n in range(0, 4_000, 2)]
    insert_rows(connection, THINGS, ("number", "name", "amount"), rows)
    asked = [b"%d" % n for n in range(count)]
    statement = "SELECT number FROM thing WHERE amount = ? AND name IN ({})"
    found = [row[0] for row in select_in(connection, statement, asked, 0)]
    assert sorted(found) == list(range(0, count, 2))
    assert not list(select_in(connection, statement, asked, 1))
