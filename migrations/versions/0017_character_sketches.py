"""Sketches of runs of characters; matches tell what these found.

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "character_sketch",
        sa.Column("sketch_id", BIG, nullable=False),
        sa.Column("document_id", BIG, nullable=False),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sketch", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_character_sketch_document_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_character_sketch_scheme_id")
        ),
        sa.PrimaryKeyConstraint("sketch_id", name=op.f("pk_character_sketch")),
        sa.UniqueConstraint(
            "document_id", "scheme_id", name=op.f("uq_character_sketch_document_id_scheme_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "character_band_layout",
        sa.Column("layout_id", sa.Integer(), nullable=False),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("bands", sa.Integer(), nullable=False),
        sa.Column("band_rows", sa.Integer(), nullable=False),
        sa.Column("key_bits", sa.Integer(), nullable=False),
        sa.Column("packed_to", BIG, nullable=False),
        sa.Column("packed_count", BIG, nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.CheckConstraint(
            "status IN ('building', 'standing', 'retired')",
            name=op.f("ck_character_band_layout_status"),
        ),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_character_band_layout_scheme_id")
        ),
        sa.PrimaryKeyConstraint("layout_id", name=op.f("pk_character_band_layout")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "character_band_page",
        sa.Column("layout_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", BIG, autoincrement=False, nullable=False),
        sa.Column("postings", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["layout_id"],
            ["character_band_layout.layout_id"],
            name=op.f("fk_character_band_page_layout_id"),
        ),
        sa.PrimaryKeyConstraint("layout_id", "page", name=op.f("pk_character_band_page")),
        sqlite_with_rowid=False,
    )
    op.add_column("query_match", sa.Column("character_resemblance", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("query_match", "character_resemblance")
    op.drop_table("character_band_page")
    op.drop_table("character_band_layout")
    op.drop_table("character_sketch")
