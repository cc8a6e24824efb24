"""Features, and what a generation knows of them."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
)

from simstore.storage.tables.base import BIG, metadata

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
