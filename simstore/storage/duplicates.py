"""Read and write the table of recorded duplicates, each with the document that it duplicates."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.rows import (
    change_in,
    chunks,
    count_rows,
    delete_in,
    execute,
    fetch,
    insert_rows,
    numbers_after,
    select_in,
)

_COLUMNS = (
    "key", "digest", "state", "document_id", "original_id", "original_key", "distance",
    "resemblance", "basis", "run_id", "first_seen", "last_seen",
)  # fmt: skip
BY_DISTANCE = "distance"
_NAMES = ", ".join(_COLUMNS)


@dataclass(frozen=True, slots=True)
class DuplicateRow:
    """A row of the table ``duplicate``.

    Attributes:
        document_id: The document, where it is flagged.
        original_id: The document that it duplicates; None: it has gone.
        resemblance: 0 where nothing tells it, as ``basis`` says.
    """

    key: bytes
    digest: bytes
    state: str
    document_id: int | None
    original_id: int | None
    original_key: bytes
    distance: int | None
    resemblance: float
    basis: str
    run_id: int
    first_seen: int
    last_seen: int

    @property
    def known_resemblance(self) -> float | None:
        """Return the resemblance; None where the fingerprints alone tell."""
        return None if self.basis == BY_DISTANCE else self.resemblance


@dataclass(frozen=True, slots=True)
class ReleasedDuplicates:
    """Duplicates of documents that leave or get other content.

    Attributes:
        orphans: Keys that were skipped because of such as leave.
        uncovered: Keys that were skipped because of such as get other content, which does not cover
            the former one.
        unflagged: Documents that were flagged because of them, and their keys; none of them leaves.
    """

    orphans: list[bytes] = field(default_factory=list)
    uncovered: list[bytes] = field(default_factory=list)
    unflagged: dict[int, bytes] = field(default_factory=dict)


def by_keys(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, DuplicateRow]:
    """Return the duplicates among these keys, each once."""
    statement = f"SELECT {_NAMES} FROM duplicate WHERE key IN ({{}})"  # noqa: S608 - ours
    return {row[0]: DuplicateRow(*row) for row in select_in(connection, statement, keys)}


def flagged_among(connection: Connection, document_ids: Sequence[int]) -> set[int]:
    """Return those of the documents that are flagged."""
    statement = "SELECT document_id FROM duplicate WHERE document_id IN ({})"
    return {row[0] for row in select_in(connection, statement, document_ids)}


def flagged_because_of(
    connection: Connection, document_ids: Sequence[int]
) -> list[tuple[int, int]]:
    """Return (original, document) of the documents that are flagged because of these."""
    statement = (
        "SELECT original_id, document_id FROM duplicate WHERE document_id IS NOT NULL "
        "AND original_id IN ({})"
    )
    return [(row[0], row[1]) for row in select_in(connection, statement, document_ids)]


def of_documents(connection: Connection, document_ids: Sequence[int]) -> dict[int, DuplicateRow]:
    """Return the duplicate records of the flagged ones among these documents, by their numbers."""
    statement = f"SELECT {_NAMES} FROM duplicate WHERE document_id IN ({{}})"  # noqa: S608 - ours
    rows = (DuplicateRow(*row) for row in select_in(connection, statement, document_ids))
    return {row.document_id: row for row in rows if row.document_id is not None}


def put_many(connection: Connection, rows: Sequence[DuplicateRow]) -> None:
    """Write duplicates of keys that are in no other row."""
    values = [tuple(getattr(row, name) for name in _COLUMNS) for row in rows]
    insert_rows(connection, tables.duplicate, _COLUMNS, values)


def drop_many(connection: Connection, keys: Sequence[bytes]) -> None:
    """Delete the duplicate records of these keys."""
    change_in(connection, "DELETE FROM duplicate WHERE key IN ({})", keys)


def touch_many(connection: Connection, times: Sequence[tuple[bytes, int, int]]) -> None:
    """Note since when keys are there, and when they were seen: what is known of each covers it."""
    for key, since, seen_at in times:
        execute(
            connection,
            "UPDATE duplicate SET last_seen = CASE WHEN last_seen < ? THEN ? ELSE last_seen END, "
            "first_seen = CASE WHEN first_seen > ? THEN ? ELSE first_seen END WHERE key = ?",
            seen_at, seen_at, since, since, key,
        )  # fmt: skip


def with_skipped(connection: Connection, document_ids: Sequence[int]) -> set[int]:
    """Return those of the documents that keys were skipped because of."""
    statement = (
        "SELECT DISTINCT original_id FROM duplicate WHERE state = 'skipped' AND original_id IN ({})"
    )
    return {row[0] for row in select_in(connection, statement, document_ids)}


def orphan(connection: Connection, document_ids: Sequence[int]) -> ReleasedDuplicates:
    """Release the duplicates of documents that leave.

    What is flagged because of them is so no more; what was skipped becomes an orphan.
    """
    let_go = ReleasedDuplicates()
    c = tables.duplicate.c
    for part in chunks(document_ids):
        of_part = c.original_id.in_(part)
        rows = connection.execute(sql.select(c.key).where(of_part, c.state != "flagged")).all()
        let_go.orphans.extend(row[0] for row in rows)
        _unflag(connection, of_part, set(document_ids), let_go)
        if rows:
            connection.execute(
                sql.update(tables.duplicate)
                .where(of_part)
                .values(state="orphaned", original_id=None)
            )
    return let_go


def uncover(
    connection: Connection, document_ids: Sequence[int], covering: Set[int]
) -> ReleasedDuplicates:
    """Release the duplicates of documents that get other content.

    What is flagged because of them is so no more. What was skipped is uncovered, unless the
    content covers the former one.

    Args:
        connection: A writer.
        document_ids: The documents.
        covering: Those whose content covers the former one.
    """
    let_go = ReleasedDuplicates()
    c = tables.duplicate.c
    for part in chunks(document_ids):
        _unflag(connection, c.original_id.in_(part), set(document_ids), let_go)
        changed = [number for number in part if number not in covering]
        skipped = c.original_id.in_(changed), c.state == "skipped"
        rows = connection.execute(sql.select(c.key).where(*skipped)).all()
        if rows:
            let_go.uncovered.extend(row[0] for row in rows)
            connection.execute(
                sql.update(tables.duplicate).where(*skipped).values(state="uncovered")
            )
    return let_go


def _unflag(
    connection: Connection, of_part: Any, leaving: Set[int], let_go: ReleasedDuplicates
) -> None:
    c = tables.duplicate.c
    flagged = of_part, c.state == "flagged"
    rows = connection.execute(sql.select(c.document_id, c.key).where(*flagged)).all()
    let_go.unflagged.update((number, key) for number, key in rows if number not in leaving)
    if rows:
        connection.execute(sql.delete(tables.duplicate).where(*flagged))


def some(
    connection: Connection,
    *,
    state: str | None,
    original: bytes | None,
    after: bytes | None,
    limit: int,
) -> list[DuplicateRow]:
    """Return duplicates in the order of their keys.

    Args:
        connection: A snapshot.
        state: Only those in this state.
        original: Only those of the document with this key.
        after: Only keys above it.
        limit: At most so many.
    """
    c = tables.duplicate.c
    statement = sql.select(*(c[name] for name in _COLUMNS)).order_by(c.key).limit(limit)
    if state is not None:
        statement = statement.where(c.state == state)
    if original is not None:
        statement = statement.where(c.original_key == original)
    if after is not None:
        statement = statement.where(c.key > after)
    return [DuplicateRow(*row) for row in connection.execute(statement)]


def counts(connection: Connection) -> dict[str, int]:
    """Return how many there are in each state."""
    statement = sql.select(tables.duplicate.c.state, sql.func.count()).group_by(
        tables.duplicate.c.state
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def of_originals(
    connection: Connection, document_ids: Sequence[int], limit: int
) -> list[DuplicateRow]:
    """Return duplicates of documents that stand, at most so many, in the order found."""
    c = tables.duplicate.c
    statement = sql.select(*(c[name] for name in _COLUMNS)).where(c.original_id.in_(document_ids))
    statement = statement.order_by(c.duplicate_id).limit(limit)
    return [DuplicateRow(*row) for row in connection.execute(statement)]


def by_digest(connection: Connection, digest: bytes) -> list[DuplicateRow]:
    """Return the duplicates with a content."""
    statement = f"SELECT {_NAMES} FROM duplicate WHERE digest = ?"  # noqa: S608 - ours
    return [DuplicateRow(*row) for row in fetch(connection, statement, digest)]


def count_older(connection: Connection, before: int) -> int:
    """Return how many keys of no document were not seen since a time."""
    c = tables.duplicate.c
    return count_rows(connection, tables.duplicate, c.state != "flagged", c.last_seen < before)


def delete_older(connection: Connection, before: int, limit: int) -> list[bytes]:
    """Forget keys of no document not seen since a time, at most so many; return them."""
    c = tables.duplicate.c
    older = (c.state != "flagged", c.last_seen < before)
    chosen = numbers_after(connection, c.duplicate_id, 0, limit, *older)
    statement = "SELECT key FROM duplicate WHERE duplicate_id IN ({})"
    keys = [row[0] for row in select_in(connection, statement, chosen)]
    delete_in(connection, c.duplicate_id, chosen)
    return keys
