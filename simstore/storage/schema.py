"""The tables.

Fingerprints of at most 64 bits are signed 64-bit integers; longer ones are 16-byte BLOBs, big
endian. So there are two families of fingerprint tables, alike but for the type of ``value`` and
the number of segment columns. Times are seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.event import listens_for
from sqlalchemy.types import TypeEngine

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite gives out row numbers only to columns of type INTEGER.
BIG = BigInteger().with_variant(Integer(), "sqlite")

STATUS = "status IN ('building', 'standing', 'retired')"

store = Table(
    "store",
    metadata,
    Column("store_id", Integer, primary_key=True),
    Column("created_at", BIG, nullable=False),
    Column("created_by", String(40), nullable=False),
    Column("policy", String(10), nullable=False),
    Column("text_kept", Boolean, nullable=False),
    Column("vocabulary_recorded", Boolean, nullable=False),
    # Grows with every batch that adds or removes a text or changes one.
    Column("changes", BIG, nullable=False),
    CheckConstraint("store_id = 1", name="one"),
    CheckConstraint("policy IN ('live', 'frozen')", name="policy"),
)

scheme = Table(
    "scheme",
    metadata,
    Column("scheme_id", Integer, primary_key=True),
    Column("status", String(10), nullable=False),
    Column("name", String(40), nullable=False),
    Column("version", Integer, nullable=False),
    Column("bits", Integer, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("stopwords", LargeBinary, nullable=False),
    Column("hash_table", LargeBinary),
    Column("known_answers", JSON, nullable=False),
    Column("created_at", BIG, nullable=False),
    # Channels.record(); none: fingerprints only.
    Column("channels", JSON(none_as_null=True)),
    CheckConstraint(STATUS, name="status"),
    sqlite_autoincrement=True,
)

generation = Table(
    "generation",
    metadata,
    Column("generation_id", Integer, primary_key=True),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    Column("status", String(10), nullable=False),
    # store.changes when its vocabulary was frozen.
    Column("basis", BIG, nullable=False),
    Column("created_at", BIG, nullable=False),
    Column("switched_at", BIG),
    # Distinct fingerprints, and how many of them are in pages and not in the tail.
    Column("fingerprint_count", BIG, nullable=False, server_default="0"),
    Column("packed_count", BIG, nullable=False, server_default="0"),
    # Grows whenever a fingerprint comes or goes.
    Column("edition", BIG, nullable=False, server_default="0"),
    CheckConstraint(STATUS, name="status"),
    sqlite_autoincrement=True,
)

source = Table(
    "source",
    metadata,
    Column("source_id", BIG, primary_key=True),
    Column("name", LargeBinary, nullable=False),
    Column("reader", String(200), nullable=False),
    Column("size", BIG),
    Column("modified_ns", BIG),
    Column("head_digest", LargeBinary, nullable=False),
    Column("position", BIG, nullable=False),
    Column("byte_offset", BIG, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("run_id", BIG, nullable=False),
    UniqueConstraint("name"),
)

ingest_run = Table(
    "ingest_run",
    metadata,
    Column("run_id", BIG, primary_key=True),
    Column("started_at", BIG, nullable=False),
    Column("finished_at", BIG),
    Column("state", String(12), nullable=False),
    Column("sources", JSON, nullable=False),
    Column("version", String(40), nullable=False),
    Column("added", BIG, nullable=False),
    Column("updated", BIG, nullable=False),
    Column("unchanged", BIG, nullable=False),
    Column("duplicates", BIG, nullable=False),
    Column("rejected", BIG, nullable=False),
    Column("byte_count", BIG, nullable=False),
    CheckConstraint("state IN ('running', 'finished', 'interrupted')", name="state"),
    sqlite_autoincrement=True,
)

document = Table(
    "document",
    metadata,
    # The order of ingest; never given out twice.
    Column("document_id", BIG, primary_key=True),
    Column("key", LargeBinary, nullable=False),
    # BLAKE2b-128 of the text.
    Column("digest", LargeBinary, nullable=False),
    Column("title", Text),
    Column("collection", Text),
    Column("metadata", JSON(none_as_null=True)),
    Column("source_id", BIG, ForeignKey("source.source_id")),
    Column("run_id", BIG, ForeignKey("ingest_run.run_id"), nullable=False),
    Column("position", BIG),
    Column("byte_offset", BIG),
    Column("byte_count", BIG, nullable=False),
    Column("token_count", BIG, nullable=False),
    Column("first_seen", BIG, nullable=False),
    Column("last_seen", BIG, nullable=False),
    Column("revision", Integer, nullable=False),
    UniqueConstraint("key"),
    Index(None, "digest"),
    sqlite_autoincrement=True,
)

document_text = Table(
    "document_text",
    metadata,
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("text", LargeBinary, nullable=False),  # UTF-8, zstd
)

document_features = Table(
    "document_features",
    metadata,
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("scheme_id", Integer, primary_key=True, autoincrement=False),
    Column("features", LargeBinary, nullable=False),  # codecs.pack_features
)

# Features of each document by the scheme under construction; empty but during a reindex.
reindexed_count = Table(
    "reindexed_count",
    metadata,
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("token_count", BIG, nullable=False),
)

# The digest last seen at a place of a source that its document was not taken from: the document
# has other content by now, or the same from elsewhere.
seen_record = Table(
    "seen_record",
    metadata,
    Column("source_id", BIG, ForeignKey("source.source_id"), primary_key=True, autoincrement=False),
    Column("position", BIG, primary_key=True, autoincrement=False),
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("digest", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

reject = Table(
    "reject",
    metadata,
    Column("reject_id", BIG, primary_key=True),
    Column("source", LargeBinary, nullable=False),
    Column("position", BIG, nullable=False),
    Column("byte_offset", BIG, nullable=False),
    Column("reason", Text, nullable=False),
    Column("head", LargeBinary, nullable=False),
    Column("run_id", BIG, ForeignKey("ingest_run.run_id"), nullable=False),
    Column("rejected_at", BIG, nullable=False),
    UniqueConstraint("source", "position"),
)

feature = Table(
    "feature",
    metadata,
    Column("feature_id", BIG, primary_key=True),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    Column("term", LargeBinary, nullable=False),
    # Without the deltas that are not merged yet.
    Column("document_count", BIG, nullable=False),
    Column("total_count", BIG, nullable=False),
    UniqueConstraint("scheme_id", "term"),
)

vocabulary_delta = Table(
    "vocabulary_delta",
    metadata,
    Column("delta_id", BIG, primary_key=True),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    Column("delta", LargeBinary, nullable=False),  # codecs.pack_delta
)

generation_rank = Table(
    "generation_rank",
    metadata,
    Column(
        "generation_id",
        Integer,
        ForeignKey("generation.generation_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("feature_id", BIG, nullable=False),
    Column("total_count", BIG, nullable=False),
    sqlite_with_rowid=False,
)

# How many documents have each feature, where a scheme weighs features by that.
generation_frequency = Table(
    "generation_frequency",
    metadata,
    Column(
        "generation_id",
        Integer,
        ForeignKey("generation.generation_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("frequencies", LargeBinary, nullable=False),  # codecs.pack_features
)


@dataclass(frozen=True, slots=True)
class FingerprintTables:
    """The tables of one fingerprint width.

    Attributes:
        tail: One row a distinct fingerprint that is in no page, with its segment columns.
        links: Which document has which fingerprint.
        segments: Number of segment columns.
    """

    tail: Table
    links: Table
    segments: int


def _fingerprint_tables(
    suffix: str, value: TypeEngine[int] | TypeEngine[bytes], segments: int
) -> FingerprintTables:
    tail = Table(
        f"fingerprint_{suffix}",
        metadata,
        Column("generation_id", Integer, primary_key=True, autoincrement=False),
        Column("value", value, primary_key=True, autoincrement=False),
        *(Column(f"s{i}", Integer) for i in range(segments)),
        sqlite_with_rowid=False,
    )
    for i in range(segments):
        column = tail.c[f"s{i}"]
        Index(
            f"ix_{tail.name}_s{i}",
            tail.c.generation_id,
            column,
            sqlite_where=column.is_not(None),
        )
    links = Table(
        f"document_fingerprint_{suffix}",
        metadata,
        Column("generation_id", Integer, primary_key=True, autoincrement=False),
        Column("document_id", BIG, primary_key=True, autoincrement=False),
        Column("value", value, nullable=False),
        Index(f"ix_document_fingerprint_{suffix}_value", "generation_id", "value"),
        sqlite_with_rowid=False,
    )
    return FingerprintTables(tail, links, segments)


_NARROW = _fingerprint_tables("64", BIG, 4)
_WIDE = _fingerprint_tables("128", LargeBinary(16), 8)
FAMILIES = (_NARROW, _WIDE)


@listens_for(metadata, "before_create")
def _for_postgresql(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    """Say of the segment indexes what PostgreSQL knows besides; its dialect is slow to import."""
    if connection.dialect.name != "postgresql":
        return
    for family in FAMILIES:
        for index in family.tail.indexes:
            index.dialect_kwargs["postgresql_where"] = index.dialect_kwargs["sqlite_where"]
            index.dialect_kwargs["postgresql_include"] = ["value"]


def fingerprint_tables(bits: int) -> FingerprintTables:
    """Return the tables that hold fingerprints of M bits."""
    return _NARROW if bits <= 64 else _WIDE


# Fingerprints of 64 and 128 bits, packed by the value of each of their segments.
fingerprint_page = Table(
    "fingerprint_page",
    metadata,
    # storage.segment_pages.page_key: generation, segment, value.
    Column("page", BIG, primary_key=True, autoincrement=False),
    Column("records", LargeBinary, nullable=False),  # search.pages
)

# A document's sketch. A changed text gets a new number, so numbers only grow, and what is packed or
# in memory up to one of them stays true.
sketch = Table(
    "sketch",
    metadata,
    Column("sketch_id", BIG, primary_key=True),
    Column(
        "document_id", BIG, ForeignKey("document.document_id", ondelete="CASCADE"), nullable=False
    ),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    # Distinct shingles.
    Column("size", Integer, nullable=False),
    Column("sketch", LargeBinary, nullable=False),
    UniqueConstraint("document_id", "scheme_id"),
    sqlite_autoincrement=True,
)

# Sketches up to a number, packed into pages by their bands; those above are the tail.
band_layout = Table(
    "band_layout",
    metadata,
    Column("layout_id", Integer, primary_key=True),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    Column("status", String(10), nullable=False),
    Column("bands", Integer, nullable=False),
    Column("band_rows", Integer, nullable=False),
    Column("key_bits", Integer, nullable=False),
    Column("packed_to", BIG, nullable=False),
    Column("packed_count", BIG, nullable=False),
    Column("created_at", BIG, nullable=False),
    CheckConstraint(STATUS, name="status"),
    sqlite_autoincrement=True,
)

band_page = Table(
    "band_page",
    metadata,
    Column(
        "layout_id",
        Integer,
        ForeignKey("band_layout.layout_id"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("page", BIG, primary_key=True, autoincrement=False),
    Column("postings", LargeBinary, nullable=False),  # search.bands.pack_page
    sqlite_with_rowid=False,
)

query_run = Table(
    "query_run",
    metadata,
    Column("run_id", BIG, primary_key=True),
    Column("started_at", BIG, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("sources", JSON, nullable=False),
    Column("radius", Integer, nullable=False),
    Column("bits", Integer, nullable=False),
    Column("scheme", String(60), nullable=False),
    Column("options", JSON, nullable=False),
    Column("generation_id", Integer),
    Column("stale", Text),
    Column("sample_count", BIG, nullable=False),
    Column("match_count", BIG, nullable=False),
    sqlite_autoincrement=True,
)

query_sample = Table(
    "query_sample",
    metadata,
    Column(
        "run_id",
        BIG,
        ForeignKey("query_run.run_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("position", BIG, primary_key=True, autoincrement=False),
    Column("key", LargeBinary, nullable=False),
    Column("fingerprint", String(32), nullable=False),
    # Its features are too few to judge by.
    Column("too_short", Boolean),
    sqlite_with_rowid=False,
)

query_match = Table(
    "query_match",
    metadata,
    Column(
        "run_id",
        BIG,
        ForeignKey("query_run.run_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("sample_position", BIG, primary_key=True, autoincrement=False),
    Column("position", BIG, primary_key=True, autoincrement=False),
    # The key too, so that a report stays true after the document has gone.
    Column("document_id", BIG, nullable=False),
    Column("key", LargeBinary, nullable=False),
    # None where the store has no fingerprints.
    Column("distance", Integer),
    # Which channels found it, and the verification; none in runs of before there was one.
    Column("channels", String(20)),
    Column("resemblance", Float),
    Column("containment", Float),
    Column("containment_reverse", Float),
    Column("basis", String(10)),
    Column("likeness", Float),
    Column("cosine", Float),
    sqlite_with_rowid=False,
)
