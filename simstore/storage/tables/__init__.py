"""The database schema: every table, imported when the first of them is used (PEP 562).

Fingerprints of at most 64 bits are signed 64-bit integers; longer ones are 16-byte BLOBs, big
endian. So there are two families of fingerprint tables, alike but for the type of ``value`` and
the number of segment columns. Times are seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simstore.storage.tables.documents import (
        document,
        document_features,
        document_link,
        document_text,
        duplicate,
        ingest_run,
        metadata,
        query_match,
        query_run,
        query_sample,
        reindexed_count,
        reject,
        removed_key,
        seen_record,
        snapshot,
        source,
        token,
    )
    from simstore.storage.tables.indexes import (
        FAMILIES,
        SKETCH_TABLES,
        FingerprintTables,
        cluster,
        cluster_change,
        cluster_spoke,
        cluster_text,
        clustering,
        feature,
        fingerprint_tables,
        generation,
        generation_frequency,
        generation_rank,
        index_page,
        index_run,
        passage_entry,
        passage_index,
        scheme,
        store,
        vocabulary_delta,
    )
    from simstore.storage.tables.record_views import RECORD_VIEWS
    from simstore.storage.tables.views import VIEW_NAMES

__all__ = [
    "FAMILIES",
    "RECORD_VIEWS",
    "SKETCH_TABLES",
    "VIEW_NAMES",
    "FingerprintTables",
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
    "fingerprint_tables",
    "generation",
    "generation_frequency",
    "generation_rank",
    "index_page",
    "index_run",
    "ingest_run",
    "metadata",
    "passage_entry",
    "passage_index",
    "query_match",
    "query_run",
    "query_sample",
    "reindexed_count",
    "reject",
    "removed_key",
    "scheme",
    "seen_record",
    "snapshot",
    "source",
    "store",
    "token",
    "vocabulary_delta",
]


def __getattr__(name: str) -> Any:
    """Import all tables on the first use of one: their metadata is whole, or not there."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from simstore.storage.tables import documents, indexes, record_views, views

    found = globals()
    for one in __all__:
        home = next(
            module for module in (indexes, documents, record_views, views) if hasattr(module, one)
        )
        found[one] = getattr(home, one)
    return found[name]
