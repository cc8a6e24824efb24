"""Rows of pages that fill the leaves of the file; segment columns and views; terms of sentences.

Revision ID: 0010
Revises: 0009
"""

from typing import Any

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


# By which sentence a query found a document.
SENTENCE_COLUMNS: "dict[str, sa.types.TypeEngine[Any]]" = {
    "passage_start": sa.Integer(),
    "passage_end": sa.Integer(),
    "passage_similarity": sa.Float(),
}
# Tables and views of the fingerprints up to 64 bits, and above.
FAMILIES = ((64, BIG), (128, sa.LargeBinary(length=16)))


def upgrade() -> None:
    _cut_pages()
    op.add_column(
        "store",
        sa.Column("keep_columns", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    for bits, value in FAMILIES:
        _make_columns(bits, value)
        op.execute(_view(bits))
    op.add_column(
        "passage_entry",
        sa.Column("term_count", sa.Integer(), server_default="0", nullable=False),
    )
    for name, kind in SENTENCE_COLUMNS.items():
        op.add_column("query_match", sa.Column(name, kind, nullable=True))


def _make_columns(bits: int, value: "sa.types.TypeEngine[Any]") -> None:
    name = f"packed_fingerprint_{bits}"
    columns = [f"s{number}" for number in range(bits // 16)]
    op.create_table(
        name,
        sa.Column("generation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", value, autoincrement=False, nullable=False),
        *(sa.Column(column, sa.Integer(), nullable=True) for column in columns),
        sa.PrimaryKeyConstraint("generation_id", "value", name=op.f(f"pk_{name}")),
        sqlite_with_rowid=False,
    )
    for column in columns:
        op.create_index(
            f"ix_{name}_{column}",
            name,
            [column, "generation_id"],
            unique=False,
            sqlite_where=sa.text(f"{column} IS NOT NULL"),
            postgresql_where=sa.text(f"{column} IS NOT NULL"),
            postgresql_include=["value"],
        )


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
    for name in reversed(SENTENCE_COLUMNS):
        op.drop_column("query_match", name)
    op.drop_column("passage_entry", "term_count")
    for bits, _ in FAMILIES:
        op.execute(f"DROP VIEW fingerprint_segments_{bits}")
        op.drop_table(f"packed_fingerprint_{bits}")
    op.drop_column("store", "keep_columns")


def _view(bits: int) -> str:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    columns = [f"s{number}" for number in range(bits // 16)]
    listed = ", ".join(columns)
    size = (bits - 16) // 8
    unpacked = (_unpacked_postgresql if is_postgresql else _unpacked_sqlite)(bits, size, columns)
    counted = ""
    if not is_postgresql:
        counted = (
            "WITH RECURSIVE counted (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM counted "  # noqa: S608
            f"WHERE place + 1 < (SELECT max(length(records)) FROM {_pages(bits)}) / {size}) "
        )
    return (
        f"CREATE VIEW fingerprint_segments_{bits} (generation_id, value, is_packed, {listed}) AS "  # noqa: S608
        f"{counted}SELECT generation_id, value, 0, {listed} FROM fingerprint_{bits} "
        f"UNION ALL SELECT generation_id, value, 1, {listed} FROM packed_fingerprint_{bits} "
        f"UNION ALL {unpacked}"
    )


def _pages(bits: int) -> str:
    """Return the rows of the first segment's pages, with their generation, as tables of a query."""
    number = "(CAST(generation.generation_id AS bigint) << 31)"
    return (
        "generation CROSS JOIN scheme CROSS JOIN fingerprint_page "  # noqa: S608
        f"WHERE scheme.scheme_id = generation.scheme_id AND scheme.bits = {bits} "
        f"AND page BETWEEN {number} AND ({number} | 268435455) "
        # Where columns are kept they are read instead.
        "AND (SELECT count(*) FROM store WHERE keep_columns) = 0"
    )


def _unpacked_sqlite(bits: int, size: int, columns: list[str]) -> str:
    # Records begin with their last bits. SQLite reads no number from bytes, but hexadecimal digits.
    def digit(place: int) -> str:
        return f"instr('123456789ABCDEF', substr(digits, {place}, 1))"

    values = []
    for number in range(1, len(columns)):
        first = 2 * (size - 2 * number) + 1
        shifts = (4, 0, 12, 8)
        parts = [f"({digit(first + place)} << {shift})" for place, shift in enumerate(shifts)]
        values.append(f"({' | '.join(parts)}) AS s{number}")
    if bits == 64:
        value = " | ".join(
            f"({column} << {48 - 16 * number})" for number, column in enumerate(columns)
        )
    else:
        every = f"x'{bytes(range(256)).hex()}'"
        joined = [f"substr({every}, (s0 >> 8) + 1, 1)", f"substr({every}, (s0 & 255) + 1, 1)"]
        joined += [f"substr(record, {place}, 1)" for place in range(size, 0, -1)]
        value = f"CAST({' || '.join(joined)} AS BLOB)"
    pages, _, conditions = _pages(bits).partition(" WHERE ")
    record = f"substr(records, {size} * place + 1, {size})"
    return (
        f"SELECT generation_id, {value}, 1, {', '.join(columns)} FROM ("  # noqa: S608
        f"SELECT generation_id, s0, record, {', '.join(values)} FROM ("
        f"SELECT generation.generation_id AS generation_id, ((page >> 12) & 65535) AS s0, "
        f"{record} AS record, hex({record}) AS digits FROM {pages} CROSS JOIN counted "
        f"WHERE {conditions} AND {size} * place < length(records)))"
    )


def _unpacked_postgresql(bits: int, size: int, columns: list[str]) -> str:
    values = [
        f"CAST((get_byte(records, {size} * place + {low + 1}) << 8) "
        f"| get_byte(records, {size} * place + {low}) AS integer) AS s{number}"
        for number, low in enumerate(range(size - 2, -1, -2), start=1)
    ]
    if bits == 64:
        value = " | ".join(
            f"(CAST({column} AS bigint) << {48 - 16 * number})"
            for number, column in enumerate(columns)
        )
    else:
        digits = " || ".join(f"lpad(to_hex({column}), 4, '0')" for column in columns)
        value = f"decode({digits}, 'hex')"
    pages, _, conditions = _pages(bits).partition(" WHERE ")
    return (
        f"SELECT generation_id, {value}, 1, {', '.join(columns)} FROM ("  # noqa: S608
        "SELECT generation.generation_id, CAST((page >> 12) & 65535 AS integer) AS s0, "
        f"{', '.join(values)} FROM {pages} "
        f"CROSS JOIN LATERAL generate_series(0, length(records) / {size} - 1) AS place "
        f"WHERE {conditions}) AS unpacked"
    )
