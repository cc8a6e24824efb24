"""Read and write a store's settings, schemes and generations (sets of fingerprints)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, cast

from simstore.errors import CorruptStore, ReindexInProgress
from simstore.fingerprint.scheme import SchemeRecord
from simstore.model import OnDuplicate, Policy
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt, json_of
from simstore.storage.rows import execute, fetch, insert_one
from simstore.storage.tables.names import links_name


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The settings chosen when the store was made, its count of changes, and what it holds.

    Attributes:
        passage_index_id: Its passage index; None: it has none.
        passages_complete: Every document has its entry in it.
        on_duplicate: What an ingest does with duplicates that is not told.
        min_resemblance: Least resemblance of a duplicate; None: the usual one, or any where there
            is a radius.
        radius: Largest distance of a duplicate; None: it does not count.
        keep_columns: Packed fingerprints have segment columns too.
        is_reindexing: Another scheme is under construction.
        has_duplicates: Some documents or keys are known as duplicates.
        has_links: Some documents are known to link to a key.
        keeps_clusters: Clusters are kept.
        channels_edition: How often the record of the scheme's channels was changed.
    """

    policy: Policy
    text_kept: bool
    vocabulary_recorded: bool
    changes: int
    passage_index_id: int | None = None
    passages_complete: bool = False
    on_duplicate: OnDuplicate = "keep"
    min_resemblance: float | None = None
    radius: int | None = None
    keep_columns: bool = False
    is_reindexing: bool = False
    has_duplicates: bool = False
    has_links: bool = False
    keeps_clusters: bool = False
    channels_edition: int = 0


@dataclass(frozen=True, slots=True)
class GenerationRow:
    """A generation.

    Attributes:
        basis: The store's count of changes when the vocabulary was frozen.
        fingerprint_count: Distinct fingerprints.
        packed_count: Those of them that are in pages; the others are the tail.
        edition: Grows whenever a fingerprint comes or goes.
    """

    generation_id: int
    scheme_id: int
    status: str
    basis: int
    fingerprint_count: int = 0
    packed_count: int = 0
    edition: int = 0


class FingerprintCounts(NamedTuple):
    """Counts of a generation's fingerprints, as in :class:`GenerationRow`."""

    fingerprint_count: int
    packed_count: int
    edition: int


# The numbers of pages have 32 bits of generation.
LARGEST_GENERATION = (1 << 32) - 1
_SETTINGS_COUNT = 15


# There is one passage index at most.
_SETTINGS = """policy, text_kept, vocabulary_recorded, changes,
    (SELECT max(index_id) FROM passage_index), (SELECT max(status) FROM passage_index),
    on_duplicate, min_resemblance, radius, keep_columns,
    EXISTS (SELECT 1 FROM scheme WHERE status = 'building'), EXISTS (SELECT 1 FROM duplicate),
    EXISTS (SELECT 1 FROM document_link), EXISTS (SELECT 1 FROM clustering),
    (SELECT max(edition) FROM scheme WHERE status = 'standing')"""
_COUNTS = "fingerprint_count, packed_count, edition"
# Run at the start of every transaction.
_STANDING = f"""
SELECT {_SETTINGS},
    (SELECT max(scheme_id) FROM scheme WHERE status = 'standing'),
    generation_id, scheme_id, basis, {_COUNTS}
FROM store LEFT JOIN generation ON generation.status = 'standing'
ORDER BY generation_id DESC LIMIT 1
"""  # noqa: S608 - our own words


def create_settings(
    connection: Connection, settings: StoreSettings, created_at: int, created_by: str
) -> None:
    """Write the one row of settings of a new store."""
    connection.execute(
        sql.insert(tables.store),
        {
            "store_id": 1,
            "created_at": created_at,
            "created_by": created_by,
            **{name: value for name, value in asdict(settings).items() if name in tables.store.c},
        },
    )


def settings(connection: Connection) -> StoreSettings:
    """Return the settings of the store.

    Raises:
        CorruptStore: They are gone.
    """
    rows = fetch(connection, f"SELECT {_SETTINGS} FROM store")  # noqa: S608 - our own words
    return _settings(_one(connection, rows))


