"""Pages of fingerprints are kept in rows that fill the leaves of the file.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# As simstore.search.pages has them at this revision.
ROW_BYTES = 1_974
ROW_UNIT_BYTES = 42
ROW_BITS = 12


def upgrade() -> None:
    _cut_pages()


def _cut_pages() -> None:
    """Copy each page, which was one row, as rows of at most ROW_BYTES, in order."""
    connection = op.get_bind()
    longest = connection.execute(sa.text("SELECT max(length(records)) FROM fingerprint_page"))
    rows = -(-(longest.scalar_one() or 0) // ROW_BYTES)
    if not rows:
        return
    op.rename_table("fingerprint_page", "fingerprint_page_before")
    if connection.dialect.name == "postgresql":
        op.execute(
            "ALTER TABLE fingerprint_page_before "
            "RENAME CONSTRAINT pk_fingerprint_page TO pk_fingerprint_page_before"
        )
    op.create_table(
        "fingerprint_page",
        sa.Column("page", BIG, autoincrement=False, nullable=False),
        sa.Column("records", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("page", name=op.f("pk_fingerprint_page")),
    )
    # Rows of a page are about equally long, in whole records; a page of more rows than can be
    # numbered has longer ones. The pages lead, in the order of their numbers: nothing is sorted.
    most_rows = 1 << ROW_BITS
    op.execute(
        "INSERT INTO fingerprint_page (page, records) "  # noqa: S608 - constants
        "WITH RECURSIVE counted (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM counted "
        f"WHERE place + 1 < {min(rows, most_rows)}), "
        "measured (page, records, count) AS (SELECT page, records, "
        f"CASE WHEN length(records) > {ROW_BYTES * most_rows} THEN {most_rows} "
        f"ELSE (length(records) + {ROW_BYTES - 1}) / {ROW_BYTES} END "
        "FROM fingerprint_page_before), "
        "cut (page, records, most) AS (SELECT page, records, "
        f"(length(records) + {ROW_UNIT_BYTES} * count - 1) / ({ROW_UNIT_BYTES} * count) "
        f"* {ROW_UNIT_BYTES} FROM measured WHERE count > 0) "
        f"SELECT (page << {ROW_BITS}) + place, substr(records, place * most + 1, most) "
        "FROM cut CROSS JOIN counted WHERE place * most < length(records)"
    )
    op.drop_table("fingerprint_page_before")


def downgrade() -> None:
    packed = op.get_bind().execute(sa.text("SELECT count(*) FROM fingerprint_page")).scalar_one()
    if packed:
        raise RuntimeError("fingerprints are packed; run `simstore unpack` first")
