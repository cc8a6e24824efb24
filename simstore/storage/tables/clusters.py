"""Clusters that are kept up as documents come and go.

A cluster is a star: a canonical text and the texts with an edge to it. Documents of one text are
one node, so the nodes are distinct texts.
"""

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
    Text,
    UniqueConstraint,
)

from simstore.storage.tables.base import BIG, metadata

# The rule by which clusters are kept, and what it was applied with; no row: none are kept.
clustering = Table(
    "clustering",
    metadata,
    Column("clustering_id", Integer, primary_key=True),
    Column("min_resemblance", Float, nullable=False),
    # Bits; none: not by fingerprints.
    Column("radius", Integer),
    Column("policy", String(10), nullable=False),
    # A regular expression for keys, with the policy "prefer".
    Column("preferred", Text),
    Column("scheme_id", Integer, nullable=False),
    # None where fingerprints do not depend on the corpus.
    Column("generation_id", Integer),
    # How sketches are cut; none: not by sketches.
    Column("bands", Integer),
    Column("band_rows", Integer),
    # Being made anew: the clusters are still the older ones, or none.
    Column("state", String(10), nullable=False),
    # How often they were begun to be made; who began last may finish.
    Column("attempt", BIG, nullable=False),
    Column("created_at", BIG, nullable=False),
    Column("updated_at", BIG, nullable=False),
    CheckConstraint("clustering_id = 1", name="one"),
    CheckConstraint("state IN ('building', 'standing')", name="state"),
    CheckConstraint("policy IN ('first', 'longest', 'prefer')", name="policy"),
)

cluster_text = Table(
    "cluster_text",
    metadata,
    Column("text_id", BIG, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    # The policy's order: major, first_seen, document_id of the first document with this text.
    Column("major", BIG, nullable=False),
    Column("first_seen", BIG, nullable=False),
    Column("document_id", BIG, nullable=False),
    UniqueConstraint("digest"),
    sqlite_autoincrement=True,
)

# Edges from a text to the canonical texts before it; one without any is canonical itself.
cluster_spoke = Table(
    "cluster_spoke",
    metadata,
    Column(
        "text_id",
        BIG,
        ForeignKey("cluster_text.text_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column(
        "centre_id",
        BIG,
        ForeignKey("cluster_text.text_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("resemblance", Float, nullable=False),
    Index(None, "centre_id"),
    sqlite_with_rowid=False,
)

# Names of clusters, never given out twice. One that became part of another says of which.
cluster = Table(
    "cluster",
    metadata,
    Column("cluster_id", BIG, primary_key=True),
    # Its canonical text; none: it has ended.
    Column("centre_id", BIG, unique=True),
    Column("merged_into", BIG, ForeignKey("cluster.cluster_id")),
    Column("created_at", BIG, nullable=False),
    Column("ended_at", BIG),
    # A name that is forgotten looks for those that merged into it.
    Index(None, "merged_into"),
    sqlite_autoincrement=True,
)

# Texts whose documents are others than when clusters were last brought up to date.
cluster_change = Table(
    "cluster_change",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)
