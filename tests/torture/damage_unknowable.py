"""What nothing else in a store says again: another value of it cannot be told from the right one.

Each is ``table.column``, with the reason; ``table.*`` is a row more or less. Where the column has
an index, only a change by SQL is meant, which changes the index too.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_GIVEN = "given from outside, and written once"
_WHEN = "when, how often or in which run something happened"
_SETTING = "a setting: each value is one that may be set"
_NOTE = "the note of a run, whose documents come and go afterwards"
_ROW = "a row that nothing counts"

_COLUMNS = {
    "document": {
        _GIVEN: "title collection metadata",
        _WHEN: "first_seen last_seen version_seen first_seen_basis position byte_offset "
        "source_id run_id revision",
    },
    "duplicate": {
        _GIVEN: "original_key",  # of an orphan: its original has gone
        _WHEN: "first_seen last_seen run_id",
        "how near it was, where its text is not kept": "distance resemblance",
        _ROW: "*",
    },
    "snapshot": {_WHEN: "first_seen last_seen digest", _ROW: "*"},
    "reject": {
        _GIVEN: "reason head position byte_offset",
        _WHEN: "rejected_at run_id",
        _ROW: "*",
    },
    "source": {_GIVEN: "reader", _ROW: "*"},
    "token": {_GIVEN: "scope digest", _WHEN: "created_at expires_at revoked_at", _ROW: "*"},
    "store": {
        _SETTING: "policy on_duplicate min_resemblance radius created_by",
        _WHEN: "created_at",
        "how many batches changed a document, which nothing else counts": "changes",
    },
    "generation": {_WHEN: "created_at switched_at"},
    "scheme": {_WHEN: "created_at"},
    "passage_index": {_WHEN: "created_at"},
    "clustering": {
        _WHEN: "created_at updated_at",
        "what the clusters were made by; by anything else they are told to be out of date": (
            "scheme_id generation_id radius"
        ),
    },
    "cluster": {_WHEN: "created_at ended_at merged_into"},
    "ingest_run": {
        _NOTE: "started_at finished_at state sources version added updated unchanged duplicates "
        "rejected byte_count flagged skipped kind removed not_seen_since collection",
        _ROW: "*",
    },
    "removed_key": {_NOTE: "key", _ROW: "*"},
    "query_run": {
        _NOTE: "started_at seconds sources radius bits scheme options generation_id stale "
        "sample_count match_count",
        _ROW: "*",
    },
    "query_sample": {_NOTE: "key fingerprint too_short", _ROW: "*"},
    "query_match": {
        _NOTE: "document_id key distance channels resemblance containment containment_reverse "
        "basis passage_start passage_end passage_similarity character_resemblance",
        _ROW: "*",
    },
}
# The index of a column says it again: damage of the file is told, a change by SQL is not.
_INDEXED = {
    "document": {_GIVEN: "key"},
    "reject": {_GIVEN: "source"},
    "source": {_GIVEN: "name"},
    "token": {_GIVEN: "name standing_name"},
    "duplicate": {_GIVEN: "key"},
}
# A setting that only such rows can contradict.
_CONTRADICTED_BY = {
    "store.text_kept": "SELECT 1 FROM document LIMIT 1",
    "store.keep_columns": "SELECT 1 FROM index_run WHERE kind LIKE 'simhash%' LIMIT 1",
}


def unknowable_settings(path: Path) -> set[str]:
    """Return the settings of a store that none of its rows can contradict.

    Args:
        path: Its file, undamaged.
    """
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return {
            column
            for column, statement in _CONTRADICTED_BY.items()
            if connection.execute(statement).fetchone() is None
        }


def _named(tables: dict[str, dict[str, str]]) -> dict[str, str]:
    return {
        f"{table}.{column}": reason
        for table, reasons in tables.items()
        for reason, columns in reasons.items()
        for column in columns.split()
    }


# Rows of these are their keys alone.
OF_FILES = _named(_COLUMNS) | {"document_link.*": _GIVEN, "sqlite_sequence.seq": _ROW}
BY_SQL = OF_FILES | _named(_INDEXED)
