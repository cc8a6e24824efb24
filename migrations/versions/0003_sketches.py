"""Sketches and their bands; what a query run says of each match.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
STATUS = "status IN ('building', 'standing', 'retired')"


def upgrade() -> None:
    op.add_column("scheme", sa.Column("channels", sa.JSON(), nullable=True))
    op.create_table(
        "sketch",
        sa.Column("sketch_id", BIG, nullable=False),
        sa.Column("document_id", BIG, nullable=False),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sketch", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_sketch_document_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_sketch_scheme_id")
        ),
        sa.PrimaryKeyConstraint("sketch_id", name=op.f("pk_sketch")),
        sa.UniqueConstraint(
            "document_id", "scheme_id", name=op.f("uq_sketch_document_id_scheme_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "band_layout",
        sa.Column("layout_id", sa.Integer(), nullable=False),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("bands", sa.Integer(), nullable=False),
        sa.Column("band_rows", sa.Integer(), nullable=False),
        sa.Column("key_bits", sa.Integer(), nullable=False),
        sa.Column("packed_to", BIG, nullable=False),
        sa.Column("packed_count", BIG, nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.CheckConstraint(STATUS, name=op.f("ck_band_layout_status")),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_band_layout_scheme_id")
        ),
        sa.PrimaryKeyConstraint("layout_id", name=op.f("pk_band_layout")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "band_page",
        sa.Column("layout_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", BIG, autoincrement=False, nullable=False),
        sa.Column("postings", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["layout_id"], ["band_layout.layout_id"], name=op.f("fk_band_page_layout_id")
        ),
        sa.PrimaryKeyConstraint("layout_id", "page", name=op.f("pk_band_page")),
        sqlite_with_rowid=False,
    )
    op.add_column("query_sample", sa.Column("too_short", sa.Boolean(), nullable=True))
    with op.batch_alter_table(
        "query_match", table_kwargs={"sqlite_with_rowid": False}
    ) as query_match:
        query_match.alter_column("distance", existing_type=sa.Integer(), nullable=True)
        query_match.add_column(sa.Column("channels", sa.String(length=20), nullable=True))
        query_match.add_column(sa.Column("resemblance", sa.Float(), nullable=True))
        query_match.add_column(sa.Column("containment", sa.Float(), nullable=True))
        query_match.add_column(sa.Column("containment_reverse", sa.Float(), nullable=True))
        query_match.add_column(sa.Column("basis", sa.String(length=10), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM query_match WHERE distance IS NULL")
    with op.batch_alter_table(
        "query_match", table_kwargs={"sqlite_with_rowid": False}
    ) as query_match:
        for name in ("basis", "containment_reverse", "containment", "resemblance", "channels"):
            query_match.drop_column(name)
        query_match.alter_column("distance", existing_type=sa.Integer(), nullable=False)
    op.drop_column("query_sample", "too_short")
    op.drop_table("band_page")
    op.drop_table("band_layout")
    op.drop_table("sketch")
    op.drop_column("scheme", "channels")
