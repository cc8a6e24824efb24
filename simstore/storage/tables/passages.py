"""The passage index: passages of documents as spans, and postings of their anchors."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
)
from sqlalchemy.event import listens_for

from simstore.storage.tables.base import BIG, metadata

# The index, where there is one: its numbers are never given out again.
passage_index = Table(
    "passage_index",
    metadata,
    Column("index_id", Integer, primary_key=True),
    # building: documents of before it have no entry yet.
    Column("status", String(10), nullable=False),
    Column("recipe", JSON, nullable=False),  # PassageRecipe.record()
    # Postings put into the tail since it was last emptied.
    Column("tail_count", BIG, nullable=False),
    Column("created_at", BIG, nullable=False),
    CheckConstraint("status IN ('building', 'standing')", name="status"),
    sqlite_autoincrement=True,
)

# One version of a document's text. A changed text gets a new number, so postings in pages that name
# a number which is gone are of no account.
passage_entry = Table(
    "passage_entry",
    metadata,
    Column("entry_id", BIG, primary_key=True),
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    Column("passage_count", Integer, nullable=False),
    Column("posting_count", Integer, nullable=False),
    Column("spans", LargeBinary, nullable=False),  # search.anchor_pages.pack_spans
    # How many of the postings are terms of sentences.
    Column("term_count", Integer, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)

# Postings of entries that are in no page yet.
anchor_tail = Table(
    "anchor_tail",
    metadata,
    Column(
        "entry_id",
        BIG,
        ForeignKey("passage_entry.entry_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("postings", LargeBinary, nullable=False),  # search.anchor_pages.pack_document
)

# Postings that were packed together.
anchor_segment = Table(
    "anchor_segment",
    metadata,
    Column("segment_id", Integer, primary_key=True),
    # How many merges lie behind it; several of one level become one of the next.
    Column("level", Integer, nullable=False),
    # search.anchor_pages.PageLayout
    Column("key_bits", Integer, nullable=False),
    Column("entry_bytes", Integer, nullable=False),
    Column("start_bytes", Integer, nullable=False),
    Column("length_bytes", Integer, nullable=False),
    Column("posting_count", BIG, nullable=False),
    sqlite_autoincrement=True,
)

anchor_page = Table(
    "anchor_page",
    metadata,
    # storage.anchor_segments.page_key: segment, page.
    Column("page", BIG, primary_key=True, autoincrement=False),
    Column("postings", LargeBinary, nullable=False),  # search.anchor_pages.pack
)


@listens_for(anchor_page, "after_create")
def _keep_together(_table: Table, connection: Connection, **_options: Any) -> None:
    # PostgreSQL keeps what is longer than 2 kB in a second table, in pieces that leave much of its
    # blocks empty: pages of postings have up to some 5 kB, and half of their bytes would be there.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE anchor_page SET (toast_tuple_target = 4080)")
