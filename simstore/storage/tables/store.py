"""The store itself, its schemes and generations."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    false,
)

from simstore.storage.tables.base import BIG, STATUS, metadata

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
    # What an ingest does with duplicates that is not told, and what is one.
    Column("on_duplicate", String(10), nullable=False, server_default="keep"),
    Column("min_resemblance", Float),
    Column("radius", Integer),
    # Whether packed fingerprints have segment columns too.
    Column("keep_columns", Boolean, nullable=False, server_default=false()),
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

# What writers that work beside each other have added, each a row of its own: none waits for
# another to count. Added to the counts of store and generation by a writer that is the only one.
addition = Table(
    "addition",
    metadata,
    Column("addition_id", BIG, primary_key=True),
    # None: a change of the documents.
    Column("generation_id", Integer),
    # Distinct fingerprints that came, less those that went.
    Column("fingerprints", BIG, nullable=False, server_default="0"),
)
