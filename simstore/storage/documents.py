"""Insert, update, delete and read rows of the tables of documents and their texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simstore.model import LABELS, DocumentFilter, DocumentLabels
from simstore.model.documents import SourceFacts, facts_told
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import json_of
from simstore.storage.rows import (
    chunks,
    count_rows,
    delete_in,
    execute,
    fetch,
    insert_rows,
    integers,
    next_numbers,
    numbers_after,
    select_in,
)
from simstore.text.decoding import exact_text, line_as_stored

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

# Integers that are written out in a statement: faster for many than parameters.
_INTEGERS = 5_000
# What is written of a new document, besides its number.
COLUMNS = (
    "key", "digest", *LABELS, "metadata", "source_id", "run_id", "position",
    "byte_offset", "byte_count", "token_count", "first_seen", "last_seen", "revision",
    "first_seen_basis", "version_seen",
)  # fmt: skip
_METADATA = COLUMNS.index("metadata")
_INSERT_ONE = (
    f"INSERT INTO document ({', '.join(COLUMNS)}) "  # noqa: S608 - ours
    f"VALUES ({', '.join('?' * len(COLUMNS))}) RETURNING document_id"
)
_INSERT_UNKNOWN = (
    f"INSERT INTO document ({', '.join(COLUMNS)}) "  # noqa: S608 - ours
    f"SELECT {', '.join('?' * len(COLUMNS))} "
    "WHERE NOT EXISTS (SELECT 1 FROM document WHERE key = ?) "
    "AND NOT EXISTS (SELECT 1 FROM document WHERE digest = ?) "
    "AND NOT EXISTS (SELECT 1 FROM duplicate WHERE key = ?) RETURNING document_id"
)


@dataclass(frozen=True, slots=True)
class Times:
    """The times at which a document was seen.

    Attributes:
        first_seen: When it was first seen, by what its basis says.
        basis: ``ingest``: this store's clock; ``crawl``: the date of a crawl; ``published``: the
            page's own date.
        last_seen: When it was last seen.
        version_seen: When it was first seen with its present text.
    """

    first_seen: int
    basis: str
    last_seen: int
    version_seen: int

    def columns(self) -> dict[str, Any]:
        """Return the columns of the table ``document`` that hold them."""
        same = self.version_seen == self.first_seen
        return {
            "first_seen": self.first_seen,
            "first_seen_basis": self.basis,
            "last_seen": self.last_seen,
            "version_seen": None if same else self.version_seen,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A row of the table ``document``, as the writer compares it."""

    document_id: int
    key: bytes
    digest: bytes
    labels: DocumentLabels
    metadata: Mapping[str, Any] | None
    source_id: int | None
    position: int | None
    revision: int
    run_id: int
    times: Times


def by_keys(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, DocumentRow]:
    """Return the stored documents among these keys."""
    # The labels come last, however many there are.
    statement = (
        "SELECT document_id, key, digest, metadata, source_id, position, revision, run_id, "  # noqa: S608 - ours
        "first_seen, first_seen_basis, last_seen, coalesce(version_seen, first_seen), "
        f"{', '.join(LABELS)} FROM document WHERE key IN ({{}})"
    )
    found = {}
    for row in select_in(connection, statement, keys):
        fields = json_of(connection, row[3])
        found[row[1]] = DocumentRow(
            document_id=row[0],
            key=row[1],
            digest=row[2],
            labels=DocumentLabels(*row[12:]),
            metadata=fields,
            source_id=row[4],
            position=row[5],
            revision=row[6],
            run_id=row[7],
            times=Times(*row[8:12]),
        )
    return found


