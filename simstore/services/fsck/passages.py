"""Check the passage index: each document's entry is that of its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.passage_recipe import IndexedText
from simstore.model import Finding
from simstore.search.anchor_pages import Postings
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import anchor_segments, passages
from simstore.storage.engine import Connection
from simstore.text.decoding import exact_text
from simstore.text.mixing import GAMMA, mix

_REMEDY = "run `simstore passages drop` and `simstore passages build`"
_RESTORE = "restore a copy made by `simstore backup`"
_REINGEST = "run `simstore passages drop`, and ingest the sources into a new store"


def check_passages(
    snapshot: Snapshot, batches: Iterable[tuple[list[int], Mapping[int, bytes]]]
) -> Iterator[Finding]:
    """Yield what is wrong with the passage index.

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
    remedy = _REMEDY if snapshot.settings.text_kept else _REINGEST
    try:
        held = _held_sums(connection)
    except CorruptStore as error:
        yield Finding("passages", error.reason, remedy)
        return
    index_count = passages.count_of(connection, "count(*)", "passage_index")
    if index_count != 1:
        yield Finding("passages", f"there are {index_count} indexes, not one", remedy)
    for number, found, counted in held.miscounted:
        detail = f"segment {number} of anchors: {found} postings, {counted} counted"
        yield Finding("passages", detail, remedy)
    entry_count = 0
    for batch, texts in batches:
        entries = passages.entries_of(connection, batch)
        entry_count += len(entries)
        if len(entries) < len(batch) and snapshot.settings.passages_complete:
            yield Finding("passages", f"{len(batch) - len(entries)} documents have none", remedy)
        try:
            held_passages = passages.passages_of(connection, list(entries))
        except CorruptStore as error:
            yield Finding("passages", error.reason, remedy)
            continue
        for number, (entry, passage_count, posting_count, term_count) in entries.items():
            problem = None
            spans, words = held_passages[number]
            count, total = held.of(entry)
            if len(spans) != passage_count:
                problem = f"{len(spans)} passages, not {passage_count}"
            elif count != posting_count:
                problem = f"{count} postings, not {posting_count}"
            elif number in texts:
                made = recipe.index(exact_text(texts[number]))
                if not np.array_equal(made.spans, spans):
                    problem = "its passages are not those of its text"
                elif not np.array_equal(made.words, words):
                    problem = "its fingerprints are not those of its text"
                elif (len(made.hashes), _sum_of(made)) != (count, total):
                    problem = "its postings are not those of its text"
                elif made.term_count != term_count:
                    problem = f"{term_count} terms of sentences, not {made.term_count}"
            if problem is not None:
                yield Finding("passages", f"document {number}: {problem}", remedy)
    if held.strays:
        yield Finding("passages", f"{held.strays} pages are of no segment", remedy)
    stray_count = passages.size(connection).entry_count - entry_count
    if stray_count:
        yield Finding("passages", f"{stray_count} of documents that are gone", remedy)


class _Sums:
    """Counts and checksums of the postings of each entry; a checksum is a sum modulo 2**64.

    Attributes:
        strays: Pages that are of no segment.
        miscounted: Number of a segment, its postings, and how many it says it has.
    """

    def __init__(self) -> None:
        self.strays = 0
        self.miscounted: list[tuple[int, int, int]] = []
        self._found: dict[int, tuple[int, int]] = {}

    def add(self, postings: Postings) -> None:
        entries, places = np.unique(postings["entry"], return_inverse=True)
        sums = np.zeros(len(entries), np.uint64)
        np.add.at(sums, places, _said(postings["hash"], postings["start"], postings["length"]))
        counts = np.bincount(places, minlength=len(entries))
        for entry, count, total in zip(
            entries.tolist(), counts.tolist(), sums.tolist(), strict=True
        ):
            before = self._found.get(entry, (0, 0))
            self._found[entry] = before[0] + count, (before[1] + total) & (1 << 64) - 1

    def of(self, entry: int) -> tuple[int, int]:
        return self._found.get(entry, (0, 0))


def _held_sums(connection: Connection) -> _Sums:
    sums = _Sums()
    for postings in passages.tail(connection):
        sums.add(postings)
    for segment in anchor_segments.segments(connection):
        found = 0
        for postings in anchor_segments.scan(connection, segment):
            sums.add(postings)
            found += len(postings)
        if found != segment.posting_count:
            sums.miscounted.append((segment.segment_id, found, segment.posting_count))
    sums.strays = anchor_segments.stray_pages(connection)
    return sums


def _sum_of(text: IndexedText) -> int:
    said = _said(text.hashes, text.starts, text.lengths)
    return int(np.add.reduce(said)) if len(said) else 0


def _said(
    hashes: NDArray[np.uint64], starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> NDArray[np.uint64]:
    places = starts.astype(np.uint64) << np.uint64(20) | lengths.astype(np.uint64)
    return mix(hashes * GAMMA + mix(places))
