"""Fingerprints, in the tail and in pages, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
)
from sqlalchemy.event import listens_for
from sqlalchemy.types import TypeEngine

from simstore.storage.tables.base import BIG, metadata


@dataclass(frozen=True, slots=True)
class FingerprintTables:
    """The tables of one fingerprint width.

    Attributes:
        tail: One row a distinct fingerprint that is in no page, with its segment columns.
        kept: The same columns of each packed fingerprint, where the store keeps them.
        links: Which document has which fingerprint.
        segments: Number of segment columns.
    """

    tail: Table
    kept: Table
    links: Table
    segments: int


def _fingerprint_tables(
    suffix: str, value: TypeEngine[int] | TypeEngine[bytes], segments: int
) -> FingerprintTables:
    tail = _rows_table(f"fingerprint_{suffix}", value, segments)
    # By segment first: found without a word about the generation, too.
    kept = _rows_table(f"packed_fingerprint_{suffix}", value, segments, by_segment=True)
    links = Table(
        f"document_fingerprint_{suffix}",
        metadata,
        Column("generation_id", Integer, primary_key=True, autoincrement=False),
        Column("document_id", BIG, primary_key=True, autoincrement=False),
        Column("value", value, nullable=False),
        Index(f"ix_document_fingerprint_{suffix}_value", "generation_id", "value"),
        sqlite_with_rowid=False,
    )
    return FingerprintTables(tail, kept, links, segments)


def _rows_table(
    name: str,
    value: TypeEngine[int] | TypeEngine[bytes],
    segments: int,
    *,
    by_segment: bool = False,
) -> Table:
    """Return a table of fingerprints with a column and an index for each segment."""
    table = Table(
        name,
        metadata,
        Column("generation_id", Integer, primary_key=True, autoincrement=False),
        Column("value", value, primary_key=True, autoincrement=False),
        *(Column(f"s{i}", Integer) for i in range(segments)),
        sqlite_with_rowid=False,
    )
    for i in range(segments):
        column = table.c[f"s{i}"]
        Index(
            f"ix_{name}_s{i}",
            *((column, table.c.generation_id) if by_segment else (table.c.generation_id, column)),
            sqlite_where=column.is_not(None),
        )
    return table


_NARROW = _fingerprint_tables("64", BIG, 4)
_WIDE = _fingerprint_tables("128", LargeBinary(16), 8)
FAMILIES = (_NARROW, _WIDE)


@listens_for(metadata, "before_create")
def _for_postgresql(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    """Say of the segment indexes what PostgreSQL knows besides; its dialect is slow to import."""
    if connection.dialect.name != "postgresql":
        return
    for family in FAMILIES:
        for index in family.tail.indexes | family.kept.indexes:
            index.dialect_kwargs["postgresql_where"] = index.dialect_kwargs["sqlite_where"]
            index.dialect_kwargs["postgresql_include"] = ["value"]


def fingerprint_tables(bits: int) -> FingerprintTables:
    """Return the tables that hold fingerprints of M bits."""
    return _NARROW if bits <= 64 else _WIDE


# Fingerprints of 64 and 128 bits, packed by the value of each of their segments.
fingerprint_page = Table(
    "fingerprint_page",
    metadata,
    # storage.segment_pages.page_key: generation, segment, value.
    Column("page", BIG, primary_key=True, autoincrement=False),
    Column("records", LargeBinary, nullable=False),  # search.pages
)
