"""Tables of earlier versions, links and duplicates."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
)

from simstore.storage.tables.base import BIG, metadata

# Versions of a document before its present one, and between which times each was seen.
snapshot = Table(
    "snapshot",
    metadata,
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, nullable=False),
    Column("first_seen", BIG, nullable=False),
    Column("last_seen", BIG, nullable=False),
    Column("visits", BIG, nullable=False),
    sqlite_with_rowid=False,
)

# Keys that a document's page links to, as its source says.
document_link = Table(
    "document_link",
    metadata,
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("target", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)

# What a check before the insert found to be a duplicate. A flagged one is a document too; of a
# skipped one this row is all there is. One whose original has gone or changed is an orphan.
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
    CheckConstraint("state IN ('flagged', 'skipped', 'orphaned')", name="state"),
    UniqueConstraint("key"),
    Index(None, "original_id"),
    Index(None, "document_id"),
    Index(None, "digest"),
    sqlite_autoincrement=True,
)
