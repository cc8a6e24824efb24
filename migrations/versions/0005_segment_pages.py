"""Fingerprints in segment pages, and how many there are.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for name in ("fingerprint_count", "packed_count", "edition"):
        op.add_column("generation", sa.Column(name, BIG, server_default="0", nullable=False))
    counts = " + ".join(
        f"(SELECT count(*) FROM {table} WHERE {table}.generation_id = generation.generation_id)"  # noqa: S608 - constants
        for table in ("fingerprint_64", "fingerprint_128")
    )
    op.execute(f"UPDATE generation SET fingerprint_count = {counts}")  # noqa: S608 - constants
    op.create_table(
        "fingerprint_page",
        sa.Column("page", BIG, autoincrement=False, nullable=False),
        sa.Column("records", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("page", name=op.f("pk_fingerprint_page")),
    )


def downgrade() -> None:
    packed = op.get_bind().execute(sa.text("SELECT count(*) FROM fingerprint_page")).scalar_one()
    if packed:
        raise RuntimeError("fingerprints are packed; run `simstore unpack` first")
    op.drop_table("fingerprint_page")
    for name in ("edition", "packed_count", "fingerprint_count"):
        op.drop_column("generation", name)