def numbers_of(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the numbers of the stored documents among these keys."""
    statement = "SELECT key, document_id FROM document WHERE key IN ({})"
    return {row[0]: row[1] for row in select_in(connection, statement, keys)}


def keys_of(connection: Connection, document_ids: Sequence[int]) -> dict[int, bytes]:
    """Return the keys of documents."""
    statement = "SELECT document_id, key FROM document WHERE document_id IN ({})"
    return {row[0]: row[1] for row in select_in(connection, statement, document_ids)}


def source_facts_of(connection: Connection, document_ids: Sequence[int]) -> dict[int, SourceFacts]:
    """Return what documents tell of themselves; nothing of those that are gone."""
    statement = (
        "SELECT document_id, key, title, collection, metadata, "
        "CASE WHEN first_seen_basis = 'published' THEN first_seen END "
        "FROM document WHERE document_id IN ({})"
    )
    return {
        number: facts_told(
            exact_text(bytes(key)), title, collection, json_of(connection, told) or {}, published
        )
        for number, key, title, collection, told, published in select_in(
            connection, statement, document_ids
        )
    }


def sizes_of(connection: Connection, document_ids: Sequence[int]) -> dict[int, tuple[bytes, int]]:
    """Return the digests of documents and how many features occur in them."""
    statement = "SELECT document_id, digest, token_count FROM document WHERE document_id IN ({})"
    return {row[0]: (row[1], row[2]) for row in select_in(connection, statement, document_ids)}


def facts_of(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, tuple[bytes, bytes, int]]:
    """Return key, digest and number of features of documents."""
    statement = (
        "SELECT document_id, key, digest, token_count FROM document WHERE document_id IN ({})"
    )
    return {row[0]: row[1:] for row in select_in(connection, statement, document_ids)}


def digests_of(connection: Connection, document_ids: Sequence[int]) -> list[bytes]:
    """Return the distinct digests of documents."""
    found: set[bytes] = set()
    for part in chunks(document_ids, _INTEGERS):
        statement = f"SELECT digest FROM document WHERE document_id IN ({integers(part)})"  # noqa: S608 - integers
        found.update(row[0] for row in fetch(connection, statement))
    return list(found)


def by_digests(
    connection: Connection, digests: Sequence[bytes]
) -> dict[bytes, list[tuple[int, bytes]]]:
    """Return (document, key) of all documents with each of these digests, in order of ingest."""
    statement = "SELECT digest, document_id, key FROM document WHERE digest IN ({})"
    found: dict[bytes, list[tuple[int, bytes]]] = {}
    for digest, document_id, key in select_in(connection, statement, digests):
        found.setdefault(digest, []).append((document_id, key))
    for rows in found.values():
        rows.sort()
    return found


def insert_many(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert documents in order, each with all of :data:`COLUMNS`; return their numbers."""
    made = [_values(row) for row in rows]
    if len(made) == 1:
        return [fetch(connection, _INSERT_ONE, *made[0])[0][0]]
    numbers = next_numbers(connection, "document", "document_id", len(rows))
    made = [(number, *values) for number, values in zip(numbers, made, strict=True)]
    insert_rows(connection, tables.document, ("document_id", *COLUMNS), made)
    return numbers


def _values(row: Mapping[str, Any]) -> tuple[Any, ...]:
    values = [row[name] for name in COLUMNS]
    if values[_METADATA] is not None:
        values[_METADATA] = json.dumps(values[_METADATA])
    return tuple(values)


def insert_unknown(connection: Connection, row: Mapping[str, Any]) -> int | None:
    """Insert a document whose key and text are new to a store, in SQLite; return its number.

    Args:
        connection: The only writer.
        row: As of :func:`insert_many`.

    Returns:
        None: a document has this key or digest, or the key is one of a duplicate; nothing is
        inserted.
    """
    key, digest = row["key"], row["digest"]
    rows = fetch(connection, _INSERT_UNKNOWN, *_values(row), key, digest, key)
    return rows[0][0] if rows else None


def update_many(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Update documents; each row names its ``document_id`` and all the columns to set."""
    if not rows:
        return
    columns = [name for name in rows[0] if name != "document_id"]
    statement = (
        sql.update(tables.document)
        .where(tables.document.c.document_id == sql.bindparam("_id"))
        .values({name: sql.bindparam(f"_{name}") for name in columns})
    )
    connection.execute(
        statement,
        [{"_id": row["document_id"]} | {f"_{name}": row[name] for name in columns} for row in rows],
    )


def put_reindexed_counts(connection: Connection, counts: Mapping[int, int]) -> None:
    """Note how many features documents have by the scheme under construction."""
    delete_in(connection, tables.reindexed_count.c.document_id, list(counts))
    columns = ("document_id", "token_count")
    insert_rows(connection, tables.reindexed_count, columns, list(counts.items()))


def take_reindexed_counts(connection: Connection) -> None:
    """Give documents the numbers of features that a reindex noted, and forget those."""
    c = tables.reindexed_count.c
    noted = sql.select(c.token_count).where(c.document_id == tables.document.c.document_id)
    connection.execute(
        sql.update(tables.document)
        .where(noted.exists())
        .values(token_count=noted.scalar_subquery())
    )
    drop_reindexed_counts(connection)


def drop_reindexed_counts(connection: Connection) -> None:
    """Forget the numbers of features that a reindex noted."""
    connection.execute(sql.delete(tables.reindexed_count))


def delete_many(connection: Connection, document_ids: Sequence[int]) -> None:
    """Delete documents with their texts and features."""
    for part in chunks(document_ids, _INTEGERS):
        execute(connection, f"DELETE FROM document WHERE document_id IN ({integers(part)})")  # noqa: S608 - integers


def put_texts(
    connection: Connection, texts: Sequence[tuple[int, bytes]], *, replacing: Sequence[int] = ()
) -> None:
    """Store compressed texts: (document, text).

    Args:
        connection: A writer.
        texts: Documents and their texts.
        replacing: Those of the documents that have one already.
    """
    delete_in(connection, tables.document_text.c.document_id, replacing)
    insert_rows(connection, tables.document_text, ("document_id", "text"), texts)


def texts_of(connection: Connection, document_ids: Sequence[int]) -> dict[int, bytes]:
    """Return the compressed texts of documents that have one."""
    statement = "SELECT document_id, text FROM document_text WHERE document_id IN ({})"
    return {row[0]: row[1] for row in select_in(connection, statement, document_ids)}


def metadata_of(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, Mapping[str, Any]]:
    """Return the metadata of documents that have some."""
    c = tables.document.c
    found: dict[int, Mapping[str, Any]] = {}
    for part in chunks(document_ids):
        rows = connection.execute(
            sql.select(c.document_id, c.metadata).where(c.document_id.in_(part))
        )
        found.update((number, fields) for number, fields in rows if fields)
    return found


def count(connection: Connection) -> int:
    """Return the number of documents."""
    return count_rows(connection, tables.document)


def count_up_to(connection: Connection, document_id: int) -> int:
    """Return the number of documents with a number up to this one."""
    return count_rows(connection, tables.document, tables.document.c.document_id <= document_id)


def ids_after(connection: Connection, after: int, limit: int) -> list[int]:
    """Return document numbers above ``after``, ascending."""
    return numbers_after(connection, tables.document.c.document_id, after, limit)


def every_nth(connection: Connection, step: int, limit: int) -> list[int]:
    """Return every ``step``-th document number, counted in the order of ingest."""
    number = sql.func.row_number().over(order_by=tables.document.c.document_id).label("number")
    ordered = sql.select(tables.document.c.document_id, number).subquery()
    statement = (
        sql.select(ordered.c.document_id)
        .where((ordered.c.number - 1) % step == 0)
        .order_by(ordered.c.document_id)
        .limit(limit)
    )
    return list(connection.execute(statement).scalars())


def full_rows(
    connection: Connection,
    *,
    keys: Sequence[bytes] | None = None,
    after: int = 0,
    up_to: int | None = None,
    limit: int | None = None,
    wanted: DocumentFilter | None = None,
    run_id: int | None = None,
) -> Iterable[Any]:
    """Return rows of all columns with the name of the source, in order of ingest.

    Args:
        connection: A snapshot.
        keys: Only these keys, at most 500; None: all.
        after: Only numbers above it.
        up_to: Only numbers up to it; None: all.
        limit: At most so many.
        wanted: Only these documents; None: all.
        run_id: Only those that this run added or updated last; None: all.
    """
    statement = (
        sql.select(tables.document, tables.source.c.name.label("source_name"))
        .outerjoin(tables.source, tables.source.c.source_id == tables.document.c.source_id)
        .where(tables.document.c.document_id > after)
        .order_by(tables.document.c.document_id)
    )
    if up_to is not None:
        statement = statement.where(tables.document.c.document_id <= up_to)
    if keys is not None:
        statement = statement.where(tables.document.c.key.in_(keys))
    if wanted is not None:
        statement = statement.where(*conditions(wanted))
    if run_id is not None:
        statement = statement.where(tables.document.c.run_id == run_id)
    if limit is not None:
        statement = statement.limit(limit)
    return connection.execute(statement).all()


def last_number(connection: Connection) -> int:
    """Return the number of the document that came last, or 0."""
    found = connection.execute(sql.select(sql.func.max(tables.document.c.document_id))).scalar()
    return int(found or 0)


def totals(connection: Connection) -> tuple[int, int, int, int | None, int | None]:
    """Return documents, distinct contents, bytes of text, first and last time seen."""
    c = tables.document.c
    row = connection.execute(
        sql.select(
            sql.func.count(),
            sql.func.coalesce(sql.func.sum(c.byte_count), 0),
            sql.func.min(c.first_seen),
            sql.func.max(c.last_seen),
        )
    ).one()
    # By itself, so that it is read from the index of digests, in their order.
    distinct = sql.select(c.digest).distinct().subquery()
    contents = connection.execute(sql.select(sql.func.count()).select_from(distinct)).scalar_one()
    return row[0], contents, int(row[1]), row[2], row[3]


def stored_text_bytes(connection: Connection) -> int:
    """Return the bytes that the compressed texts take; all of them are read."""
    statement = sql.select(
        sql.func.coalesce(sql.func.sum(sql.func.length(tables.document_text.c.text)), 0)
    )
    return int(connection.execute(statement).scalar_one())


def conditions(wanted: DocumentFilter) -> list[ColumnElement[bool]]:
    """Return the conditions on the table ``document`` that a filter stands for."""
    return [
        tables.document.c[name] == line_as_stored(value) for name, value in wanted.chosen.items()
    ]


def count_unseen(connection: Connection, since: int, wanted: DocumentFilter) -> int:
    """Return how many documents were last seen before a time."""
    return count_rows(connection, tables.document, *_unseen(since, wanted))


def unseen(
    connection: Connection, since: int, wanted: DocumentFilter, after: int, limit: int
) -> list[int]:
    """Return numbers above ``after`` of documents that were last seen before a time, ascending."""
    conditions = _unseen(since, wanted)
    return numbers_after(connection, tables.document.c.document_id, after, limit, *conditions)


def unseen_among(connection: Connection, document_ids: Sequence[int], since: int) -> list[int]:
    """Return those of the documents that are there and were last seen before a time."""
    statement = "SELECT document_id FROM document WHERE last_seen < ? AND document_id IN ({})"
    return [row[0] for row in select_in(connection, statement, document_ids, since)]


def _unseen(since: int, wanted: DocumentFilter) -> list[ColumnElement[bool]]:
    return [tables.document.c.last_seen < since, *conditions(wanted)]


def filtered(
    connection: Connection,
    document_ids: Sequence[int],
    *,
    wanted: DocumentFilter,
    since: int | None,
    where: Sequence[tuple[str, str | int | float | bool]],
) -> set[int]:
    """Return those of the documents that pass the filters of a query."""
    c = tables.document.c
    passing: set[int] = set()
    for part in chunks(document_ids):
        statement = (
            sql.select(
                c.document_id, c.metadata, tables.source.c.name, *(c[name] for name in LABELS)
            )
            .outerjoin(tables.source, tables.source.c.source_id == c.source_id)
            .where(c.document_id.in_(part), *conditions(wanted))
        )
        if since is not None:
            statement = statement.where(c.first_seen >= since)
        for document_id, fields, source_name, *labels in connection.execute(statement):
            known = dict(zip(LABELS, labels, strict=True))
            known["source"] = (source_name or b"").decode("utf-8", "replace")
            values = known | (fields or {})
            if all(_is_same(values.get(name), value) for name, value in where):
                passing.add(document_id)
    return passing


def _is_same(stored: Any, wanted: str | float) -> bool:
    """Return whether a value of metadata is the one of a filter, which may be its text."""
    if isinstance(stored, bool):
        return str(stored).lower() == str(wanted).lower()
    if not isinstance(stored, int | float) or str(stored) == str(wanted):
        return stored is not None and str(stored) == str(wanted)
    try:
        return stored == float(wanted)
    except (ValueError, OverflowError):
        return False


def unknown_fields(connection: Connection, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are no label, and no field of any document's metadata."""
    c = tables.document.c

    def is_known(name: str) -> bool:
        # Patterns have a longest length; the fields that are read decide.
        start = json.dumps(name)[:1_000]
        held = sql.cast(c.metadata, sql.Text).contains(start, autoescape=True)
        found = connection.execute(sql.select(c.metadata).where(held)).scalars()
        return any(name in fields for fields in found)

    return tuple(name for name in names if name not in (*LABELS, "source") and not is_known(name))


def content_rows(
    connection: Connection, after: int, limit: int, wanted: DocumentFilter
) -> list[tuple[Any, ...]]:
    """Return documents in order of ingest: number, key, digest, bytes, features, first seen.

    Args:
        connection: A snapshot.
        after: Only numbers above it.
        limit: At most so many.
        wanted: Which documents.
    """
    values = wanted.chosen
    of_columns = "".join(f"AND {name} = ? " for name in values)
    return fetch(
        connection,
        "SELECT document_id, key, digest, byte_count, token_count, first_seen FROM document "  # noqa: S608 - names of columns
        f"WHERE document_id > ? {of_columns}ORDER BY document_id LIMIT ?",
        after,
        *map(line_as_stored, values.values()),
        limit,
    )
