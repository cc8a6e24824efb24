"""Records of past runs: ingests, removals, expiries and queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from simstore.model.results import Shown


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IngestRun(Shown):
    """A run that stored or removed documents.

    >>> (run,) = store.runs.ingest(limit=1)
    >>> run.kind, run.added, run.state
    ('ingest', 1, 'finished')

    Attributes:
        started_at: When, seconds since 1970-01-01 UTC, as all times here.
        finished_at: When it ended; None: it runs, or its process was killed.
        state: ``running``, ``finished`` or ``interrupted``.
        sources: Names of what was read.
        version: Version of simstore.
        identical_texts: Documents whose very text was there under another key.
        kind: ``ingest``, ``remove`` or ``expire``.
        removed: Documents that it removed, and skipped keys that it forgot.
        not_seen_since: Of an expiry, the time that it went by.
        collection: Of an expiry, the collection that it went by.
        passed_over: Files and parts of sources that are no documents, such as
            pictures.
    """

    run_id: int
    started_at: int
    finished_at: int | None
    state: str
    sources: tuple[str, ...]
    version: str
    added: int
    updated: int
    unchanged: int
    identical_texts: int
    rejected: int
    byte_count: int
    flagged: int = 0
    skipped: int = 0
    kind: str = "ingest"
    removed: int = 0
    not_seen_since: int | None = None
    collection: str | None = None
    passed_over: int = 0

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the run that a row, or a server, tells of."""
        given = _known(cls, record)
        return cls(**given | {"identical_texts": record["duplicates"]})

    def record(self) -> dict[str, Any]:
        """Return the run as JSON values, by the names of its table."""
        return {
            "duplicates" if name == "identical_texts" else name: value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunDetails(Shown):
    """A run that stored or removed documents, with the keys that it removed.

    >>> store.remove(["ferry-2025"])
    1
    >>> store.runs.show(store.runs.ingest(1)[0].run_id).removed_keys
    ('ferry-2025',)

    Attributes:
        removed_keys: Keys of documents that it removed, and skipped keys that
            it forgot, ascending.
    """

    run: IngestRun
    removed_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordedQuery(Shown):
    """A query run that is recorded; ``store.report(run_id)`` returns its results.

    >>> run = store.query_many([text], record=True)
    >>> (recorded,) = store.runs.query()
    >>> recorded.run_id == run.run_id, recorded.match_count
    (True, 2)

    Attributes:
        started_at: When, seconds since 1970-01-01 UTC.
        seconds: How long it took.
        sources: Names of what was read.
        radius: In bits.
        bits: Fingerprint length.
        options: The options of the query, as JSON values.
        stale: Why the generation did not cover every document; None where it
            did.
    """

    run_id: int
    started_at: int
    seconds: float
    sources: tuple[str, ...]
    radius: int
    bits: int
    scheme: str
    options: Mapping[str, Any]
    generation_id: int | None
    stale: str | None
    sample_count: int
    match_count: int

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the run that a row, or a server, tells of."""
        return cls(**_known(cls, record))

    def record(self) -> dict[str, Any]:
        """Return the run as JSON values, by the names of its table."""
        return asdict(self)


def _known(kind: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    given = {field.name: record[field.name] for field in fields(kind) if field.name in record}
    return given | {"sources": tuple(record["sources"])}
