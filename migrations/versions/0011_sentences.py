"""Terms of sentences in the passage index; the sentence by which a query found a document.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "passage_entry",
        sa.Column("term_count", sa.Integer(), server_default="0", nullable=False),
    )
    op.add_column("query_match", sa.Column("passage_start", sa.Integer(), nullable=True))
    op.add_column("query_match", sa.Column("passage_end", sa.Integer(), nullable=True))
    op.add_column("query_match", sa.Column("passage_similarity", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("query_match", "passage_similarity")
    op.drop_column("query_match", "passage_end")
    op.drop_column("query_match", "passage_start")
    op.drop_column("passage_entry", "term_count")
