"""Documents as records of an export: JSON Lines that ``simstore ingest`` takes again."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simstore.reports.lines import key_bytes, key_text, rounded, to_json
from simstore.text.decoding import encode

# As sources.exported reads them.
EXPORT_FIELD = "simstore_record"
EXPORT_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExclusionReason:
    """Why a document is not in the unique part.

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


def json_line(document: ExportedDocument) -> bytes:
    """Return a document as one JSON object and a line end; see :func:`exported_record`."""
    return to_json(exported_record(document)).encode() + b"\n"


def exported_record(document: ExportedDocument) -> dict[str, Any]:
    """Return a document as a record of JSON values.

    Keys, texts and links are shown with what is not UTF-8 escaped; where there is some, their bytes
    stand in ``key_base64``, ``text_base64`` and ``links_base64`` too. Fields without a value are
    left out.
    """
    record: dict[str, Any] = {
        EXPORT_FIELD: EXPORT_VERSION,
        "key": key_text(document.key),
        **key_bytes("key", document.key),
    }
    if document.text is not None:
        record |= _text_fields(document.text)
    record |= {
        "title": document.title,
        "collection": document.collection,
        "metadata": dict(document.metadata) or None,
        "digest": document.digest,
        "source": None if document.source is None else key_text(document.source),
        "first_seen": document.first_seen,
        "first_seen_basis": document.first_seen_basis,
        "last_seen": document.last_seen,
        "links": [key_text(link) for link in document.links] or None,
    }
    if any(key_bytes("link", link) for link in document.links):
        record["links_base64"] = [
            base64.b64encode(encode(link)).decode("ascii") for link in document.links
        ]
    if document.dropped is not None:
        record["dropped_because"] = dropping_record(document.dropped)
    return {name: value for name, value in record.items() if value is not None}


def _text_fields(text: str) -> dict[str, Any]:
    """Return a text as it is, or escaped and its bytes, where it is not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return {"text": key_text(text), **key_bytes("text", text)}
    return {"text": text}


def dropping_record(dropped: ExclusionReason) -> dict[str, Any]:
    """Return why a document was dropped, as a JSON object."""
    return {
        "cluster_id": dropped.cluster_id,
        "canonical": key_text(dropped.canonical),
        **key_bytes("canonical", dropped.canonical),
        "distance": dropped.distance,
        "resemblance": rounded(dropped.resemblance),
        "reason": dropped.reason,
    }
