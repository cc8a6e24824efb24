"""What PostgreSQL, its driver and poolers say becomes ours, with the remedy."""

from __future__ import annotations

import pytest

from simstore.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    InvalidParameter,
    ReadOnlyStore,
    StatementCancelled,
    StatementTimeout,
    StorageError,
)
from simstore.storage.engine import Database, translated

errors = pytest.importorskip("psycopg", reason="pip install '.[postgres]'").errors
pytestmark = pytest.mark.postgres


def test_error_becomes_the_fitting_one_with_the_remedy() -> None:
    for error, kind, told in (
        (errors.InvalidSqlStatementName('"_pg3_0" does not exist'), StorageError, "pool_mode"),
        (errors.DuplicatePreparedStatement('"_pg3_0" exists'), StorageError, "pool_mode"),
        (errors.ProtocolViolation("query_wait_timeout"), StorageError, "no connection left"),
        (
            errors.ProtocolViolation("client_login_timeout (server down)"),
            DatabaseUnreachable,
            "start the server",
        ),
        (errors.ReadOnlySqlTransaction("cannot execute INSERT"), ReadOnlyStore, "primary"),
        (
            errors.QueryCanceled("canceling statement due to statement timeout"),
            StatementTimeout,
            "statement_timeout ended the work.*ALTER ROLE",
        ),
        (
            errors.QueryCanceled("canceling statement due to user request"),
            StatementCancelled,
            "due to user request.*run the same command again",
        ),
        # What is said in another language is quoted.
        (
            errors.QueryCanceled("storniere Anfrage wegen Zeitüberschreitung der Anfrage"),
            StatementCancelled,
            "wegen Zeitüberschreitung",
        ),
        (
            errors.SerializationFailure("canceling statement due to conflict with recovery"),
            StatementCancelled,
            "conflict with recovery",
        ),
        (
            errors.IdleInTransactionSessionTimeout(
                "terminating connection due to idle-in-transaction timeout"
            ),
            StatementTimeout,
            "idle_in_transaction_session_timeout",
        ),
        (
            errors.LockNotAvailable("canceling statement due to lock timeout"),
            DatabaseBusy,
            "another writer",
        ),
        (errors.DeadlockDetected("deadlock detected"), DatabaseBusy, "another writer"),
        (errors.UntranslatableCharacter("it has none"), StorageError, "it has none"),
        (
            errors.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"),
            InvalidParameter,
            r"U\+0000",
        ),
    ):
        with pytest.raises(kind, match=told) as caught, translated("the store"):
            raise error
        assert type(caught.value) is kind, error
        assert len(str(caught.value).splitlines()) == 1, error


def test_host_that_is_no_name_cannot_be_reached() -> None:
    database = Database(f"postgresql://{'h' * 70}/store")
    with pytest.raises(DatabaseUnreachable, match=r"cannot be named.*label too long"):
        database.check_exists()
