"""The types of the values that each column of an SQLite file may hold, by the column's name.

What ``tables/`` says, written out: a query reads rows, and tables take SQLAlchemy to import. A
test holds it to the tables, and says what to write here when they change.
"""

from __future__ import annotations

_NULL = type(None)
_NAMES: dict[tuple[type, ...], str] = {
    (int,): """
        added attempt bits byte_count changes checksum clustering_id complete created_at
        delta_id document_count duplicate_id duplicates entry_count entry_id feature_id
        filter_words first_seen flagged index_id keep_columns last_seen last_source
        major match_count owner page page_bits part passage_count
        passed_over posting_count rank reject_id rejected rejected_at removed revision
        row_bytes run_id sample_count sample_position sketch_id skipped
        started_at store_id term_count text_kept token_count token_id too_short
        total_count unchanged updated updated_at vocabulary_recorded
    """,
    (int, float): """
        seconds
    """,
    (int, float, _NULL): """
        character_resemblance containment containment_reverse
        min_resemblance passage_similarity resemblance
    """,
    (int, str): """
        version
    """,
    (int, str, _NULL): """
        basis
    """,
    (int, bytes, _NULL): """
        value
    """,
    (int, _NULL): """
        band_rows bands byte_offset centre_id cluster_id distance document_id edition
        ended_at expires_at fingerprint_count finished_at generation_id merged_into
        modified_ns not_seen_since original_id packed_count passage_end passage_start
        position radius revoked_at s0 s1 s2 s3 s4 s5 s6 s7 scheme_id size source_id
        switched_at text_id version_seen
    """,
    (str,): """
        channels created_by fingerprint first_seen_basis kind known_answers on_duplicate options
        parameters policy reader reason recipe scheme scope sources state status
    """,
    (str, bytes, _NULL): """
        name
    """,
    (str, _NULL): """
        collection metadata preferred stale standing_name title
    """,
    (bytes,): """
        delta digest entries features frequencies head head_digest key original_key
        sketch source spans stopwords target term text widths
    """,
    (bytes, _NULL): """
        forms hash_table path postings source_name
    """,
}
# A name is of the same types in all tables.
COLUMN_TYPES = {name: frozenset(types) for types, names in _NAMES.items() for name in names.split()}
# Names that only columns of JSON have.
JSON_COLUMNS = frozenset((
    "known_answers", "metadata", "options", "parameters", "recipe", "sources",
))  # fmt: skip
