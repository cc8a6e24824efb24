"""Documents of an export, and the reasons why others were left out as duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The field that says that a record is one of an export, and the version of its form.
EXPORT_FIELD = "simstore_record"
EXPORT_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExclusionReason:
    """The reason why a document is not in the unique part.

    Attributes:
        cluster_id: The cluster; None where clusters are those of the moment, or it was skipped.
        canonical_id: Number of the document that stands for it; 0 where it was skipped.
        canonical: Key of the document that stands for it.
        distance: Of the two fingerprints, in bits; None where one has none.
        resemblance: Of the two texts, 0 to 1; None where nothing tells it.
        reason: In words.
    """

    cluster_id: int | None
    canonical_id: int
    canonical: str
    distance: int | None
    resemblance: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDocument:
    """A document of an export.

    Attributes:
        text: None where there is none, or it is not wanted.
        digest: BLAKE2b-128 of its text, hexadecimal.
        source: Name of the source it was taken from.
        first_seen_basis: ``ingest``, ``crawl`` or ``published``: by what it was first seen.
        links: Keys that it links to.
        dropped: Why it is not in the unique part; None where it is, or nobody asked.
    """

    key: str
    text: str | None
    title: str | None
    collection: str | None
    metadata: Mapping[str, Any]
    digest: str
    source: str | None
    first_seen: int
    first_seen_basis: str
    last_seen: int
    links: tuple[str, ...] = ()
    dropped: ExclusionReason | None = None
