"""Table definitions of documents, sources, runs, history, access tokens and recorded queries."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
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


def owner_column(
    reference: str, of_type: type[Integer] | TypeEngine[int] = BIG, *, name: str | None = None
) -> Column[Any]:
    """Return a column of a primary key that names a row of another table, with which rows go.

    Args:
        reference: The other table and its key: ``document.document_id``.
        of_type: Its type.
        name: The name of the column; None: that of the other table's key.
    """
    return Column(
        name or reference.partition(".")[2],
        of_type,
        ForeignKey(reference, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    )


source = Table(
    "source",
    metadata,
    Column("source_id", BIG, primary_key=True),
    Column("name", LargeBinary, nullable=False),
    # Absolute, of the file that was last read by this name; None: it was no file.
    Column("path", LargeBinary, index=True),
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
    # Files, and parts of sources, that are no documents.
    Column("passed_over", BIG, nullable=False, server_default="0"),
    CheckConstraint("state IN ('running', 'finished', 'interrupted')", name="state"),
    sqlite_autoincrement=True,
)

# Keys that a run removed, documents and skipped ones.
removed_key = Table(
    "removed_key",
    metadata,
    owner_column("ingest_run.run_id"),
    Column("key", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
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
    # When it was first seen with its present content; null: as early as the document.
    Column("version_seen", BIG),
    UniqueConstraint("key"),
    Index(None, "digest"),
    sqlite_autoincrement=True,
)

document_text = Table(
    "document_text",
    metadata,
    owner_column("document.document_id"),
    Column("text", LargeBinary, nullable=False),  # UTF-8, zstd
)

document_features = Table(
    "document_features",
    metadata,
    owner_column("document.document_id"),
    Column("scheme_id", Integer, primary_key=True, autoincrement=False),
    Column("features", LargeBinary, nullable=False),  # codecs.pack_features
)

# Features of each document by the scheme under construction; empty but during a reindex.
reindexed_count = Table(
    "reindexed_count",
    metadata,
    owner_column("document.document_id"),
    Column("token_count", BIG, nullable=False),
)

# The digest at a place in the present content of a source that its document was not taken from:
# the document has other content, or the same from elsewhere.
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

# Versions of a document before its present one, and between which times each was seen.
snapshot = Table(
    "snapshot",
    metadata,
    owner_column("document.document_id"),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, nullable=False),
    Column("first_seen", BIG, nullable=False),
    Column("last_seen", BIG, nullable=False),
    sqlite_with_rowid=False,
)

# Keys that a document's page links to, as its source says.
document_link = Table(
    "document_link",
    metadata,
    owner_column("document.document_id"),
    Column("target", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)

# What a check before the insert found to be a duplicate. A flagged one is a document too; of a
# skipped one this row is all there is. It is uncovered if the text of its original has changed and
# does not cover the former one, and an orphan if its original has gone.
duplicate = Table(
    "duplicate",
    metadata,
    Column("duplicate_id", BIG, primary_key=True),
    Column("key", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("state", String(10), nullable=False),
    Column("document_id", BIG, ForeignKey("document.document_id", ondelete="CASCADE")),
    Column("original_id", BIG, ForeignKey("document.document_id", ondelete="SET NULL")),
    # Stays when the original has gone.
    Column("original_key", LargeBinary, nullable=False),
    # None where the store has no fingerprints.
    Column("distance", Integer),
    Column("resemblance", Float, nullable=False),
    Column("basis", String(10), nullable=False),
    Column("run_id", BIG, ForeignKey("ingest_run.run_id"), nullable=False),
    Column("first_seen", BIG, nullable=False),
    Column("last_seen", BIG, nullable=False),
    CheckConstraint("state IN ('flagged', 'skipped', 'uncovered', 'orphaned')", name="state"),
    UniqueConstraint("key"),
    Index(None, "original_id"),
    Index(None, "document_id"),
    Index(None, "digest"),
    sqlite_autoincrement=True,
)

# A secret is shown once, when it is made; the store has its SHA-256 only.
token = Table(
    "token",
    metadata,
    Column("token_id", BIG, primary_key=True),
    Column("name", String(100), nullable=False),
    # Its name while it is not revoked, as no two of them have one; then it may be given again.
    Column("standing_name", String(100)),
    Column("digest", LargeBinary, nullable=False),
    Column("scope", String(10), nullable=False),
    Column("created_at", BIG, nullable=False),
    # None: it does not expire.
    Column("expires_at", BIG),
    # A revoked token stays, so that one can tell when it was.
    Column("revoked_at", BIG),
    CheckConstraint("scope IN ('metrics', 'read', 'write', 'admin')", name="scope"),
    CheckConstraint(
        "(revoked_at IS NULL AND standing_name = name) OR "
        "(revoked_at IS NOT NULL AND standing_name IS NULL)",
        name="standing",
    ),
    UniqueConstraint("digest"),
    UniqueConstraint("standing_name"),
    sqlite_autoincrement=True,
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
    owner_column("query_run.run_id"),
    Column("position", BIG, primary_key=True, autoincrement=False),
    Column("key", LargeBinary, nullable=False),
    Column("fingerprint", String(32), nullable=False),
    # Its features are too few to judge by.
    Column("too_short", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

query_match = Table(
    "query_match",
    metadata,
    owner_column("query_run.run_id"),
    Column("sample_position", BIG, primary_key=True, autoincrement=False),
    Column("position", BIG, primary_key=True, autoincrement=False),
    # The key too, so that a report stays true after the document has gone.
    Column("document_id", BIG, nullable=False),
    Column("key", LargeBinary, nullable=False),
    # None where the store has no fingerprints.
    Column("distance", Integer),
    # Names of the channels that found it, with commas between.
    Column("channels", Text, nullable=False),
    Column("resemblance", Float),
    Column("containment", Float),
    Column("containment_reverse", Float),
    Column("basis", String(10)),
    # The sentence of the document that is like one of the sample; none where that found nothing.
    Column("passage_start", Integer),
    Column("passage_end", Integer),
    Column("passage_similarity", Float),
    # None where the channel characters did not find it.
    Column("character_resemblance", Float),
    sqlite_with_rowid=False,
)
