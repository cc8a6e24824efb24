"""Read and write the passage index: settings, entries of documents, look-ups of n-grams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import counted
from simstore.fingerprint.passage_recipe import IndexedText
from simstore.search.anchor_pages import (
    Posting,
    Postings,
    pack_document,
    pack_spans,
    unpack_document,
    unpack_spans,
    unpack_words,
)
from simstore.storage import anchor_segments, sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt, json_of
from simstore.storage.rows import (
    change_in,
    execute,
    fetch,
    insert_rows,
    next_numbers,
    select_in,
)

# Postings from which on the tail becomes a segment. It is read whole by each look-up.
TAIL_POSTINGS = 1 << 17
_TAIL = "SELECT entry_id, postings FROM anchor_tail"


@dataclass(frozen=True, slots=True)
class FoundAnchors:
    """Anchors that were looked up, by hash, document and offset; shape (found,).

    Attributes:
        hashes: Hash of each; uint64.
        document_ids: Where it is; int64.
        starts: First code point; int32.
        lengths: Code points, 65,535 where there are more; int32.
    """

    hashes: NDArray[np.uint64]
    document_ids: NDArray[np.int64]
    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.hashes)


def put_many(connection: Connection, texts: Sequence[tuple[int, IndexedText]]) -> None:
    """Give documents that have none their entries: (document, what the index keeps of its text)."""
    if not texts:
        return
    numbers = next_numbers(connection, "passage_entry", "entry_id", len(texts))
    insert_rows(
        connection,
        tables.passage_entry,
        ("entry_id", "document_id", "passage_count", "posting_count", "term_count", "spans"),
        [
            (
                number,
                document_id,
                len(text.spans),
                len(text.hashes),
                text.term_count,
                pack_spans(text.spans, text.words),
            )
            for number, (document_id, text) in zip(numbers, texts, strict=True)
        ],
    )
    made = [
        _postings(number, text)
        for number, (_, text) in zip(numbers, texts, strict=True)
        if len(text.hashes)
    ]
    added = sum(map(len, made))
    counted = fetch(connection, "SELECT tail_count FROM passage_index")
    if len(counted) != 1:
        raise corrupt(connection, f"there are {len(counted)} passage indexes, not one")
    if counted[0][0] + added >= TAIL_POSTINGS:
        pack_tail(connection, made)
        return
    insert_rows(
        connection,
        tables.anchor_tail,
        ("entry_id", "postings"),
        [(int(one["entry"][0]), pack_document(one)) for one in made],
    )
    execute(connection, "UPDATE passage_index SET tail_count = tail_count + ?", added)


def pack_tail(connection: Connection, more: Sequence[Postings] = ()) -> None:
    """Put the postings of the tail, and more, into a segment."""
    gathered = np.concatenate([*tail(connection), *more, _NONE])
    # Before the pages are written, which take its room.
    connection.execute(sql.delete(tables.anchor_tail))
    anchor_segments.add(connection, gathered)
    execute(connection, "UPDATE passage_index SET tail_count = 0")


def merge_all(connection: Connection) -> None:
    """Put all postings into one segment, without those of texts that are gone."""
    pack_tail(connection)
    found = anchor_segments.segments(connection)
    stored = sum(one.posting_count for one in found)
    entered = count_of(connection, "sum(posting_count)", "passage_entry")
    if entered and not found:
        raise corrupt(connection, f"{counted(entered, 'posting')} of the passage index gone")
    if len(found) > 1 or stored != entered:
        level = max(one.level for one in found)
        anchor_segments.merge(connection, found, level)


def drop_many(connection: Connection, document_ids: Sequence[int]) -> None:
    """Delete the entries of documents; their postings in pages are of no account any more."""
    statement = "DELETE FROM passage_entry WHERE document_id IN ({})"
    change_in(connection, statement, document_ids)


def without_entry(connection: Connection, after: int, limit: int) -> list[int]:
    """Return documents above a number that have no entry, ascending, at most ``limit``."""
    rows = fetch(
        connection,
        "SELECT document_id FROM document WHERE document_id > ? AND NOT EXISTS (SELECT 1 FROM "
        "passage_entry WHERE passage_entry.document_id = document.document_id) "
        "ORDER BY document_id LIMIT ?",
        after,
        limit,
    )
    return [row[0] for row in rows]


def postings(
    connection: Connection, hashes: NDArray[np.uint64], most: int | None = None
) -> FoundAnchors:
    """Return the postings of anchors.

    Args:
        connection: A snapshot.
        hashes: Their hashes, in any order.
        most: Hashes with more postings are left out; None: none are.

    Raises:
        CorruptStore: A page is damaged.
    """
    wanted = np.unique(hashes)
    parts = [_tail_among(connection, wanted)]
    crowded: list[tuple[anchor_segments.Segment, NDArray[np.uint64]]] = []
    for segment in anchor_segments.segments(connection):
        found, own = anchor_segments.look_up(connection, segment, wanted)
        parts.append(found)
        crowded.append((segment, own))
    if most is not None:
        wanted = wanted[_counts(connection, wanted, parts, crowded) <= most]
        parts = [part[anchor_segments.among(part["hash"], wanted)] for part in parts]
    for segment, own in crowded:
        searched = np.intersect1d(own, wanted)
        if len(searched):
            parts.append(anchor_segments.crowded_postings(connection, segment, searched))
    both = np.concatenate(parts)
    document_ids = anchor_segments.documents_of(connection, both["entry"])
    both, document_ids = both[document_ids >= 0], document_ids[document_ids >= 0]
    order = np.lexsort((both["start"], document_ids, both["hash"]))
    both = both[order]
    return FoundAnchors(
        both["hash"].copy(), document_ids[order], both["start"].copy(), both["length"].copy()
    )


def counts(connection: Connection, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many postings each hash has, those of texts that are gone too.

    Args:
        connection: A snapshot.
        hashes: In any order; shape (n,).

    Returns:
        Shape (n,).
    """
    wanted, places = np.unique(hashes, return_inverse=True)
    parts = [_tail_among(connection, wanted)]
    crowded = []
    for segment in anchor_segments.segments(connection):
        found, own = anchor_segments.look_up(connection, segment, wanted)
        parts.append(found)
        crowded.append((segment, own))
    return _counts(connection, wanted, parts, crowded)[places]


