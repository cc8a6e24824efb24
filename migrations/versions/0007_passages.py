"""The passage index.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "passage_index",
        sa.Column("index_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("tail_count", BIG, nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.CheckConstraint(
            "status IN ('building', 'standing')", name=op.f("ck_passage_index_status")
        ),
        sa.PrimaryKeyConstraint("index_id", name=op.f("pk_passage_index")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "passage_entry",
        sa.Column("entry_id", BIG, nullable=False),
        sa.Column("document_id", BIG, nullable=False),
        sa.Column("passage_count", sa.Integer(), nullable=False),
        sa.Column("posting_count", sa.Integer(), nullable=False),
        sa.Column("spans", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_passage_entry_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_passage_entry")),
        sa.UniqueConstraint("document_id", name=op.f("uq_passage_entry_document_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "anchor_tail",
        sa.Column("entry_id", BIG, autoincrement=False, nullable=False),
        sa.Column("postings", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"],
            ["passage_entry.entry_id"],
            name=op.f("fk_anchor_tail_entry_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_anchor_tail")),
    )
    op.create_table(
        "anchor_segment",
        sa.Column("segment_id", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("key_bits", sa.Integer(), nullable=False),
        sa.Column("entry_bytes", sa.Integer(), nullable=False),
        sa.Column("start_bytes", sa.Integer(), nullable=False),
        sa.Column("length_bytes", sa.Integer(), nullable=False),
        sa.Column("posting_count", BIG, nullable=False),
        sa.PrimaryKeyConstraint("segment_id", name=op.f("pk_anchor_segment")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "anchor_page",
        sa.Column("page", BIG, autoincrement=False, nullable=False),
        sa.Column("postings", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("page", name=op.f("pk_anchor_page")),
    )


def downgrade() -> None:
    op.drop_table("anchor_page")
    op.drop_table("anchor_segment")
    op.drop_table("anchor_tail")
    op.drop_table("passage_entry")
    op.drop_table("passage_index")
