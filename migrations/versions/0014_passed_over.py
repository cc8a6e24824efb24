"""Runs tell what was passed over: files and parts of sources that are no documents.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("ingest_run", sa.Column("passed_over", BIG, server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("ingest_run", "passed_over")