def spans_of(connection: Connection, document_ids: Sequence[int]) -> dict[int, NDArray[np.int32]]:
    """Return the passages of documents that have an entry, each of shape (n, 2).

    Raises:
        CorruptStore: They are damaged.
    """
    return {number: spans for number, (spans, _) in passages_of(connection, document_ids).items()}


def passages_of(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, tuple[NDArray[np.int32], NDArray[np.uint64]]]:
    """Return spans (n, 2) and fingerprints (n,) of the passages of documents.

    Raises:
        CorruptStore: They are damaged.
    """
    statement = "SELECT document_id, spans FROM passage_entry WHERE document_id IN ({})"
    try:
        return {
            number: (unpack_spans(blob), unpack_words(blob))
            for number, blob in select_in(connection, statement, list(document_ids))
        }
    except ValueError as error:
        raise corrupt(connection, error) from error


def entries_of(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, tuple[int, int, int, int]]:
    """Return entry, passages, postings and terms of sentences of documents that have an entry."""
    statement = (
        "SELECT document_id, entry_id, passage_count, posting_count, term_count FROM passage_entry "
        "WHERE document_id IN ({})"
    )
    return {row[0]: row[1:] for row in select_in(connection, statement, document_ids)}


def tail(connection: Connection) -> Iterator[Postings]:
    """Yield the postings of each entry in the tail.

    Raises:
        CorruptStore: They are damaged.
    """
    for entry_id, blob in fetch(connection, _TAIL):
        try:
            yield unpack_document(entry_id, blob)
        except ValueError as error:
            raise corrupt(connection, error) from error


_NONE = np.empty(0, Posting)


def _tail_among(connection: Connection, wanted: NDArray[np.uint64]) -> Postings:
    found = np.concatenate([*tail(connection), _NONE])
    return found[anchor_segments.among(found["hash"], wanted)]


def _counts(
    connection: Connection,
    wanted: NDArray[np.uint64],
    parts: Sequence[Postings],
    crowded: Sequence[tuple[anchor_segments.Segment, NDArray[np.uint64]]],
) -> NDArray[np.int64]:
    """Return the postings of each wanted hash: those that were read, and those in own pages."""
    found = np.zeros(len(wanted), np.int64)
    for part in parts:
        found += np.bincount(np.searchsorted(wanted, part["hash"]), minlength=len(wanted))
    for segment, own in crowded:
        if len(own):
            more = anchor_segments.crowded_counts(connection, segment, own)
            found[np.searchsorted(wanted, own)] += more
    return found


def _postings(entry: int, text: IndexedText) -> Postings:
    made = np.empty(len(text.hashes), Posting)
    made["hash"], made["entry"] = text.hashes, entry
    made["start"], made["length"] = text.starts, text.lengths
    return made


@dataclass(frozen=True, slots=True)
class IndexRow:
    """The settings row of the passage index.

    Attributes:
        complete: Every document has its entry; else it is being built.
        recipe: ``PassageRecipe.record()``.
    """

    index_id: int
    complete: bool
    recipe: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSize:
    """The counts and sizes of an index.

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
        sql.insert(tables.passage_index),
        {
            "status": "building",
            "recipe": dict(recipe),
            "tail_count": 0,
            "created_at": created_at,
        },
    )


def complete(connection: Connection) -> None:
    """Record that every document has its entry."""
    execute(connection, "UPDATE passage_index SET status = 'standing'")


def drop(connection: Connection) -> None:
    """Delete the index with all that is in it."""
    for table in (
        tables.anchor_page,
        tables.anchor_segment,
        tables.anchor_tail,
        tables.passage_entry,
        tables.passage_index,
    ):
        connection.execute(sql.delete(table))


def leftovers(connection: Connection) -> list[str]:
    """Return which tables of the index hold something, to be asked where there is no index."""
    of_index = (tables.passage_entry, tables.anchor_tail, tables.anchor_segment, tables.anchor_page)
    return [one.name for one in of_index if count_of(connection, "count(*)", one.name)]


def size(connection: Connection, *, sizes: bool = True) -> IndexSize:
    """Return the counts and sizes of the index.

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
    """Return an SQL sum or count over rows, 0 where there are none."""
    statement = f"SELECT coalesce({what}, 0) FROM {where}"  # noqa: S608 - our own words
    return int(fetch(connection, statement)[0][0])
