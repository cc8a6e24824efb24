"""Check the integrity of the fingerprint index (its packed pages) and of the passage index.

The pages of every segment hold the same fingerprints, in order, counted. Each document's entry in
the passage index is that of its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore, counted
from simstore.fingerprint.passage_recipe import IndexedText
from simstore.index.passages import postings_of
from simstore.index.segments import segment_columns
from simstore.index.sums import EntrySums, sums_of
from simstore.model import Finding
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import index_pages, passages
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import packed, packed_columns, tail
from simstore.storage.generations import GenerationRow
from simstore.text.decoding import exact_text
from simstore.text.tokens import GAMMA, mix

# Columns of packed fingerprints that are read at a time.
_COLUMN_ROWS = 65_536
_KEEP = "simstore compact --keep-columns"
_DROP = "simstore compact --drop-columns"


@dataclass(frozen=True, slots=True)
class _Digest:
    """A checksum of a set of fingerprints: its size and two sums that no order changes."""

    size: int = 0
    total: int = 0
    mixed: int = 0

    def with_words(self, words: NDArray[np.uint64]) -> _Digest:
        folded = words[:, 0] if words.shape[1] == 1 else words[:, 0] ^ mix(words[:, 1] + GAMMA)
        return _Digest(
            self.size + len(words),
            (self.total + int(folded.sum(dtype=np.uint64))) % (1 << 64),
            (self.mixed + int(mix(folded + GAMMA).sum(dtype=np.uint64))) % (1 << 64),
        )


def check_rows(connection: Connection) -> Iterator[Finding]:
    """Yield rows of the posting indexes that are of no run."""
    strays = index_pages.stray_rows(connection)
    if strays:
        yield Finding("pages", f"{counted(strays, 'row')} of no run", "run `simstore compact`")


def check_pages(
    connection: Connection, bits: int, row: GenerationRow, remedy: str
) -> Iterator[Finding]:
    """Yield the errors in the index pages of the current generation, and in its counts.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        row: The standing generation.
        remedy: What makes fingerprints and pages anew.
    """
    in_tail = tail.count(connection, bits, row.generation_id)
    if in_tail + row.packed_count != row.fingerprint_count:
        yield Finding(
            "fingerprint",
            f"{in_tail + row.packed_count} are held, {row.fingerprint_count} counted",
            remedy,
        )
    are_kept = packed_columns.are_kept(connection)
    if not (are_kept and row.packed_count) and packed_columns.count(
        connection, bits, row.generation_id
    ):
        yield Finding(
            "columns",
            "there are some of packed fingerprints, and there should be none",
            _KEEP if are_kept else _DROP,
        )
    if not packed.is_packable(bits):
        return
    runs = packed.runs_of(connection, bits, row.generation_id)
    try:
        for problem in runs.check():
            yield Finding("pages", problem, remedy)
        digest = _Digest()
        for words in packed.scan(connection, bits, row.generation_id):
            digest = digest.with_words(words)
    except CorruptStore as error:
        yield Finding("pages", error.reason, remedy)
        return
    if digest.size != row.packed_count:
        yield Finding("pages", f"{digest.size} packed, {row.packed_count} counted", remedy)
    if are_kept and row.packed_count:
        yield from _check_columns(connection, bits, row, digest)
    twice = 0
    for words in tail.scan(connection, bits, row.generation_id):
        twice += int(packed.among(connection, bits, row.generation_id, words).sum())
    if twice:
        yield Finding(
            "pages", f"{counted(twice, 'fingerprint')} packed and in the tail too", remedy
        )


def _check_columns(
    connection: Connection, bits: int, row: GenerationRow, packed: _Digest
) -> Iterator[Finding]:
    """Yield what is wrong with the columns that are kept of packed fingerprints."""
    digest, wrong = _Digest(), 0
    for words, columns in packed_columns.scan(connection, bits, row.generation_id, _COLUMN_ROWS):
        digest = digest.with_words(words)
        expected = segment_columns(words, bits).tolist()
        wrong += sum(list(found) != right for found, right in zip(columns, expected, strict=True))
    if digest != packed:
        yield Finding(
            "columns", f"{digest.size} fingerprints, other than the {packed.size} packed", _KEEP
        )
    if wrong:
        yield Finding(
            "columns", f"{counted(wrong, 'packed fingerprint')} with other segments", _KEEP
        )


_REBUILD = "run `simstore compact --drop-passages` and `simstore passages build`"
_RESTORE = "restore a copy made by `simstore backup`"
_REINGEST = "run `simstore compact --drop-passages`, and ingest the sources into a new store"


def check_passages(
    snapshot: Snapshot, batches: Iterable[tuple[list[int], Mapping[int, bytes]]]
) -> Iterator[Finding]:
    """Yield the errors in the passage index.

    Postings of texts that are gone may be there: their numbers are never given out again.

    Args:
        snapshot: The store in a read transaction.
        batches: All documents in batches, with the texts that can be read.
    """
    connection = snapshot.connection
    recipe = snapshot.passages
    if recipe is None:
        for name in passages.leftovers(connection):
            yield Finding("passages", f"{name} has rows, and there is no index", _RESTORE)
        return
    remedy = _REBUILD if snapshot.settings.text_kept else _REINGEST
    try:
        index = passages.runs_of(connection)
        for problem in index.check():
            yield Finding("passages", problem, remedy)
        held = sums_of(index)
        held.add(passages.tail(connection, index.last))
        twice = passages.count_held_twice(connection, index.last)
    except CorruptStore as error:
        yield Finding("passages", error.reason, remedy)
        return
    if twice:
        yield Finding("passages", f"{counted(twice, 'text')} in a run and beside it", remedy)
    entry_count = 0
    for batch, texts in batches:
        entries = passages.entries_of(connection, batch)
        entry_count += len(entries)
        if len(entries) < len(batch) and snapshot.settings.passages_complete:
            missing = counted(len(batch) - len(entries), "document has", "documents have")
            yield Finding("passages", f"{missing} none", remedy)
        try:
            held_passages = passages.passages_of(connection, list(entries))
        except CorruptStore as error:
            yield Finding("passages", error.reason, remedy)
            continue
        for number, (entry, passage_count, posting_count, term_count) in entries.items():
            wrong = None
            spans, words = held_passages[number]
            count, total = held.of(entry)
            if len(spans) != passage_count:
                wrong = f"{counted(len(spans), 'passage')}, not {passage_count}"
            elif count != posting_count:
                wrong = f"{counted(count, 'posting')}, not {posting_count}"
            elif number in texts:
                made = recipe.index(exact_text(texts[number]))
                if not np.array_equal(made.spans, spans):
                    wrong = "its passages are not those of its text"
                elif not np.array_equal(made.words, words):
                    wrong = "its fingerprints are not those of its text"
                elif _sum_of(made) != (count, total):
                    wrong = "its postings are not those of its text"
                elif made.term_count != term_count:
                    wrong = f"{term_count} terms of sentences, not {made.term_count}"
            if wrong is not None:
                yield Finding("passages", f"document {number}: {wrong}", remedy)
    stray_count = passages.size(connection).entry_count - entry_count
    if stray_count:
        yield Finding("passages", f"{stray_count} of documents that are gone", remedy)


def _sum_of(text: IndexedText) -> tuple[int, int]:
    sums = EntrySums()
    sums.add(postings_of([0], [text]))
    return sums.of(0)
