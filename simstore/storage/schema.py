"""The schema: imports every table.

Fingerprints of at most 64 bits are signed 64-bit integers; longer ones are 16-byte BLOBs, big
endian. So there are two families of fingerprint tables, alike but for the type of ``value`` and
the number of segment columns. Times are seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from simstore.storage.tables.access import idempotency, token
from simstore.storage.tables.base import metadata
from simstore.storage.tables.clusters import (
    cluster,
    cluster_change,
    cluster_spoke,
    cluster_text,
    clustering,
)
from simstore.storage.tables.documents import (
    document,
    document_features,
    document_text,
    ingest_run,
    reindexed_count,
    reject,
    seen_record,
    source,
)
from simstore.storage.tables.fingerprints import (
    FAMILIES,
    FingerprintTables,
    fingerprint_page,
    fingerprint_tables,
)
from simstore.storage.tables.history import document_link, duplicate, snapshot
from simstore.storage.tables.passages import (
    anchor_page,
    anchor_segment,
    anchor_tail,
    passage_entry,
    passage_index,
)
from simstore.storage.tables.queries import query_match, query_run, query_sample
from simstore.storage.tables.sketches import band_layout, band_page, sketch
from simstore.storage.tables.store import addition, generation, scheme, store
from simstore.storage.tables.views import VIEW_NAMES
from simstore.storage.tables.vocabulary import (
    feature,
    generation_frequency,
    generation_rank,
    vocabulary_delta,
)

__all__ = [
    "FAMILIES",
    "VIEW_NAMES",
    "FingerprintTables",
    "addition",
    "anchor_page",
    "anchor_segment",
    "anchor_tail",
    "band_layout",
    "band_page",
    "cluster",
    "cluster_change",
    "cluster_spoke",
    "cluster_text",
    "clustering",
    "document",
    "document_features",
    "document_link",
    "document_text",
    "duplicate",
    "feature",
    "fingerprint_page",
    "fingerprint_tables",
    "generation",
    "generation_frequency",
    "generation_rank",
    "idempotency",
    "ingest_run",
    "metadata",
    "passage_entry",
    "passage_index",
    "query_match",
    "query_run",
    "query_sample",
    "reindexed_count",
    "reject",
    "scheme",
    "seen_record",
    "sketch",
    "snapshot",
    "source",
    "store",
    "token",
    "vocabulary_delta",
]
