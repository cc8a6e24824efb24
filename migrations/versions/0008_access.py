"""Tokens, replies to requests that may come again, what writers beside each other add.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "token",
        sa.Column("token_id", BIG, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("standing_name", sa.String(length=100), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("expires_at", BIG, nullable=True),
        sa.Column("revoked_at", BIG, nullable=True),
        sa.CheckConstraint("scope IN ('read', 'write', 'admin')", name=op.f("ck_token_scope")),
        sa.CheckConstraint(
            "(revoked_at IS NULL AND standing_name = name) OR "
            "(revoked_at IS NOT NULL AND standing_name IS NULL)",
            name=op.f("ck_token_standing"),
        ),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
        sa.UniqueConstraint("standing_name", name=op.f("uq_token_standing_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "idempotency",
        sa.Column("owner", sa.String(length=120), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("reply", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.PrimaryKeyConstraint("owner", "key", name=op.f("pk_idempotency")),
    )
    op.create_index(op.f("ix_idempotency_created_at"), "idempotency", ["created_at"])
    op.create_table(
        "addition",
        sa.Column("addition_id", BIG, nullable=False),
        sa.Column("generation_id", sa.Integer(), nullable=True),
        sa.Column("fingerprints", BIG, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("addition_id", name=op.f("pk_addition")),
    )


def downgrade() -> None:
    op.drop_table("addition")
    op.drop_table("idempotency")
    op.drop_table("token")
