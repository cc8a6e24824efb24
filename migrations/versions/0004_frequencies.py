"""Document frequencies of a generation; how alike the terms of a match are.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


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
    op.add_column("query_match", sa.Column("likeness", sa.Float(), nullable=True))
    op.add_column("query_match", sa.Column("cosine", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("query_match", "cosine")
    op.drop_column("query_match", "likeness")
    op.drop_table("generation_frequency")
