"""Records of query runs: the queries and their matches, for reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from simstore.model import Match, QueryRun, SampleResult
from simstore.storage.rows import count_rows, insert_one
from simstore.storage.tables import query_match, query_run, query_sample
from simstore.text.decoding import exact_text

KEPT_RUNS = 100
_SENTENCES = "sentences"


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
    run_id = insert_one(
        connection,
        query_run,
        {
            "started_at": started_at,
            "seconds": seconds,
            "sources": list(sources),
            "radius": run.radius,
            "bits": run.bits,
            "scheme": run.scheme,
            "options": dict(options),
            "generation_id": generation_id,
            "stale": run.stale,
            "sample_count": len(run.samples),
            "match_count": sum(len(sample.matches) for sample in run.samples),
        },
    )
    samples = [
        {
            "run_id": run_id,
            "position": position,
            "key": _bytes(sample.key),
            "fingerprint": sample.fingerprint,
            "too_short": sample.too_short,
        }
        for position, sample in enumerate(run.samples)
    ]
    matches = [
        {
            "run_id": run_id,
            "sample_position": sample_position,
            "position": position,
            **asdict(match),
            "key": _bytes(match.key),
            # A place of a sentence says that it was found by that channel too.
            "channels": ",".join(name for name in match.channels if name != _SENTENCES),
        }
        for sample_position, sample in enumerate(run.samples)
        for position, match in enumerate(sample.matches)
    ]
    for table, rows in ((query_sample, samples), (query_match, matches)):
        if rows:
            connection.execute(insert(table), rows)
    oldest_kept = (
        select(query_run.c.run_id)
        .order_by(query_run.c.run_id.desc())
        .limit(1)
        .offset(KEPT_RUNS - 1)
        .scalar_subquery()
    )
    connection.execute(delete(query_run).where(query_run.c.run_id < oldest_kept))
    return run_id


def load_run(connection: Connection, run_id: int | None) -> QueryRun | None:
    """Return a query run, the latest where no number is given; None where there is none."""
    statement = select(query_run).order_by(query_run.c.run_id.desc()).limit(1)
    if run_id is not None:
        statement = statement.where(query_run.c.run_id == run_id)
    row = connection.execute(statement).mappings().one_or_none()
    if row is None:
        return None
    m = query_match.c
    matches: dict[int, list[Match]] = {}
    names = [field.name for field in fields(Match)]
    for place, *values in connection.execute(
        select(m.sample_position, *(m[name] for name in names))
        .where(m.run_id == row["run_id"])
        .order_by(m.sample_position, m.position)
    ):
        found = dict(zip(names, values, strict=True))
        # Runs of before there were two channels name none.
        named = "simhash" if found["channels"] is None else found["channels"]
        channels = tuple(filter(None, named.split(",")))
        if found["passage_similarity"] is not None:
            channels += (_SENTENCES,)
        found |= {"key": exact_text(found["key"]), "channels": channels}
        matches.setdefault(place, []).append(Match(**found))
    s = query_sample.c
    samples = tuple(
        SampleResult(
            key=exact_text(key),
            fingerprint=fingerprint,
            matches=tuple(matches.get(position, ())),
            too_short=bool(too_short),
        )
        for position, key, fingerprint, too_short in connection.execute(
            select(s.position, s.key, s.fingerprint, s.too_short)
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
    rows = connection.execute(select(query_run).order_by(query_run.c.run_id.desc()).limit(limit))
    return [dict(row) for row in rows.mappings()]


def run_count(connection: Connection) -> int:
    """Return the number of query runs that are kept."""
    return count_rows(connection, query_run)


def _bytes(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")
