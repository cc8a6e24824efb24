"""Query runs: what was asked and found, for reports.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "query_run",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("started_at", BIG, nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("radius", sa.Integer(), nullable=False),
        sa.Column("bits", sa.Integer(), nullable=False),
        sa.Column("scheme", sa.String(length=60), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("generation_id", sa.Integer(), nullable=True),
        sa.Column("stale", sa.Text(), nullable=True),
        sa.Column("sample_count", BIG, nullable=False),
        sa.Column("match_count", BIG, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_query_run")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "query_match",
        sa.Column("run_id", BIG, autoincrement=False, nullable=False),
        sa.Column("sample_position", BIG, autoincrement=False, nullable=False),
        sa.Column("position", BIG, autoincrement=False, nullable=False),
        sa.Column("document_id", BIG, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("distance", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["query_run.run_id"], name=op.f("fk_query_match_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(
            "run_id", "sample_position", "position", name=op.f("pk_query_match")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "query_sample",
        sa.Column("run_id", BIG, autoincrement=False, nullable=False),
        sa.Column("position", BIG, autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["query_run.run_id"],
            name=op.f("fk_query_sample_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("pk_query_sample")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("query_sample")
    op.drop_table("query_match")
    op.drop_table("query_run")