def standing(connection: Connection) -> tuple[StoreSettings, int | None, GenerationRow | None]:
    """Return the settings, the number of the scheme in use, and the current generation.

    Raises:
        CorruptStore: The settings are gone, or the number of the generation is damaged.
    """
    row = _one(connection, fetch(connection, _STANDING))
    scheme_id, number, *rest = row[_SETTINGS_COUNT:]
    found = None if number is None else GenerationRow(number, rest[0], "standing", *rest[1:])
    if number is not None and number > LARGEST_GENERATION:
        raise corrupt(connection, f"generation {number} has a number that none is given")
    return _settings(row), scheme_id, found


def _one(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    if not rows:
        raise without_settings(connection)
    return rows[0]


def without_settings(connection: Connection) -> CorruptStore:
    """Return the error that the settings of a store are missing."""
    return corrupt(connection, "the store's parameters are gone: its table store is empty")


def _settings(row: tuple[Any, ...]) -> StoreSettings:
    complete = row[5] == "standing"
    return StoreSettings(
        policy=cast(Policy, row[0]),
        text_kept=bool(row[1]),
        vocabulary_recorded=bool(row[2]),
        changes=row[3],
        passage_index_id=row[4],
        passages_complete=complete,
        on_duplicate=cast(OnDuplicate, row[6]),
        min_resemblance=row[7],
        radius=row[8],
        keep_columns=bool(row[9]),
        is_reindexing=bool(row[10]),
        has_duplicates=bool(row[11]),
        has_links=bool(row[12]),
        keeps_clusters=bool(row[13]),
        channels_edition=row[14] or 0,
    )


def set_policy(connection: Connection, policy: Policy) -> None:
    """Change how the store follows its vocabulary."""
    connection.execute(sql.update(tables.store).values(policy=policy))


def note_change(connection: Connection) -> None:
    """Count a change of the stored documents."""
    execute(connection, "UPDATE store SET changes = changes + 1")


def add_scheme(
    connection: Connection,
    record: SchemeRecord,
    channels: Mapping[str, Any],
    status: str,
    created_at: int,
) -> int:
    """Write a scheme and its channels; return its number."""
    return insert_one(
        connection,
        tables.scheme,
        {
            "status": status,
            "name": record.name,
            "version": record.version,
            "bits": record.bits,
            "parameters": dict(record.parameters),
            "stopwords": record.stopwords,
            "hash_table": record.hash_table,
            "known_answers": list(record.known_answers),
            "channels": dict(channels),
            "created_at": created_at,
        },
    )


def scheme_with_status(connection: Connection, status: str) -> tuple[int, SchemeRecord] | None:
    """Return number and record of the scheme with this status; None where there is none."""
    rows = fetch(
        connection,
        "SELECT scheme_id, name, version, bits, parameters, stopwords, hash_table, known_answers "
        "FROM scheme WHERE status = ? ORDER BY scheme_id DESC LIMIT 1",
        status,
    )
    if not rows:
        return None
    number, name, version, bits, parameters, stopwords, hash_table, known_answers = rows[0]
    return number, SchemeRecord(
        name,
        version,
        bits,
        json_of(connection, parameters),
        stopwords,
        hash_table,
        known_answers=tuple(json_of(connection, known_answers)),
    )


def channels_of(connection: Connection, scheme_id: int) -> dict[str, Any]:
    """Return the record of a scheme's channels."""
    ((record,),) = fetch(connection, "SELECT channels FROM scheme WHERE scheme_id = ?", scheme_id)
    found: dict[str, Any] = json_of(connection, record)
    return found


def set_channels(connection: Connection, scheme_id: int, channels: Mapping[str, Any]) -> None:
    """Change the record of a scheme's channels."""
    connection.execute(
        sql.update(tables.scheme)
        .where(tables.scheme.c.scheme_id == scheme_id)
        .values(channels=dict(channels), edition=tables.scheme.c.edition + 1)
    )


def refuse_during_reindex(connection: Connection) -> None:
    """Raise ReindexInProgress where the store is between two schemes."""
    building = scheme_with_status(connection, "building")
    if building is not None:
        raise ReindexInProgress(building[1].label)


def set_scheme_status(connection: Connection, scheme_id: int, status: str) -> None:
    """Change the status of a scheme."""
    connection.execute(
        sql.update(tables.scheme)
        .where(tables.scheme.c.scheme_id == scheme_id)
        .values(status=status)
    )


def delete_scheme(connection: Connection, scheme_id: int) -> None:
    """Delete a scheme that has no generation any more."""
    connection.execute(sql.delete(tables.scheme).where(tables.scheme.c.scheme_id == scheme_id))


def scheme_ids(connection: Connection, status: str) -> list[int]:
    """Return the numbers of the schemes with this status."""
    statement = sql.select(tables.scheme.c.scheme_id).where(tables.scheme.c.status == status)
    return list(connection.execute(statement).scalars())


def stood_once(connection: Connection, bits: int) -> bool:
    """Return whether a generation stood, where none does: it is lost.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
    """
    links = links_name(bits)
    switched = "SELECT 1 FROM generation WHERE switched_at IS NOT NULL LIMIT 1"
    left = (
        f"SELECT 1 FROM {links} l WHERE NOT EXISTS "  # noqa: S608 - our own name
        "(SELECT 1 FROM generation g WHERE g.generation_id = l.generation_id) LIMIT 1"
    )
    return bool(fetch(connection, switched) or fetch(connection, left))


def add_generation(
    connection: Connection, scheme_id: int, status: str, basis: int, created_at: int
) -> int:
    """Write a generation; return its number."""
    return insert_one(
        connection,
        tables.generation,
        {"scheme_id": scheme_id, "status": status, "basis": basis, "created_at": created_at},
    )


def generations(connection: Connection, statuses: Sequence[str]) -> list[GenerationRow]:
    """Return the generations with one of these statuses, the newest first."""
    marks = ", ".join("?" * len(statuses))
    statement = (
        f"SELECT generation_id, scheme_id, status, basis, {_COUNTS} "  # noqa: S608 - our own words
        f"FROM generation WHERE status IN ({marks}) ORDER BY generation_id DESC"
    )
    return [GenerationRow(*row) for row in fetch(connection, statement, *statuses)]


def generation_with_status(connection: Connection, status: str) -> GenerationRow | None:
    """Return the newest generation with this status; None where there is none."""
    found = generations(connection, (status,))
    return found[0] if found else None


def set_generation_status(
    connection: Connection, generation_id: int, status: str, switched_at: int | None = None
) -> None:
    """Change the status of a generation."""
    values: dict[str, object] = {"status": status}
    if switched_at is not None:
        values["switched_at"] = switched_at
    connection.execute(
        sql.update(tables.generation)
        .where(tables.generation.c.generation_id == generation_id)
        .values(values)
    )


def note_fingerprints(
    connection: Connection, generation_id: int, *, added: int = 0, packed: int = 0
) -> FingerprintCounts | None:
    """Count fingerprints of a generation that came or went, and those that changed their place.

    Args:
        connection: A writer.
        generation_id: The generation.
        added: Distinct fingerprints that came, less those that went.
        packed: Those that are in runs now and were not, less those that are not any more.

    Returns:
        The new counts; None: nothing has changed.
    """
    if not added and not packed:
        return None
    rows = fetch(
        connection,
        "UPDATE generation SET fingerprint_count = fingerprint_count + ?, "
        "packed_count = packed_count + ?, edition = edition + ? WHERE generation_id = ? "
        "RETURNING fingerprint_count, packed_count, edition",
        added,
        packed,
        1 if added else 0,
        generation_id,
    )
    return FingerprintCounts(*rows[0]) if rows else None


def packed_count(connection: Connection, generation_id: int) -> int:
    """Return how many fingerprints of a generation are in pages."""
    statement = "SELECT packed_count FROM generation WHERE generation_id = ?"
    found = fetch(connection, statement, generation_id)
    return int(found[0][0]) if found else 0


def delete_generation(connection: Connection, generation_id: int) -> None:
    """Delete a generation whose fingerprints are gone, and what is left of one that is lost."""
    for name in ("generation_rank", "generation_frequency"):
        execute(connection, f"DELETE FROM {name} WHERE generation_id = ?", generation_id)  # noqa: S608
    connection.execute(
        sql.delete(tables.generation).where(tables.generation.c.generation_id == generation_id)
    )
