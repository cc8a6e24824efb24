"""Look up many fingerprints at once: each page that any of them needs is read once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import word_count
from simstore.search.hamming import BatchResults, verify
from simstore.search.pages import leading_values, restored, rotated
from simstore.search.segments import SEGMENT_BITS, probe_values
from simstore.search.sorted_tables import GrowingTables, SortedTables
from simstore.search.table_lookup import expanded
from simstore.storage import segment_pages, tail
from simstore.storage.engine import Connection
from simstore.storage.generations import GenerationRow


def near_many(
    connection: Connection,
    bits: int,
    row: GenerationRow,
    queries: NDArray[np.uint64],
    radius: int,
    thresholds: tuple[int, ...],
    *,
    tail_tables: GrowingTables | None = None,
) -> BatchResults:
    """Return the fingerprints of a generation within a radius of each of many.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        row: The generation.
        queries: Shape (m, ceil(M / 64)).
        radius: Largest distance, in bits, inclusive.
        thresholds: Bits to flip in each segment, as a plan for this radius has them.
        tail_tables: What the tail holds; matches may be among them that have left it. None: it is
            read.

    Returns:
        Ascending by query, then distance, then fingerprint.

    Raises:
        CorruptStore: A page is damaged.
    """
    rows = [np.empty(0, np.int64)]
    words = [np.empty((0, word_count(bits)), np.uint64)]
    if row.packed_count:
        for segment, threshold in enumerate(thresholds):
            if threshold >= 0:
                _in_pages(
                    connection,
                    bits,
                    row,
                    queries,
                    radius,
                    segment=segment,
                    threshold=threshold,
                    rows=rows,
                    words=words,
                )
    if tail_tables is not None:
        held_rows, held_words = tail_tables.near_many(queries, radius)
        rows.append(held_rows)
        words.append(held_words)
    elif tail.can_find_near(connection, bits):
        held_rows, held_words = tail.near(
            connection, bits, row.generation_id, queries, radius, thresholds
        )
        rows.append(held_rows)
        words.append(held_words)
    elif row.fingerprint_count > row.packed_count:
        held = np.concatenate([words[0], *tail.scan(connection, bits, row.generation_id)])
        found = SortedTables(held, bits).near_many(queries, radius)
        rows.append(found.query_rows)
        words.append(found.words)
    return _verified(queries, np.concatenate(rows), np.concatenate(words), radius)


def _in_pages(
    connection: Connection,
    bits: int,
    row: GenerationRow,
    queries: NDArray[np.uint64],
    radius: int,
    segment: int,
    threshold: int,
    rows: list[NDArray[np.int64]],
    words: list[NDArray[np.uint64]],
) -> None:
    """Add what is near in the pages of one segment to the rows and words found so far."""
    turned = rotated(queries, segment)
    leads = leading_values(turned)
    for mask in probe_values(0, SEGMENT_BITS, threshold):
        values = leads ^ mask
        order = np.argsort(values, kind="stable")
        values = values[order]
        for start, end, held in segment_pages.read_for(
            connection, bits, row.generation_id, segment, values
        ):
            wanted = values[start:end]
            held_leads = leading_values(held)
            begins = np.searchsorted(held_leads, wanted, "left")
            ends = np.searchsorted(held_leads, wanted, "right")
            for turns, places in expanded(begins, ends - begins):
                asked = order[start + turns]
                near, _ = verify(held[places], turned[asked], radius)
                rows.append(asked[near])
                words.append(restored(held[places[near]], segment))


def _verified(
    queries: NDArray[np.uint64],
    rows: NDArray[np.int64],
    words: NDArray[np.uint64],
    radius: int,
) -> BatchResults:
    """Return the matches, each once, in order."""
    near, distances = verify(words, queries[rows], radius)
    rows, words = rows[near], words[near]
    order = np.lexsort((*words.T[::-1], distances, rows))
    rows, words, distances = rows[order], words[order], distances[order]
    fresh = np.ones(len(rows), bool)
    fresh[1:] = (rows[1:] != rows[:-1]) | (words[1:] != words[:-1]).any(axis=1)
    return BatchResults(rows[fresh], words[fresh], distances[fresh])
