"""Matches name any channels that found them, however many there are.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SHORT = sa.String(length=20)


def upgrade() -> None:
    _change(SHORT, sa.Text())


def downgrade() -> None:
    _change(sa.Text(), SHORT)


def _change(before: "sa.types.TypeEngine[str]", after: "sa.types.TypeEngine[str]") -> None:
    with op.batch_alter_table(
        "query_match", table_kwargs={"sqlite_with_rowid": False}
    ) as query_match:
        query_match.alter_column(
            "channels", existing_type=before, type_=after, existing_nullable=True
        )
