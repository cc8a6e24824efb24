"""Make the error for a corrupt store, in code that has only a database connection."""

from __future__ import annotations

import json
from typing import Any

from simstore.errors import CorruptStore
from simstore.storage.connection import Connection


def json_of(connection: Connection, given: Any) -> Any:
    """Return the value of a column of JSON as a driver gives it: SQLite's gives a text.

    Raises:
        CorruptStore: It is no JSON.
    """
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError as error:
        raise corrupt(connection, f"a value that should be JSON is none ({error})") from error


def check_deleted(connection: Connection, name: str, count: int) -> None:
    """Refuse a table of which rows were found and none was deleted: its index contradicts it.

    Args:
        connection: A writer.
        name: The table.
        count: Rows that were deleted.

    Raises:
        CorruptStore: None was deleted.
    """
    if not count:
        raise corrupt(connection, f"rows of {name} are found and cannot be deleted")


def corrupt(connection: Connection, reason: object) -> CorruptStore:
    """Return the error that the store of a connection is damaged.

    Args:
        connection: A snapshot or a writer.
        reason: What is wrong, in words, or an error that says it.
    """
    return CorruptStore(connection.label, str(reason))
