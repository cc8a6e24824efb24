"""Two short pages of neighbouring values share a row; PostgreSQL keeps pages of postings together.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# As simstore.search.pages has them at this revision.
ROW_NUMBERS = 4_096
ROWS_PER_PAGE = 4_089

_PAGE = sa.table("fingerprint_page", sa.column("page", sa.BigInteger), sa.column("records"))
_VALUE_BEFORE = "((page >> 12) & 65535)"
_VALUE = (
    f"{_VALUE_BEFORE} + CASE WHEN (page & 4095) >= {ROWS_PER_PAGE} "
    f"AND place >= {ROW_NUMBERS} - (page & 4095) THEN 1 ELSE 0 END"
)


def upgrade() -> None:
    _free_numbers()
    _make_views(_VALUE)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE anchor_page SET (toast_tuple_target = 4080)")


def downgrade() -> None:
    if _last_rows():
        raise RuntimeError(
            "fingerprints are packed two pages to a row; run `simstore unpack` first"
        )
    _make_views(_VALUE_BEFORE)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE anchor_page RESET (toast_tuple_target)")


def _last_rows() -> list[int]:
    """Return the rows whose numbers shared rows have from now on."""
    statement = (
        sa.select(_PAGE.c.page)
        .where(_PAGE.c.page.op("&")(ROW_NUMBERS - 1) >= ROWS_PER_PAGE)
        .order_by(_PAGE.c.page)
    )
    return list(op.get_bind().execute(statement).scalars())


def _free_numbers() -> None:
    """Add what the last rows of pages of 8 MB hold to the row before them."""
    connection = op.get_bind()
    for page in _last_rows():
        first = page - page % ROW_NUMBERS + ROWS_PER_PAGE - 1
        moved = {"first": first, "page": page}
        connection.execute(
            sa.text(
                "UPDATE fingerprint_page SET records = CAST(records || "
                "(SELECT records FROM fingerprint_page WHERE page = :page) AS BLOB) "
                "WHERE page = :first"
                if connection.dialect.name == "sqlite"
                else "UPDATE fingerprint_page SET records = records || "
                "(SELECT records FROM fingerprint_page WHERE page = :page) WHERE page = :first"
            ),
            moved,
        )
        connection.execute(sa.text("DELETE FROM fingerprint_page WHERE page = :page"), moved)


def _make_views(value: str) -> None:
    for bits in (64, 128):
        op.execute(f"DROP VIEW fingerprint_segments_{bits}")
        op.execute(_view(bits, value))


def _view(bits: int, s0: str) -> str:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    columns = [f"s{number}" for number in range(bits // 16)]
    listed = ", ".join(columns)
    size = (bits - 16) // 8
    unpacked = (_unpacked_postgresql if is_postgresql else _unpacked_sqlite)(
        bits, size, columns, s0
    )
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


def _unpacked_sqlite(bits: int, size: int, columns: list[str], s0: str) -> str:
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
        f"SELECT generation.generation_id AS generation_id, {s0} AS s0, "
        f"{record} AS record, hex({record}) AS digits FROM {pages} CROSS JOIN counted "
        f"WHERE {conditions} AND {size} * place < length(records)))"
    )


def _unpacked_postgresql(bits: int, size: int, columns: list[str], s0: str) -> str:
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
        f"SELECT generation.generation_id, CAST({s0} AS integer) AS s0, "
        f"{', '.join(values)} FROM {pages} "
        f"CROSS JOIN LATERAL generate_series(0, length(records) / {size} - 1) AS place "
        f"WHERE {conditions}) AS unpacked"
    )
