"""Document frequencies of a generation; counts of a reindex; likeness of a match.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "generation_frequency",
        sa.Column("generation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("frequencies", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["generation_id"],
            ["generation.generation_id"],
            name=op.f("fk_generation_frequency_generation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("generation_id", "part", name=op.f("pk_generation_frequency")),
    )
    op.create_table(
        "reindexed_count",
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.Column("token_count", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_reindexed_count_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_reindexed_count")),
    )
    op.add_column("query_match", sa.Column("likeness", sa.Float(), nullable=True))
    op.add_column("query_match", sa.Column("cosine", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("query_match", "cosine")
    op.drop_column("query_match", "likeness")
    op.drop_table("reindexed_count")
    op.drop_table("generation_frequency")
