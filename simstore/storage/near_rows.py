"""Fingerprints of the tail near others, found by the server itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from simstore.search.segments import probe_values, segment_columns, segment_widths
from simstore.storage.dialects.connection import forms_of
from simstore.storage.tables import fingerprint_tables
from simstore.storage.tail import words_of

# What bit_count takes of a value that is no BLOB.
_MOST_BITS = 64
# Look-ups in a statement.
_PROBES = 65_536


def can_find(connection: Connection, bits: int) -> bool:
    """Return whether the database finds fingerprints of M bits by itself."""
    return forms_of(connection).searches and bits <= _MOST_BITS


def near(
    connection: Connection,
    bits: int,
    generation_id: int,
    queries: NDArray[np.uint64],
    radius: int,
    thresholds: tuple[int, ...],
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return fingerprints of the tail that share a probe with a query and are within a radius.

    The server counts the bits, so that few rows come back; who asks verifies them again. Each
    segment is looked up in its covering index.

    Args:
        connection: A snapshot, or a writer, for which :func:`can_find` is true.
        bits: Fingerprint length M, at most 64.
        generation_id: The generation.
        queries: Shape (m, 1).
        radius: Largest distance, in bits, inclusive.
        thresholds: Bits to flip in each segment.

    Returns:
        Rows of queries, int64, and fingerprints, uint64, shape (found, 1); some twice.
    """
    name = fingerprint_tables(bits).tail.name
    columns = segment_columns(queries, bits)
    signed = queries[:, 0].view(np.int64)
    found: list[tuple[int, int]] = []
    for segment, (threshold, width) in enumerate(
        zip(thresholds, segment_widths(bits), strict=True)
    ):
        if threshold < 0:
            continue
        flips = np.array(probe_values(0, width, threshold), np.int64)
        leads = (columns[:, segment, None] ^ flips).ravel()
        rows = np.repeat(np.arange(len(queries)), len(flips))
        for start in range(0, len(leads), _PROBES):
            part = slice(start, start + _PROBES)
            statement = (
                "SELECT asked.place, stored.value "  # noqa: S608 - ours
                "FROM unnest(?::bigint[], ?::bigint[], ?::bigint[]) "
                f"AS asked(place, lead, print) JOIN {name} stored "
                f"ON stored.generation_id = ? AND stored.s{segment} = asked.lead "
                "WHERE bit_count((stored.value # asked.print)::bit(64)) <= ?"
            )
            found += forms_of(connection).run(
                connection,
                statement,
                (
                    rows[part].tolist(),
                    leads[part].tolist(),
                    signed[rows[part]].tolist(),
                    generation_id,
                    radius,
                ),
            )
    return (
        np.array([row[0] for row in found], np.int64),
        words_of([row[1] for row in found], bits),
    )
