"""A token may have the scope that reads the metrics of a server and no text.

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BEFORE = "scope IN ('read', 'write', 'admin')"
AFTER = "scope IN ('metrics', 'read', 'write', 'admin')"


def upgrade() -> None:
    _change(BEFORE, AFTER)


def downgrade() -> None:
    # What is older would take none of the store's tokens beside one of an unknown scope.
    op.execute("DELETE FROM token WHERE scope = 'metrics'")
    _change(AFTER, BEFORE)


def _change(before: str, after: str) -> None:
    with op.batch_alter_table("token", copy_from=_token(before)) as token:
        token.drop_constraint(op.f("ck_token_scope"), type_="check")
        token.create_check_constraint(op.f("ck_token_scope"), after)


def _token(scopes: str) -> sa.Table:
    """Return the table, as SQLite makes it anew: it changes no constraint of one that is there."""
    return sa.Table(
        "token",
        sa.MetaData(),
        sa.Column("token_id", BIG, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("standing_name", sa.String(length=100), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("expires_at", BIG, nullable=True),
        sa.Column("revoked_at", BIG, nullable=True),
        sa.CheckConstraint(scopes, name=op.f("ck_token_scope")),
        sa.CheckConstraint(
            "(revoked_at IS NULL AND standing_name = name) OR "
            "(revoked_at IS NOT NULL AND standing_name IS NULL)",
            name=op.f("ck_token_standing"),
        ),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
        sa.UniqueConstraint("standing_name", name=op.f("uq_token_standing_name")),
        sqlite_autoincrement=True,
    )
