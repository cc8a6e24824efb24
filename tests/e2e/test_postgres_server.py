"""What users see of a PostgreSQL server: one-line errors with a remedy, restarts, other work."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from postgres_servers import PostgresServer, running_server

from simstore import Store
from simstore.cli import main
from simstore.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    StatementCancelled,
    StatementTimeout,
)
from simstore.storage.dialects import postgres_server as server_module
from simstore.storage.engine import Database

pytestmark = pytest.mark.postgres
SECRET = "of nobody else".replace(" ", "_")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of one's own, to be stopped and changed."""
    with running_server() as own:
        yield own


@pytest.fixture
def name(server: PostgresServer) -> Iterator[str]:
    yield server.make_database()
    server.drop_databases()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def assert_told(result: Result, code: int, *parts: str) -> None:
    """It ended with a code and one line that holds all of the parts."""
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    for part in parts:
        assert part in line
    assert SECRET not in line


def test_no_server(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="pip install '.[postgres]' runs this test")
    url = f"postgresql+psycopg://postgres@/none?host={tmp_path}"
    for command in (["stats"], ["list"], ["show", "a"], ["init"]):
        assert_told(run(*command, "--db", url), 6, "cannot be reached", "start the server")


def test_no_database(server: PostgresServer) -> None:
    url = server.url("of_nobody")
    for command in (["stats"], ["init"]):
        assert_told(run(*command, "--db", url), 3, "no database of_nobody", "createdb of_nobody")


def test_no_store_in_the_database(server: PostgresServer, name: str) -> None:
    assert_told(run("stats", "--db", server.url(name)), 3, "no store at", "simstore init")


def test_wrong_password(server: PostgresServer, name: str) -> None:
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    server.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
    try:
        rules.write_text(f"local all guest scram-sha-256\n{before}")
        server.reload()
        wrong = server.url(name, user="guest", password=SECRET)
        assert_told(run("stats", "--db", wrong), 6, "password", "PGPASSFILE")
        rules.write_text(f"local all guest reject\n{before}")
        server.reload()
        assert_told(run("stats", "--db", wrong), 6, "pg_hba.conf")
    finally:
        rules.write_text(before)
        server.reload()
        server.execute("DROP ROLE guest")


def test_server_too_old(server: PostgresServer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MINIMUM_SERVER", 99)
    assert_told(
        run("init", "--db", server.url(name)), 6, "is too old", "99 or newer", "upgrade the server"
    )


def test_missing_rights(server: PostgresServer, name: str, tmp_path: Path) -> None:
    server.execute(f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'")
    url = server.url(name, user="reader", password=SECRET)
    try:
        assert_told(run("init", "--db", url), 6, "permission denied for schema", "GRANT")
        with Store.create(server.url(name)) as store:
            store.add("a", "the boats came in before the tide turned")
        server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", database=name)
        with Store.open(url) as store:
            assert [one.key for one in store.query("the boats came in before the tide")] == ["a"]
        sample = tmp_path / "b.txt"
        sample.write_text("another text")
        assert_told(
            run("ingest", "--db", url, str(sample)), 6, "permission denied for table", "GRANT"
        )
        asked = run("query", "--db", url, str(sample))
        assert asked.exit_code == 0
        assert "permission denied" in asked.stderr
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)", "DROP ROLE reader")


def test_store_goes_on_after_a_restart(server: PostgresServer, name: str) -> None:
    with Store.create(server.url(name)) as store:
        store.add("a", "one text of some words")
        server.restart()
        assert store.query("one text of some words")[0].key == "a"
        server.restart()
        assert store.add("b", "another text") == "added"
        server.stop()
        try:
            for ask in (lambda: store.query("x"), lambda: store.add("c", "x")):
                with pytest.raises(DatabaseUnreachable, match="start the server"):
                    ask()
        finally:
            server.start()
        assert store.add("c", "x") == "added"
        assert sorted(one.key for one in store) == ["a", "b", "c"]
        assert store.maintenance.fsck() == []


def test_writer_that_loses_its_server_has_written_nothing_of_its_transaction(
    server: PostgresServer, name: str
) -> None:
    with Store.create(server.url(name)) as store:
        store.add("a", "a text")

        def write() -> None:
            with store._opened.write() as connection:
                connection.exec_driver_sql("DELETE FROM document")
                server.restart()
                connection.exec_driver_sql("SELECT 1")

        with pytest.raises(DatabaseUnreachable):
            write()
        assert [one.key for one in store] == ["a"]


def test_queries_go_on_during_a_long_transaction(server: PostgresServer, name: str) -> None:
    url = server.url(name)
    with Store.create(url) as store, Store.open(url) as other:
        store.add("a", "the boats came in before the tide turned")
        with store._opened.write() as connection:
            connection.exec_driver_sql("UPDATE document SET title = 'changed'")
            with ThreadPoolExecutor(1) as reader:
                asked = reader.submit(other.query, "the boats came in before the tide")
                assert [one.key for one in asked.result(60)] == ["a"]
            connection.sqlalchemy.rollback()
        assert store.maintenance.fsck() == []


def test_writer_that_waits_for_too_long_says_so(server: PostgresServer, name: str) -> None:
    url = server.url(name)
    Store.create(url).close()
    server.execute("CREATE SCHEMA another", database=name)
    first, second = Database(url), Database(url, busy_seconds=0.05)
    other = Database(server.url(name, schema="another"), busy_seconds=0.05)
    try:
        with first.write():
            with pytest.raises(DatabaseBusy), second.write():
                pass
            # A store in another schema has turns of its own.
            with other.write():
                pass
    finally:
        for database in (first, second, other):
            database.close()


def test_statement_that_takes_too_long_or_is_cancelled_says_which(
    server: PostgresServer, name: str
) -> None:
    url = server.url(name)
    Store.create(url).close()
    limit = "options=-cstatement_timeout%3D50"
    limited, other = Database(f"{url}{'&' if '?' in url else '?'}{limit}"), Database(url)
    try:
        with pytest.raises(StatementTimeout) as caught, limited.read() as connection:
            connection.exec_driver_sql("SELECT pg_sleep(60)")
        assert caught.value.setting == "statement_timeout"
        # The limit meets who waits for another writer, too.
        with other.write(), pytest.raises(StatementTimeout), limited.write():
            pass
        with pytest.raises(StatementCancelled, match="user"), other.read() as connection:
            connection.exec_driver_sql("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(60)")
        for database in (limited, other):
            with database.read() as connection:
                assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    finally:
        limited.close()
        other.close()
