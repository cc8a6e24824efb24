"""Growth of a store: documents and duplicates by when they were first seen."""

from __future__ import annotations

from sqlalchemy import Connection

from simstore.storage.rows import fetch

_EARLIER = (
    "EXISTS (SELECT 1 FROM document e WHERE e.digest = d.digest AND e.document_id < d.document_id)"
)
_LED = "EXISTS (SELECT 1 FROM cluster_spoke s WHERE s.text_id = t.text_id)"
# What is counted: its table as d, and which of its rows.
COUNTED = {
    "documents": "document d",
    "copies": f"document d WHERE {_EARLIER}",
    "near": "document d JOIN cluster_text t ON t.digest = d.digest "
    f"WHERE {_LED} AND NOT {_EARLIER}",
    "skipped_copies": "duplicate d WHERE d.state = 'skipped' AND d.basis = 'same'",
    "skipped_near": "duplicate d WHERE d.state = 'skipped' AND d.basis <> 'same'",
}


def span(connection: Connection) -> tuple[int, int] | None:
    """Return when the first and the last were first seen; None where the store holds nothing."""
    found = fetch(
        connection,
        "SELECT min(seen), max(seen) FROM (SELECT first_seen AS seen FROM document UNION ALL "
        "SELECT first_seen FROM duplicate WHERE state = 'skipped') both_of",
    )
    first, last = found[0]
    return None if first is None else (first, last)


def counts(connection: Connection, what: str, start: int, seconds: int) -> dict[int, int]:
    """Return how many were first seen in each span of time, by the number of the span.

    Args:
        connection: A snapshot.
        what: One of :data:`COUNTED`.
        start: When span 0 begins, not after the first.
        seconds: How long a span is.
    """
    statement = f"SELECT (d.first_seen - ?) / ? AS slot, count(*) FROM {COUNTED[what]} GROUP BY 1"  # noqa: S608 - ours
    return {int(slot): int(count) for slot, count in fetch(connection, statement, start, seconds)}
