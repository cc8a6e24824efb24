"""What titles are found by though a word differs, of stores with the channel ``characters``.

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "title_form",
        sa.Column("scheme_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("form", BIG, autoincrement=False, nullable=False),
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_title_form_document_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_title_form_scheme_id")
        ),
        sa.PrimaryKeyConstraint("scheme_id", "form", "document_id", name=op.f("pk_title_form")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_title_form_document_id"), "title_form", ["document_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_title_form_document_id"), "title_form")
    op.drop_table("title_form")
