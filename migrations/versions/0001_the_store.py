"""The store: all its tables, indexes and views.

Revision ID: 0001
Revises: nothing
"""

from alembic import op

from simstore.storage.tables import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables as they are defined; a second migration freezes their statements here."""
    metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Drop them."""
    metadata.drop_all(op.get_bind())
