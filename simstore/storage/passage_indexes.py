"""The row of the passage index, and what the index holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert

from simstore.storage import anchor_segments
from simstore.storage.damage import json_of
from simstore.storage.rows import execute, fetch
from simstore.storage.schema import (
    anchor_page,
    anchor_segment,
    anchor_tail,
    passage_entry,
    passage_index,
)


@dataclass(frozen=True, slots=True)
class IndexRow:
    """The passage index.

    Attributes:
        complete: Every document has its entry; else it is being built.
        recipe: ``PassageRecipe.record()``.
    """

    index_id: int
    complete: bool
    recipe: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSize:
    """What an index holds.

    Attributes:
        entry_count: Documents that have an entry.
        passage_count: Their passages.
        posting_count: Their postings: anchors, segments of fingerprints, terms of sentences.
        term_count: Of those the terms of sentences.
        stored_count: Postings that are stored, those of texts that are gone too.
        unpacked_count: Postings that are in no page.
        segment_count: Segments that a look-up asks.
        stored_bytes: Bytes of spans, tail and pages, without the tables' own; None: not counted.
    """

    entry_count: int
    passage_count: int
    posting_count: int
    term_count: int
    stored_count: int
    unpacked_count: int
    segment_count: int
    stored_bytes: int | None


def index(connection: Connection) -> IndexRow | None:
    """Return the index; None where there is none."""
    for row in fetch(connection, "SELECT index_id, status, recipe FROM passage_index"):
        recipe = json_of(connection, row[2])
        return IndexRow(row[0], row[1] == "standing", recipe)
    return None


def begin(connection: Connection, recipe: Mapping[str, Any], created_at: int) -> None:
    """Write the row of an index that is to be built."""
    connection.execute(
        insert(passage_index),
        {
            "status": "building",
            "recipe": dict(recipe),
            "tail_count": 0,
            "created_at": created_at,
        },
    )


def complete(connection: Connection) -> None:
    """Say that every document has its entry."""
    execute(connection, "UPDATE passage_index SET status = 'standing'")


def drop(connection: Connection) -> None:
    """Delete the index with all that is in it."""
    for table in (anchor_page, anchor_segment, anchor_tail, passage_entry, passage_index):
        connection.execute(delete(table))


def leftovers(connection: Connection) -> list[str]:
    """Return which tables of the index hold something, to be asked where there is no index."""
    tables = (passage_entry, anchor_tail, anchor_segment, anchor_page)
    return [one.name for one in tables if count_of(connection, "count(*)", one.name)]


def size(connection: Connection, *, sizes: bool = True) -> IndexSize:
    """Return what the index holds.

    Args:
        connection: A snapshot.
        sizes: Count its bytes, too: all of it is read.
    """
    packed = anchor_segments.segments(connection)
    unpacked = count_of(
        connection,
        "sum(posting_count)",
        "passage_entry WHERE entry_id IN (SELECT entry_id FROM anchor_tail)",
    )
    return IndexSize(
        entry_count=count_of(connection, "count(*)", "passage_entry"),
        passage_count=count_of(connection, "sum(passage_count)", "passage_entry"),
        posting_count=count_of(connection, "sum(posting_count)", "passage_entry"),
        term_count=count_of(connection, "sum(term_count)", "passage_entry"),
        stored_count=unpacked + sum(one.posting_count for one in packed),
        unpacked_count=unpacked,
        segment_count=len(packed),
        stored_bytes=_stored_bytes(connection) if sizes else None,
    )


def _stored_bytes(connection: Connection) -> int:
    return (
        count_of(connection, "sum(length(spans))", "passage_entry")
        + count_of(connection, "sum(length(postings))", "anchor_tail")
        + anchor_segments.page_bytes(connection)
    )


def count_of(connection: Connection, what: str, where: str) -> int:
    """Return a sum or count of ours over rows of ours, 0 where there are none."""
    asked = f"SELECT coalesce({what}, 0) FROM {where}"  # noqa: S608 - our own words
    return int(fetch(connection, asked)[0][0])
