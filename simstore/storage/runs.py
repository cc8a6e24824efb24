"""Record runs (ingests, removals): counts, positions reached in sources, and rejected records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from simstore.model import DocumentFilter, Rejection, SourceState, StoredRejection
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.rows import change_in, count_rows, execute, fetch, insert_rows, select_in
from simstore.text.decoding import exact_text, line_as_stored

# A source and the number of a record in it; None: from no source.
Origin = tuple[int | None, int | None]
RunKind = Literal["ingest", "remove", "expire"]
_COUNTS = ("added", "updated", "unchanged", "duplicates", "rejected", "byte_count")
_NOTHING_COUNTED = dict.fromkeys(_COUNTS, 0)


def begin_run(
    connection: Connection,
    sources: Sequence[str],
    started_at: int,
    version: str,
    *,
    kind: RunKind = "ingest",
    not_seen_since: int | None = None,
    wanted: DocumentFilter | None = None,
) -> int:
    """Record that a run has begun; return its number.

    Args:
        connection: A writer.
        sources: What an ingest reads.
        started_at: The time.
        version: Of simstore.
        kind: What it does with documents.
        not_seen_since: The time that an expiry goes by.
        wanted: The documents that an expiry keeps to; None: all.
    """
    row = {
        "started_at": started_at,
        "state": "running",
        "sources": json.dumps(list(sources)),
        "version": version,
        **_NOTHING_COUNTED,
        "kind": kind,
        "not_seen_since": not_seen_since,
    }
    if wanted is not None:
        row |= {name: line_as_stored(value) for name, value in wanted.chosen.items()}
    return int(fetch(connection, _insert_run(tuple(row)), *row.values())[0][0])


def add_run(
    connection: Connection,
    counts: Mapping[str, int],
    started_at: int,
    finished_at: int,
    version: str,
) -> int:
    """Record an ingest run that ends with this transaction, with its counts; return its number.

    Args:
        connection: A writer.
        counts: Those that are not 0.
        started_at: The time when it began; and ``finished_at`` when it ends.
        finished_at: See there.
        version: Of simstore.
    """
    row = {
        "started_at": started_at,
        "finished_at": finished_at,
        "state": "finished",
        "sources": "[]",
        "version": version,
        **_NOTHING_COUNTED,
        **counts,
        "kind": "ingest",
    }
    return int(fetch(connection, _insert_run(tuple(row)), *row.values())[0][0])


@cache
def _insert_run(names: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO ingest_run ({', '.join(names)}) VALUES ({marks}) RETURNING run_id"  # noqa: S608 - names of columns


def count_in_run(
    connection: Connection, run_id: int, counts: Mapping[str, int], *, finished_at: int | None
) -> None:
    """Set the counts of a run to what is committed with this transaction.

    Args:
        connection: A writer.
        run_id: The run.
        counts: Each count of a run.
        finished_at: When the run was finished; None: it goes on.
    """
    names = ", ".join(f"{name} = ?" for name in counts)
    state = "running" if finished_at is None else "finished"
    execute(
        connection,
        f"UPDATE ingest_run SET {names}, state = ?, finished_at = ? WHERE run_id = ?",  # noqa: S608 - ours
        *counts.values(),
        state,
        finished_at,
        run_id,
    )


def end_run(connection: Connection, run_id: int, state: str, finished_at: int) -> None:
    """Record the end of a run and its state."""
    connection.execute(
        sql.update(tables.ingest_run)
        .where(tables.ingest_run.c.run_id == run_id)
        .values(state=state, finished_at=finished_at)
    )


def running_runs(connection: Connection) -> list[int]:
    """Return the numbers of the runs that have no recorded end."""
    return [
        row[0] for row in fetch(connection, "SELECT run_id FROM ingest_run WHERE state = 'running'")
    ]


def interrupt_runs(connection: Connection, run_ids: Sequence[int]) -> int:
    """Record that runs ended without saying so, nobody knows when; return how many did.

    Args:
        connection: A writer.
        run_ids: The runs; those that have ended by now are left as they are.
    """
    c = tables.ingest_run.c
    ended = (
        sql.update(tables.ingest_run)
        .where(c.run_id.in_(run_ids), c.state == "running")
        .values(state="interrupted")
    )
    return connection.execute(ended).rowcount


def run_counts(connection: Connection) -> tuple[int, int, int]:
    """Return how many runs ingested documents, how many removed some, and how many these were."""
    counted = (
        "SELECT count(*), coalesce(sum(CASE WHEN kind = 'ingest' THEN 1 ELSE 0 END), 0), "
        "coalesce(sum(removed), 0)"
    )
    both, ingested, removed = fetch(connection, f"{counted} FROM ingest_run")[0]
    return int(ingested), both - int(ingested), int(removed)


def count(connection: Connection) -> int:
    """Return how many runs ingested or removed documents."""
    return count_rows(connection, tables.ingest_run)


def recent_runs(connection: Connection, limit: int | None) -> list[dict[str, Any]]:
    """Return the latest runs, the newest first; all where the limit is None."""
    rows = connection.execute(
        sql.select(tables.ingest_run).order_by(tables.ingest_run.c.run_id.desc()).limit(limit)
    )
    return [dict(row) for row in rows.mappings()]


def run(connection: Connection, run_id: int) -> dict[str, Any] | None:
    """Return a run that ingested or removed documents; None if there is no such run."""
    found = connection.execute(
        sql.select(tables.ingest_run).where(tables.ingest_run.c.run_id == run_id)
    ).one_or_none()
    return None if found is None else dict(found._mapping)


def put_removed(connection: Connection, run_id: int, keys: Iterable[bytes]) -> None:
    """Record the keys that a run removes; a repeated key counts once."""
    rows = [(run_id, key) for key in keys]
    ignore = "ON CONFLICT DO NOTHING"
    insert_rows(connection, tables.removed_key, ("run_id", "key"), rows, ignore)


def drop_old_removed(connection: Connection, most_runs: int) -> None:
    """Forget the keys that runs before the latest ones removed."""
    statement = "DELETE FROM removed_key WHERE run_id <= ?"
    execute(connection, statement, last_run(connection) - most_runs)


def removed_keys(connection: Connection, run_id: int) -> list[bytes]:
    """Return the keys that a run removed, ascending."""
    statement = "SELECT key FROM removed_key WHERE run_id = ? ORDER BY key"
    return [row[0] for row in fetch(connection, statement, run_id)]


def last_run(connection: Connection) -> int:
    """Return the number of the latest run; 0 where there is none."""
    found = connection.execute(sql.select(sql.func.max(tables.ingest_run.c.run_id))).scalar()
    return int(found or 0)


def runs_called(connection: Connection, name: str, after: int = 0) -> set[int]:
    """Return the numbers of the runs behind a number that have a name among their sources."""
    return set(_sources_with(connection, name, after))


def rename_source(connection: Connection, name: str, new_name: str) -> None:
    """Replace a name among the sources of all runs."""
    run = tables.ingest_run.c
    for number, sources in _sources_with(connection, name, 0).items():
        named = [new_name if one == name else one for one in sources]
        changed = sql.update(tables.ingest_run).where(run.run_id == number)
        connection.execute(changed.values(sources=named))


def _sources_with(connection: Connection, name: str, after: int) -> dict[int, list[str]]:
    run = tables.ingest_run.c
    called = sql.select(run.run_id, run.sources).where(
        run.run_id > after, run.sources.cast(sql.Text).contains(name)
    )
    found = connection.execute(called)
    return {int(number): sources for number, sources in found if name in sources}


def source_state(connection: Connection, name: bytes) -> tuple[int, SourceState] | None:
    """Return number and state of a source; None where it was never ingested."""
    c = tables.source.c
    row = connection.execute(
        sql.select(
            c.source_id, c.size, c.modified_ns, c.head_digest, c.reader, c.position,
            c.byte_offset, c.complete, c.path,
        ).where(c.name == name)
    ).one_or_none()  # fmt: skip
    if row is None:
        return None
    return row[0], SourceState(*row[1:-1], path=exact_text(row[-1] or b""))


def source_at(connection: Connection, path: str) -> str | None:
    """Return the name by which the file at an absolute path was read; None: by none."""
    found = fetch(connection, "SELECT name FROM source WHERE path = ? LIMIT 1", _bytes(path))
    return exact_text(found[0][0]) if found else None


def put_source(
    connection: Connection, source_id: int | None, name: bytes, state: SourceState, run_id: int
) -> int:
    """Write the state of a source; return its number."""
    values = {
        "name": name,
        "size": state.size,
        "modified_ns": state.modified_ns,
        "head_digest": state.head_digest,
        "reader": state.reader,
        "position": state.position,
        "byte_offset": state.byte_offset,
        "complete": state.complete,
        "path": _bytes(state.path) or None,
        "run_id": run_id,
    }
    if source_id is None:
        # Another process may have read it meanwhile.
        found = fetch(connection, "SELECT source_id FROM source WHERE name = ?", name)
        source_id = found[0][0] if found else None
    if source_id is None:
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO source ({names}) VALUES ({marks}) RETURNING source_id"  # noqa: S608 - ours
        return int(fetch(connection, statement, *values.values())[0][0])
    names = ", ".join(f"{column} = ?" for column in values)
    statement = f"UPDATE source SET {names} WHERE source_id = ?"  # noqa: S608 - ours
    execute(connection, statement, *values.values(), source_id)
    return source_id


def seen_digests(
    connection: Connection, source_id: int, positions: Sequence[int]
) -> dict[int, bytes]:
    """Return the digest of the present content at each position no document was taken from."""
    statement = "SELECT position, digest FROM seen_record WHERE source_id = ? AND position IN ({})"
    return {row[0]: row[1] for row in select_in(connection, statement, positions, source_id)}


def put_seen(connection: Connection, records: Mapping[Origin, tuple[int, bytes]]) -> None:
    """Remember records that are not what their documents were taken from.

    Args:
        connection: A writer.
        records: (source, position) to (document, digest).
    """
    drop_seen(connection, list(records))
    columns = ("source_id", "position", "document_id", "digest")
    rows = [(*origin, *seen) for origin, seen in records.items()]
    insert_rows(connection, tables.seen_record, columns, rows)


def drop_seen(connection: Connection, origins: Sequence[Origin]) -> None:
    """Delete the records last seen at some positions."""
    positions: dict[int, list[int]] = {}
    for source_id, position in origins:
        if source_id is not None and position is not None:
            positions.setdefault(source_id, []).append(position)
    seen = "FROM seen_record WHERE source_id = ?"
    for source_id, places in positions.items():
        # Of most sources there are none, which takes one look.
        if fetch(connection, f"SELECT 1 {seen} LIMIT 1", source_id):
            change_in(connection, f"DELETE {seen} AND position IN ({{}})", places, source_id)


def drop_seen_of(connection: Connection, source_id: int) -> None:
    """Delete the records last seen in a source: its content is another."""
    execute(connection, "DELETE FROM seen_record WHERE source_id = ?", source_id)


def was_replaced(connection: Connection, source_id: int) -> bool:
    """Return whether a document has another text than in this source, from elsewhere."""
    statement = (
        "SELECT 1 FROM seen_record AS seen JOIN document USING (document_id) "
        "WHERE seen.source_id = ? AND document.digest <> seen.digest "
        "AND (document.source_id IS NULL OR document.source_id <> seen.source_id) LIMIT 1"
    )
    return bool(fetch(connection, statement, source_id))


def drop_old_seen(connection: Connection, most: int) -> None:
    """Forget records that are not what their documents were taken from, but the latest of each.

    Args:
        connection: A writer.
        most: How many of a document are remembered; of a later source comes first.
    """
    execute(
        connection,
        "DELETE FROM seen_record WHERE (source_id, position) IN (SELECT source_id, position FROM "
        "(SELECT source_id, position, row_number() OVER (PARTITION BY document_id "
        "ORDER BY source_id DESC, position DESC) AS place FROM seen_record) AS numbered "
        "WHERE place > ?)",
        most,
    )


def put_rejections(
    connection: Connection, run_id: int, rejections: Sequence[Rejection], rejected_at: int
) -> None:
    """Keep rejected records, replacing those of the same positions.

    An archive may have members of one name, of which the last is kept, as by unpacking it.
    """
    last = {(one.source, one.position): one for one in rejections}
    drop_rejections_at(connection, list(last))
    columns = ("source", "position", "byte_offset", "reason", "head", "run_id", "rejected_at")
    rows = [
        (
            _bytes(one.source),
            one.position,
            one.byte_offset,
            one.reason,
            one.head,
            run_id,
            rejected_at,
        )
        for one in last.values()
    ]
    insert_rows(connection, tables.reject, columns, rows)


def drop_old_rejections(
    connection: Connection, name: bytes, run_id: int, *, of_members: bool = False
) -> None:
    """Delete rejects of a source that a run read from its start and did not reject again.

    Args:
        connection: A writer.
        name: The source.
        run_id: The run.
        of_members: Those of the members of this archive too.
    """
    c = tables.reject.c
    of_source = c.source == name
    if of_members:
        # "0" comes after "/".
        of_source |= (c.source >= name + b"!/") & (c.source < name + b"!0")
    connection.execute(sql.delete(tables.reject).where(of_source, c.run_id != run_id))


def is_rejected(connection: Connection, name: bytes, position: int) -> bool:
    """Return whether a record of a source is kept as rejected."""
    found = sql.select(tables.reject.c.reject_id).where(
        tables.reject.c.source == name, tables.reject.c.position == position
    )
    return connection.execute(found.limit(1)).first() is not None


def drop_rejections_at(connection: Connection, places: Sequence[tuple[str, int]]) -> None:
    """Delete the rejects of some positions, each a source and a position in it."""
    for name, position in places:
        connection.execute(
            sql.delete(tables.reject).where(
                tables.reject.c.source == _bytes(name), tables.reject.c.position == position
            )
        )


def rejections(
    connection: Connection, *, limit: int | None = None, after: int = 0
) -> list[StoredRejection]:
    """Return the stored rejects, the oldest first.

    Args:
        connection: A snapshot.
        limit: Most of them; None: all.
        after: Only those with larger numbers.
    """
    c = tables.reject.c
    statement = sql.select(
        c.reject_id, c.run_id, c.rejected_at, c.source, c.position, c.byte_offset, c.reason, c.head
    ).order_by(c.reject_id)
    if after:
        statement = statement.where(c.reject_id > after)
    found = []
    for row in connection.execute(statement.limit(limit)):
        name = exact_text(row[3])
        rejection = Rejection(name, row[4], row[5], row[5], row[6], row[7])
        found.append(StoredRejection(row[0], row[1], row[2], rejection))
    return found


def clear_rejections(connection: Connection) -> int:
    """Delete all stored rejects; return how many there were."""
    return connection.execute(sql.delete(tables.reject)).rowcount


def reject_count(connection: Connection) -> int:
    """Return the number of stored rejects."""
    return count_rows(connection, tables.reject)


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
