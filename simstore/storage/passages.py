"""Read and write the passage index: settings, entries of documents, look-ups of n-grams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import counted
from simstore.fingerprint.passage_recipe import IndexedText
from simstore.index.pages import DamagedPage, Entries
from simstore.index.passages import (
    PASSAGES,
    keys_of,
    pack_entries,
    pack_spans,
    postings_of,
    unpack_entries,
    unpack_spans,
)
from simstore.index.postings import Keep, PostingIndex
from simstore.storage import index_pages, sql, tables
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

# Texts from which on the tail becomes a run. It is read whole by each look-up.
TAIL_TEXTS = 64
_OUR_RUNS = f"index_run WHERE kind = '{PASSAGES.name}'"
# Texts that come together and have so many postings for each of those are a run at once.
_POSTINGS_EACH = 64


@dataclass(frozen=True, slots=True)
class AnchorPostings:
    """Postings that were found by their hashes; arrays of one length.

    Attributes:
        hashes: uint64.
        documents: The document that has it; int64.
        starts: First character of the anchor, passage or sentence in the document's text; int64.
        lengths: Its characters, or what stands around it; int64.
    """

    hashes: NDArray[np.uint64]
    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hashes)

    def of(self, chosen: NDArray[Any] | slice) -> AnchorPostings:
        """Return the postings that a mask, places or a slice select."""
        return AnchorPostings(
            self.hashes[chosen],
            self.documents[chosen],
            self.starts[chosen],
            self.lengths[chosen],
        )


def runs_of(connection: Connection) -> PostingIndex:
    """Return the postings that are in runs.

    Raises:
        CorruptStore: There is not one index.
    """
    rows = fetch(connection, "SELECT index_id FROM passage_index")
    if len(rows) != 1:
        raise corrupt(connection, f"there are {len(rows)} passage indexes, not one")
    return index_pages.stored_index(connection, PASSAGES, rows[0][0])


def tail(connection: Connection, last: int) -> Entries:
    """Return the postings of texts that are in no run.

    Args:
        connection: A snapshot.
        last: The largest number of a text that is in a run.

    Raises:
        CorruptStore: They are damaged.
    """
    rows = fetch(
        connection,
        "SELECT entry_id, postings FROM passage_entry "
        "WHERE entry_id > ? AND postings IS NOT NULL ORDER BY entry_id",
        last,
    )
    try:
        return unpack_entries([row[0] for row in rows], [row[1] for row in rows])
    except DamagedPage as error:
        raise corrupt(connection, f"the postings of the text {error.place} are damaged") from error


def count_held_twice(connection: Connection, last: int) -> int:
    """Return how many texts have postings beside those of a run."""
    held = f"passage_entry WHERE entry_id <= {int(last)} AND postings IS NOT NULL"
    return count_of(connection, "count(*)", held)


def put_many(connection: Connection, texts: Sequence[tuple[int, IndexedText]]) -> None:
    """Give documents that have none their entries: (document, what the index keeps of its text)."""
    if not texts:
        return
    index = runs_of(connection)
    numbers = next_numbers(connection, "passage_entry", "entry_id", len(texts))
    made = [text for _, text in texts]
    added = sum(len(text.hashes) for text in made)
    is_run = numbers[-1] - index.last >= TAIL_TEXTS or added >= TAIL_TEXTS * _POSTINGS_EACH
    insert_rows(
        connection,
        tables.passage_entry,
        (
            "entry_id", "document_id", "passage_count", "posting_count", "term_count", "spans",
            "postings",
        ),
        [
            (
                number,
                document_id,
                len(text.spans),
                len(text.hashes),
                text.term_count,
                pack_spans(text.spans, text.words),
                None if is_run else pack_entries(text),
            )
            for number, (document_id, text) in zip(numbers, texts, strict=True)
        ],
    )  # fmt: skip
    if is_run:
        _add_run(connection, index, postings_of(numbers, made), numbers[-1])


def _add_run(connection: Connection, index: PostingIndex, more: Entries, last: int) -> None:
    """Make a run of the tail and of more."""
    entries = Entries.joined((tail(connection, index.last), more))
    if len(entries.keys):
        execute(
            connection,
            "UPDATE passage_entry SET postings = NULL WHERE entry_id > ? AND postings IS NOT NULL",
            index.last,
        )
        index.add(entries, last, _living(connection, last))


def merge_all(connection: Connection) -> None:
    """Put all postings into one run, without those of texts that are gone."""
    index = runs_of(connection)
    last = count_of(connection, "max(entry_id)", "passage_entry")
    _add_run(connection, index, Entries.none(PASSAGES.value_count), last)
    entered = count_of(connection, "sum(posting_count)", "passage_entry")
    if entered and not index.runs:
        raise corrupt(connection, f"{counted(entered, 'posting')} of the passage index gone")
    if not entered:
        _drop_runs(connection)
    elif len(index.runs) > 1 or index.count != entered:
        index.merge(keep=_living(connection, index.last))


def _living(connection: Connection, last: int) -> Keep:
    """Return a function that says which postings are of texts that are there.

    Args:
        connection: A writer.
        last: The largest number of a text that is in a run.
    """
    unknown, there, gone = range(3)
    states = np.full(last + 2, unknown, np.uint8)
    states[-1] = gone

    def keep(entries: Entries) -> NDArray[np.bool_]:
        numbers = np.minimum(entries.values[:, 0], np.uint64(last + 1)).astype(np.int64)
        asked = np.unique(numbers[states[numbers] == unknown])
        states[asked] = np.where(_documents_of(connection, asked) < 0, gone, there)
        is_there: NDArray[np.bool_] = states[numbers] == there
        return is_there

    return keep


def _documents_of(connection: Connection, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the document of each entry, -1 where it is gone."""
    distinct, places = np.unique(entries, return_inverse=True)
    statement = "SELECT entry_id, document_id FROM passage_entry WHERE entry_id IN ({})"
    rows = np.array(list(select_in(connection, statement, distinct.tolist())), np.int64)
    found = np.full(len(distinct), -1, np.int64)
    if len(rows):
        found[np.searchsorted(distinct, rows[:, 0])] = rows[:, 1]
    return found[places]


