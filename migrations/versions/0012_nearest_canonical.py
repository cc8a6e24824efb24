"""Kept clusters know by which rule members joined them.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Those that are there were made by the first rule: `simstore clusters` makes them anew.
    op.add_column(
        "clustering", sa.Column("join_rule", sa.Integer(), server_default="1", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("clustering", "join_rule")
