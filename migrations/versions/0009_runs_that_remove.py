"""Removals and expiries are runs too; what a store does with duplicates; merged clusters by name.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column(
        "ingest_run",
        sa.Column("kind", sa.String(length=10), server_default="ingest", nullable=False),
    )
    op.add_column("ingest_run", sa.Column("removed", BIG, server_default="0", nullable=False))
    op.add_column("ingest_run", sa.Column("not_seen_since", BIG, nullable=True))
    op.add_column("ingest_run", sa.Column("collection", sa.Text(), nullable=True))
    op.add_column(
        "store",
        sa.Column("on_duplicate", sa.String(length=10), server_default="keep", nullable=False),
    )
    op.add_column("store", sa.Column("min_resemblance", sa.Float(), nullable=True))
    op.add_column("store", sa.Column("radius", sa.Integer(), nullable=True))
    op.create_index(op.f("ix_cluster_merged_into"), "cluster", ["merged_into"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_cluster_merged_into"), table_name="cluster")
    op.drop_column("store", "radius")
    op.drop_column("store", "min_resemblance")
    op.drop_column("store", "on_duplicate")
    op.drop_column("ingest_run", "collection")
    op.drop_column("ingest_run", "not_seen_since")
    op.drop_column("ingest_run", "removed")
    op.drop_column("ingest_run", "kind")
