"""Record query runs with their matches, and read them again for reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from simstore.model import Match, QueryRun, SampleResult
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.rows import count_rows, execute, fetch, insert_rows
from simstore.text.decoding import exact_text

KEPT_RUNS = 100
_SENTENCES = "sentences"
# What a document tells of itself is not kept with a run: the document has it.
_NOT_KEPT = ("title", "author", "date", "url")
_MATCH_COLUMNS = tuple(field.name for field in fields(Match) if field.name not in _NOT_KEPT)


def record_run(
    connection: Connection,
    run: QueryRun,
    *,
    sources: Sequence[str],
    options: Mapping[str, Any],
    generation_id: int | None,
    started_at: int,
    seconds: float,
) -> int:
    """Record a query run, drop those beyond the latest 100; return its number."""
    values = {
        "started_at": started_at,
        "seconds": seconds,
        "sources": json.dumps(list(sources)),
        "radius": run.radius,
        "bits": run.bits,
        "scheme": run.scheme,
        "options": json.dumps(dict(options)),
        "generation_id": generation_id,
        "stale": run.stale,
        "sample_count": len(run.samples),
        "match_count": sum(len(sample.matches) for sample in run.samples),
    }
    marks = ", ".join("?" * len(values))
    ((run_id,),) = fetch(
        connection,
        f"INSERT INTO query_run ({', '.join(values)}) VALUES ({marks}) RETURNING run_id",  # noqa: S608 - ours
        *values.values(),
    )
    insert_rows(
        connection,
        "query_sample",
        ("run_id", "position", "key", "fingerprint", "too_short"),
        [
            (run_id, position, _bytes(sample.key), sample.fingerprint, sample.too_short)
            for position, sample in enumerate(run.samples)
        ],
    )
    insert_rows(
        connection,
        "query_match",
        ("run_id", "sample_position", "position", *_MATCH_COLUMNS),
        [
            (run_id, sample_position, position, *_match_values(match))
            for sample_position, sample in enumerate(run.samples)
            for position, match in enumerate(sample.matches)
        ],
    )
    execute(
        connection,
        "DELETE FROM query_run WHERE run_id < "
        "(SELECT run_id FROM query_run ORDER BY run_id DESC LIMIT 1 OFFSET ?)",
        KEPT_RUNS - 1,
    )
    return int(run_id)


def load_run(connection: Connection, run_id: int | None) -> QueryRun | None:
    """Return a query run, the latest where no number is given; None where there is none."""
    statement = sql.select(tables.query_run).order_by(tables.query_run.c.run_id.desc()).limit(1)
    if run_id is not None:
        statement = statement.where(tables.query_run.c.run_id == run_id)
    row = connection.execute(statement).mappings().one_or_none()
    if row is None:
        return None
    m = tables.query_match.c
    matches: dict[int, list[Match]] = {}
    for place, *values in connection.execute(
        sql.select(m.sample_position, *(m[name] for name in _MATCH_COLUMNS))
        .where(m.run_id == row["run_id"])
        .order_by(m.sample_position, m.position)
    ):
        found = dict(zip(_MATCH_COLUMNS, values, strict=True))
        channels = tuple(filter(None, found["channels"].split(",")))
        if found["passage_similarity"] is not None:
            channels += (_SENTENCES,)
        found |= {"key": exact_text(found["key"]), "channels": channels}
        matches.setdefault(place, []).append(Match(**found))
    s = tables.query_sample.c
    samples = tuple(
        SampleResult(
            key=exact_text(key),
            fingerprint=fingerprint,
            matches=tuple(matches.get(position, ())),
            too_short=too_short,
        )
        for position, key, fingerprint, too_short in connection.execute(
            sql.select(s.position, s.key, s.fingerprint, s.too_short)
            .where(s.run_id == row["run_id"])
            .order_by(s.position)
        )
    )
    return QueryRun(
        run_id=row["run_id"],
        radius=row["radius"],
        bits=row["bits"],
        scheme=row["scheme"],
        samples=samples,
        stale=row["stale"],
    )


def recent_runs(connection: Connection, limit: int) -> list[dict[str, Any]]:
    """Return the latest query runs, the newest first."""
    rows = connection.execute(
        sql.select(tables.query_run).order_by(tables.query_run.c.run_id.desc()).limit(limit)
    )
    return [dict(row) for row in rows.mappings()]


def run_count(connection: Connection) -> int:
    """Return the number of stored query runs."""
    return count_rows(connection, tables.query_run)


def _match_values(match: Match) -> list[Any]:
    values = asdict(match)
    # A place of a sentence says that it was found by that channel too.
    channels = ",".join(name for name in match.channels if name != _SENTENCES)
    values |= {"key": _bytes(match.key), "channels": channels}
    return [values[name] for name in _MATCH_COLUMNS]


def _bytes(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")
