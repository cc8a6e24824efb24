"""Render exported documents as JSON or CSV records that ``simstore ingest`` can read."""

from __future__ import annotations

import base64
from typing import Any

from simstore.model import LABELS, DocumentLabels, ExportedDocument
from simstore.model.documents import EXPORT_FIELD, EXPORT_VERSION
from simstore.reports.lines import key_bytes, key_text, record_of, to_json
from simstore.text.decoding import encode

# The columns of CSV; what has parts is JSON text.
CSV_COLUMNS = (
    "key", "text", *LABELS, "metadata", "digest", "source", "first_seen",
    "first_seen_basis", "last_seen", "links", "dropped_because",
)  # fmt: skip


def csv_row(document: ExportedDocument) -> list[Any]:
    """Return the values of a document in the columns of CSV."""
    record = exported_record(document)
    values = [record.get(name) for name in CSV_COLUMNS]
    return [to_json(one) if isinstance(one, dict | list) else one for one in values]


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
        **DocumentLabels.of(document).by_name(),
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
        record["dropped_because"] = record_of(document.dropped, "canonical_id")
    return {name: value for name, value in record.items() if value is not None}


def _text_fields(text: str) -> dict[str, Any]:
    """Return the field of a text; of one that is not UTF-8, escaped text and base64 bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return {"text": key_text(text), **key_bytes("text", text)}
    return {"text": text}
