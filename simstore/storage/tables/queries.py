"""Recorded query runs."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from simstore.storage.tables.base import BIG, metadata

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
    # The sentence of the document that is like one of the sample; none where that found nothing.
    Column("passage_start", Integer),
    Column("passage_end", Integer),
    Column("passage_similarity", Float),
    sqlite_with_rowid=False,
)
