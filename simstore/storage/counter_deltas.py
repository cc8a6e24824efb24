"""Counter deltas: rows that concurrent writers append instead of updating a counter.

Each appends rows: were a counter changed, every other writer would wait for the end of the
transaction. Readers add them up; a writer that is the only one adds them to the counters.
"""

from __future__ import annotations

from collections import Counter

from simstore.storage.connection import Connection
from simstore.storage.rows import dialect_of, execute, fetch

_APPEND = "INSERT INTO addition (generation_id, fingerprints) VALUES (?, ?)"
# How the counters are read, with what was not added to them yet.
_OF_GENERATION = "FROM addition WHERE addition.generation_id = generation.generation_id"
CHANGES = "changes + (SELECT count(*) FROM addition WHERE generation_id IS NULL)"
FINGERPRINT_COUNT = (
    f"fingerprint_count + (SELECT CAST(coalesce(sum(fingerprints), 0) AS BIGINT) {_OF_GENERATION})"
)
EDITION = f"edition + (SELECT count(*) {_OF_GENERATION})"


def changes_of(connection: Connection) -> str:
    """Return the SQL expression that selects the store's count of changes."""
    return CHANGES if dialect_of(connection).appends_counts else "changes"


def note_change(connection: Connection) -> None:
    """Append a change of the documents."""
    execute(connection, _APPEND, None, 0)


def note_fingerprints(connection: Connection, generation_id: int, added: int) -> None:
    """Append fingerprints of a generation that came, less those that went; not 0."""
    execute(connection, _APPEND, generation_id, added)


def settle(connection: Connection) -> None:
    """Add the appended counts to the counters; for a writer that is the only one."""
    if dialect_of(connection).appends_counts:
        settle_all(connection)


def settle_all(connection: Connection) -> None:
    """Add all appended counts to the counters, in any database: rows may come from another."""
    appended = fetch(connection, "DELETE FROM addition RETURNING generation_id, fingerprints")
    times = Counter(row[0] for row in appended)
    sums: Counter[int | None] = Counter()
    for generation_id, fingerprints in appended:
        sums[generation_id] += fingerprints
    for generation_id, count in times.items():
        if generation_id is None:
            execute(connection, "UPDATE store SET changes = changes + ?", count)
        else:
            execute(
                connection,
                "UPDATE generation SET fingerprint_count = fingerprint_count + ?, "
                "edition = edition + ? WHERE generation_id = ?",
                sums[generation_id],
                count,
                generation_id,
            )
