"""Sources, ingest runs, documents, and what could not be stored."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from simstore.storage.tables.base import BIG, metadata

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
    Column("flagged", BIG, nullable=False, server_default="0"),
    Column("skipped", BIG, nullable=False, server_default="0"),
    # ingest, remove or expire.
    Column("kind", String(10), nullable=False, server_default="ingest"),
    # Documents, and skipped keys that were forgotten.
    Column("removed", BIG, nullable=False, server_default="0"),
    # What an expiry goes by: a time, and a collection if any.
    Column("not_seen_since", BIG),
    Column("collection", Text),
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
    # Who says when it was first seen: this store, a crawl, or the page's own date.
    Column("first_seen_basis", String(10), nullable=False, server_default="ingest"),
    # Times it was seen with its present content, and when that was first.
    Column("visits", BIG, nullable=False, server_default="1"),
    Column("version_seen", BIG),
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
