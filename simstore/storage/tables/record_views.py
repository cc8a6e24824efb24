"""Define the SQL views for people: ``documents``, ``duplicates`` and ``clusters``.

They show keys and sources as text, and clusters as `simstore clusters` lists them. Their columns
are stable: a later version may add some, and takes none away.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, MetaData
from sqlalchemy.event import listens_for

from simstore.storage.tables.documents import metadata

RECORD_VIEWS = ("documents", "duplicates", "clusters")
# The hexadecimal digits of UTF-8 without a zero byte.
_UTF8 = (
    "^(0[1-9a-f]|[1-7].|(c[2-9a-f]|d.)[89ab].|(e0[ab].|e[1-9abcef][89ab].|ed[89].)[89ab].|"
    "(f0[9ab].|f[123][89ab].|f48.)[89ab].[89ab].)*$"
)


def record_statements(dialect: str) -> list[str]:
    """Return the SQL statements that create the views, by the name of a database's dialect."""
    is_postgresql = dialect == "postgresql"
    text = _text_postgresql if is_postgresql else _text_sqlite
    digest = "encode({}, 'hex')" if is_postgresql else "lower(hex({}))"
    return [
        "CREATE VIEW documents AS SELECT d.document_id AS document_id, "  # noqa: S608
        f"{text('d.key')} AS key, d.title AS title, d.collection AS collection, "
        f"{text('s.name')} AS source, d.position AS position, d.run_id AS run_id, "
        "d.byte_count AS byte_count, d.token_count AS token_count, d.first_seen AS first_seen, "
        "d.first_seen_basis AS first_seen_basis, d.last_seen AS last_seen, "
        f"d.revision AS revision, {digest.format('d.digest')} AS digest, d.metadata AS metadata "
        "FROM document d LEFT JOIN source s ON s.source_id = d.source_id",
        "CREATE VIEW duplicates AS SELECT u.duplicate_id AS duplicate_id, "  # noqa: S608
        f"{text('u.key')} AS key, {text('u.original_key')} AS original_key, u.state AS state, "
        "u.resemblance AS resemblance, u.distance AS distance, u.basis AS basis, "
        "u.document_id AS document_id, u.original_id AS original_id, u.run_id AS run_id, "
        "u.first_seen AS first_seen, u.last_seen AS last_seen FROM duplicate u",
        # A member joins the canonical text it is most like. The canonical document is the first of
        # the canonical text; if that went, of what is left.
        "CREATE VIEW clusters AS SELECT cluster_id, document_id, key, "  # noqa: S608
        "first_value(key) OVER ranked AS canonical_key, "
        "CASE WHEN row_number() OVER ranked = 1 THEN 1 ELSE 0 END AS is_canonical, "
        "resemblance, size FROM ("
        "SELECT c.cluster_id AS cluster_id, d.document_id AS document_id, "
        f"{text('d.key')} AS key, j.resemblance AS resemblance, j.is_spoke AS is_spoke, "
        "j.major AS major, d.first_seen AS first_seen, "
        "CASE WHEN j.policy = 'prefer' AND j.first_id = d.document_id THEN 0 ELSE 1 END AS later, "
        "count(*) OVER (PARTITION BY c.cluster_id) AS size FROM ("
        "SELECT t.digest AS digest, t.major AS major, t.document_id AS first_id, "
        "t.text_id AS centre_id, 1.0 AS resemblance, 0 AS is_spoke, r.policy AS policy "
        "FROM cluster_text t CROSS JOIN clustering r WHERE NOT EXISTS "
        "(SELECT 1 FROM cluster_spoke p WHERE p.text_id = t.text_id) "
        "UNION ALL SELECT digest, major, first_id, centre_id, resemblance, 1, policy FROM ("
        "SELECT t.digest AS digest, t.major AS major, t.document_id AS first_id, "
        "p.centre_id AS centre_id, p.resemblance AS resemblance, r.policy AS policy, "
        "row_number() OVER (PARTITION BY p.text_id ORDER BY "
        "p.resemblance DESC, o.major, o.first_seen, o.document_id) AS choice FROM cluster_spoke p "
        "JOIN cluster_text t ON t.text_id = p.text_id "
        "JOIN cluster_text o ON o.text_id = p.centre_id CROSS JOIN clustering r) chosen "
        "WHERE choice = 1) j JOIN cluster c ON c.centre_id = j.centre_id "
        "JOIN document d ON d.digest = j.digest) member WHERE size > 1 WINDOW ranked AS "
        "(PARTITION BY cluster_id ORDER BY is_spoke, major, later, first_seen, document_id)",
    ]


@listens_for(metadata, "after_create")
def _make_views(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    for statement in record_statements(connection.dialect.name):
        connection.exec_driver_sql(statement)


@listens_for(metadata, "before_drop")
def _drop_views(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    for name in RECORD_VIEWS:
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")


def _text_sqlite(column: str) -> str:
    # What is no UTF-8 would stop the reader of the row: each such byte is U+FFFD.
    # DuckDB parses the views of a file that it attaches: it knows no operator GLOB, and takes a
    # bare char for a type.
    return (
        f"CASE WHEN {column} IS NULL THEN NULL "  # noqa: S608 - a part
        f"WHEN instr({column}, x'00') = 0 AND NOT glob('*[^ -~]*', CAST({column} AS TEXT)) "
        f"THEN CAST({column} AS TEXT) ELSE (WITH RECURSIVE shown (rest, done) AS ("
        f"SELECT CAST({column} AS TEXT), '' UNION ALL SELECT substr(rest, 2), "
        "done || \"char\"(unicode(rest)) FROM shown WHERE rest <> '') "
        "SELECT done FROM shown WHERE rest = '') END"
    )


def _text_postgresql(column: str) -> str:
    # What is no UTF-8 would stop the whole statement: such a key has escapes for its bytes.
    return (
        f"CASE WHEN encode({column}, 'hex') ~ '{_UTF8}' THEN convert_from({column}, 'UTF8') "
        f"ELSE encode({column}, 'escape') END"
    )
