"""The PostgreSQL dialect: its own SQL, and its errors translated to simstore's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy
from sqlalchemy import Column

from simstore.errors import (
    DatabaseBusy,
    DatabaseNotFound,
    DatabaseUnreachable,
    DiskFull,
    InvalidParameter,
    ReadOnlyStore,
    SimstoreError,
    StatementCancelled,
    StatementTimeout,
    StorageError,
    printable,
)
from simstore.storage.connection import Connection
from simstore.storage.dialects.protocol import Row

# SQLSTATE to what it means; see "PostgreSQL Error Codes" in the server's manual.
_BUSY = frozenset({"40P01", "55P03"})
_CANCELLED = "57014"
# Settings of the server that end a transaction with its connection.
_ENDED_BY = {"25P03": "idle_in_transaction_session_timeout", "25P04": "transaction_timeout"}
_FULL = frozenset({"53100"})
_READ_ONLY = frozenset({"25006"})
_GONE = frozenset({"57P01", "57P02", "57P03", "08000", "08003", "08006", "08001", "08004"})
_REMEDIES = {
    "28P01": "the password is wrong; give it in the URL or in a password file (PGPASSFILE)",
    "28000": "the server lets this user not in; see its pg_hba.conf, or name another user",
    "42501": (
        "the user has not the right; the owner gives it: GRANT USAGE, CREATE ON SCHEMA and "
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES, with the sequences"
    ),
    "53300": "the server has no connection left; close some, or raise its max_connections",
    "53200": "the server's memory is full; raise its max_locks_per_transaction",
    "3F000": "the schema of the search path is not there; CREATE SCHEMA makes it",
}
# Statements that the driver has prepared are not on this connection of the server's, or another's.
_POOLED = frozenset({"26000", "42P05"})
# Why a statement was cancelled is told by the message alone; a server that speaks another language
# is quoted.
_STATEMENT_TIMEOUT = "statement timeout"
# A standby ends what stands in the way of what its primary sends.
_RECOVERY = "conflict with recovery"
# What a pooler says with a code that fits all errors of the protocol.
_OF_PROTOCOL = "08P01"
# What libpq says where the server has not answered with a code.
_MESSAGES = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "pg_hba.conf": "28000",
    "role": "28000",
    "too many clients": "53300",
    "query_wait_timeout": "53300",
    "client_login_timeout": "08006",
    "remaining connection slots": "53300",
    "starting up": "57P03",
    "shutting down": "57P03",
}


class PostgresDialect:
    """The SQL of PostgreSQL where databases differ."""

    def run(self, connection: Connection, statement: str, parameters: Sequence[Any]) -> Any:
        """Run a statement by the driver, which prepares it where it comes again."""
        driver: Any = connection.driver
        return driver.execute(_marked(statement), parameters)

    def run_many(self, connection: Connection, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once for each row of parameters."""
        driver: Any = connection.driver
        with driver.cursor() as cursor:
            cursor.executemany(_marked(statement), rows)

    def next_numbers(
        self, connection: Connection, table: str, column: str, count: int
    ) -> list[int]:
        """Return the next numbers of the sequence of a column."""
        statement = f"SELECT nextval(pg_get_serial_sequence('{table}', '{column}')) "
        rows = self.run(connection, statement + "FROM generate_series(1, ?)", (count,)).fetchall()
        return [row[0] for row in rows]

    def wrong_type(self, column: Column[Any]) -> str | None:  # noqa: ARG002
        """Return None: the server holds to the types of its columns."""
        return None

    def json_type(self, column: Column[Any]) -> str:
        """Return the SQL for the type of a column's JSON."""
        return f'json_typeof("{column.name}")'

    def has_table(self, connection: Connection, name: str) -> bool:
        """Return whether the schema of the search path has a table of this name."""
        return bool(sqlalchemy.inspect(connection.sqlalchemy).has_table(name))

    def problems(self, connection: Connection) -> Iterator[str]:
        """Yield indexes and constraints that the server has not made valid.

        References to nothing cannot be: the server holds to them.
        """
        statement = (
            "SELECT 'index ' || indexrelid::regclass FROM pg_index WHERE NOT indisvalid "
            "AND indrelid IN (SELECT oid FROM pg_class "
            "WHERE relnamespace = current_schema()::regnamespace) UNION ALL "
            "SELECT 'constraint ' || conname FROM pg_constraint WHERE NOT convalidated "
            "AND connamespace = current_schema()::regnamespace"
        )
        for (problem,) in self.run(connection, statement, ()).fetchmany(20):
            yield f"{problem} is not valid"


@lru_cache(512)
def _marked(statement: str) -> bytes:
    # Bytes: the driver takes them as they are.
    return statement.replace("?", "%s").encode()


def from_postgres(error: BaseException, path: str) -> SimstoreError:
    """Return our error for one of the driver's.

    Args:
        error: The driver's error.
        path: The store, for the message.
    """
    message = _message(error)
    code = getattr(error, "sqlstate", None)
    if code is None or code == _OF_PROTOCOL:
        code = _code_of(message) or code
    if code == "3D000" or ("database" in message and "does not exist" in message):
        return DatabaseNotFound(path, _quoted(message))
    if code == _CANCELLED and _STATEMENT_TIMEOUT in message:
        return StatementTimeout(path, "statement_timeout")
    if code == _CANCELLED or _RECOVERY in message:
        return StatementCancelled(path, message)
    if code in _ENDED_BY:
        return StatementTimeout(path, _ENDED_BY[code])
    if code in _BUSY:
        return DatabaseBusy(path)
    if code in _FULL:
        return DiskFull(path)
    if code in _READ_ONLY:
        return ReadOnlyStore(path, "the server may be a standby: name the primary")
    if "cannot contain NUL" in message or code == "22021":
        return InvalidParameter(
            "a text holds U+0000, which PostgreSQL does not keep; replace it first"
        )
    if code in _POOLED:
        return StorageError(
            f"{path}: {printable(message)}; a pooler gives each transaction another connection: "
            "let it keep one for a session (pool_mode = session), or name the server itself"
        )
    if code in _REMEDIES:
        return StorageError(f"{path}: {printable(message)}; {_REMEDIES[code]}")
    if code in _GONE or (code is None and _is_operational(error)):
        return DatabaseUnreachable(path, message)
    return StorageError(f"{path}: {printable(message)}")


def _message(error: BaseException) -> str:
    """Return the line of an error that says what is wrong: without where, how often, and hints."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in lines:
        for mark in ("FATAL:", "ERROR:", "failed:"):
            if mark in line:
                return line.rpartition(mark)[2].strip()
    return lines[0] if lines else type(error).__name__


def _code_of(message: str) -> str | None:
    return next((code for part, code in _MESSAGES.items() if part in message), None)


def _quoted(message: str) -> str:
    return message.split('"')[1] if message.count('"') >= 2 else "of this name"


def _is_operational(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).mro()}
    return not names.isdisjoint(("OperationalError", "InterfaceError"))