def drop_many(connection: Connection, document_ids: Sequence[int]) -> None:
    """Delete the entries of documents; their postings in runs are of no account any more."""
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
) -> AnchorPostings:
    """Return the postings of hashes, by hash, document and place.

    Args:
        connection: A snapshot.
        hashes: Hashes of anchors, segments or terms, in any order.
        most: Hashes with more postings of stored texts are left out; None: none are.

    Raises:
        CorruptStore: A page is damaged.
    """
    wanted = np.unique(hashes)
    index = runs_of(connection)
    found = index.look_up(
        keys_of(wanted),
        most=most,
        keep=None if most is None else partial(_are_of_documents, connection),
        tail=tail(connection, index.last),
    )
    entries, starts, lengths = found.entries.values.T.astype(np.int64)
    documents = _documents_of(connection, entries)
    order = np.lexsort((starts, documents, found.turns))
    order = order[documents[order] >= 0]
    return AnchorPostings(
        wanted[found.turns[order]], documents[order], starts[order], lengths[order]
    )


def _are_of_documents(connection: Connection, entries: Entries) -> NDArray[np.bool_]:
    """Return which postings are of texts that are still stored."""
    return _documents_of(connection, entries.values[:, 0].astype(np.int64)) >= 0


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
            number: unpack_spans(blob)
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
        unpacked_count: Postings that are in no run.
        run_count: Runs that a look-up reads.
        stored_bytes: Bytes of spans, tail and pages, without the tables' own; None: not counted.
    """

    entry_count: int
    passage_count: int
    posting_count: int
    term_count: int
    stored_count: int
    unpacked_count: int
    run_count: int
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
            "created_at": created_at,
        },
    )


def complete(connection: Connection) -> None:
    """Record that every document has its entry."""
    execute(connection, "UPDATE passage_index SET status = 'standing'")


def drop(connection: Connection) -> None:
    """Delete the index with all that is in it."""
    _drop_runs(connection)
    for table in (tables.passage_entry, tables.passage_index):
        connection.execute(sql.delete(table))


def _drop_runs(connection: Connection) -> None:
    statement = "SELECT DISTINCT owner FROM index_run WHERE kind = ?"
    for (owner,) in fetch(connection, statement, PASSAGES.name):
        index_pages.drop(connection, PASSAGES.name, owner)


def leftovers(connection: Connection) -> list[str]:
    """Return which tables of the index hold something, to be asked where there is no index."""
    of_index = {"passage_entry": "passage_entry", "index_run": _OUR_RUNS}
    return [name for name, rows in of_index.items() if count_of(connection, "count(*)", rows)]


def size(connection: Connection, *, sizes: bool = True) -> IndexSize:
    """Return the counts and sizes of the index.

    Args:
        connection: A snapshot.
        sizes: Count its bytes, too: all of it is read.
    """
    unpacked = count_of(
        connection, "sum(posting_count)", "passage_entry WHERE postings IS NOT NULL"
    )
    packed = count_of(connection, "sum(entry_count)", _OUR_RUNS)
    return IndexSize(
        entry_count=count_of(connection, "count(*)", "passage_entry"),
        passage_count=count_of(connection, "sum(passage_count)", "passage_entry"),
        posting_count=count_of(connection, "sum(posting_count)", "passage_entry"),
        term_count=count_of(connection, "sum(term_count)", "passage_entry"),
        stored_count=unpacked + packed,
        unpacked_count=unpacked,
        run_count=count_of(connection, "count(*)", _OUR_RUNS),
        stored_bytes=_stored_bytes(connection) if sizes else None,
    )


def _stored_bytes(connection: Connection) -> int:
    of_texts = "sum(length(spans) + coalesce(length(postings), 0))"
    statement = "SELECT DISTINCT owner FROM index_run WHERE kind = ?"
    owners = [row[0] for row in fetch(connection, statement, PASSAGES.name)]
    return count_of(connection, of_texts, "passage_entry") + sum(
        index_pages.stored_bytes(connection, PASSAGES.name, owner) for owner in owners
    )


def count_of(connection: Connection, what: str, where: str) -> int:
    """Return an SQL sum or count over rows, 0 where there are none."""
    statement = f"SELECT coalesce({what}, 0) FROM {where}"  # noqa: S608 - our own words
    return int(fetch(connection, statement)[0][0])
