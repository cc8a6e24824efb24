"""Sketches, and their bands in pages."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
)

from simstore.storage.tables.base import BIG, STATUS, metadata

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
    Column("postings", LargeBinary, nullable=False),  # search.bands.pages
    sqlite_with_rowid=False,
)
