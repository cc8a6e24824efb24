"""Numbers of the postings of a passage index may take three bytes.

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_SEGMENT = sa.table(
    "anchor_segment",
    *map(sa.column, ("entry_bytes", "start_bytes", "length_bytes", "low_bytes")),
)


def upgrade() -> None:
    op.add_column(
        "anchor_segment", sa.Column("low_bytes", sa.Integer(), nullable=False, server_default="4")
    )


def downgrade() -> None:
    three = sa.or_(*(column == 3 for column in _SEGMENT.c))
    if op.get_bind().scalar(sa.select(sa.func.count()).select_from(_SEGMENT).where(three)):
        raise RuntimeError("an index of passages is packed; run `simstore passages drop` first")
    op.drop_column("anchor_segment", "low_bytes")
