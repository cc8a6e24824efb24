"""Tables of tokens and of recorded replies."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
)

from simstore.storage.tables.base import BIG, metadata

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
    CheckConstraint("scope IN ('read', 'write', 'admin')", name="scope"),
    CheckConstraint(
        "(revoked_at IS NULL AND standing_name = name) OR "
        "(revoked_at IS NOT NULL AND standing_name IS NULL)",
        name="standing",
    ),
    UniqueConstraint("digest"),
    UniqueConstraint("standing_name"),
    sqlite_autoincrement=True,
)

# Replies to writes whose sender named them, written in the transaction of what they tell.
idempotency = Table(
    "idempotency",
    metadata,
    # Who sent it: names of different senders do not meet.
    Column("owner", String(120), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("digest", LargeBinary, nullable=False),  # of the request
    Column("reply", LargeBinary, nullable=False),
    Column("created_at", BIG, nullable=False),
    Index(None, "created_at"),
)
