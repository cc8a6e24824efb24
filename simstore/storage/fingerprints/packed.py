"""Add, remove and read fingerprints in the runs of their generation's index.

A fingerprint is in the tail, or in one run. One that is removed from a run stays there until runs
are merged: until then it is in the table of those that are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import word_count
from simstore.index import tuning
from simstore.index.hamming import PACKED_BITS, FingerprintRuns, distinct, kinds
from simstore.storage import index_pages, tables
from simstore.storage.connection import Connection
from simstore.storage.fingerprints.tail import delete_values, held_words, stored_values
from simstore.storage.rows import execute, fetch, insert_rows, select_in
from simstore.storage.tables.names import gone_name


def is_packable(bits: int) -> bool:
    """Return whether fingerprints of M bits can be in runs."""
    return bits in PACKED_BITS


def runs_of(connection: Connection, bits: int, generation_id: int) -> FingerprintRuns:
    """Return the runs of a generation's fingerprints of 64 or 128 bits, in a transaction."""
    indexes = [index_pages.stored_index(connection, kind, generation_id) for kind in kinds(bits)]
    return FingerprintRuns(bits, indexes, partial(index_pages.pages_at, connection))


def among(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Return whether each fingerprint is in a run and not gone; shape (n,)."""
    found = runs_of(connection, bits, generation_id).holds(words)
    held = np.flatnonzero(found)
    found[held] = ~are_gone(connection, bits, generation_id, words[held])
    return found


def are_gone(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Return whether each fingerprint, of those in runs, was removed; shape (n,)."""
    if not len(words):
        return np.zeros(0, np.bool_)
    values = stored_values(words)
    statement = f"SELECT value FROM {gone_name(bits)} WHERE generation_id = ? AND value IN ({{}})"  # noqa: S608
    rows = select_in(connection, statement, list(dict.fromkeys(values)), generation_id)
    gone = {value for (value,) in rows}
    return np.array([value in gone for value in values], np.bool_)


def restore(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> tuple[NDArray[np.bool_], int]:
    """Count fingerprints in again that are in runs and gone.

    Args:
        connection: A writer.
        bits: M, 64 or 128.
        generation_id: The generation.
        words: Fingerprints, shape (n, M / 64).

    Returns:
        Whether each is in no run, shape (n,); and how many distinct ones are counted again.
    """
    held = runs_of(connection, bits, generation_id).holds(words)
    gone = tables.fingerprint_tables(bits).gone
    return ~held, delete_values(connection, gone, generation_id, words[held])


def add(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> None:
    """Write fingerprints, each once and in no run, as a run; merge where there are many."""
    runs = runs_of(connection, bits, generation_id)
    gone = _gone(connection, bits, generation_id)
    whole = len(gone) > runs.count // tuning.GONE_SHARE
    expected = runs.count + len(words)
    runs.add(words, gone)
    if whole:
        runs.merge(gone)
    if runs.count != expected:
        left = gone[runs.holds(gone)]
        _forget_gone(connection, bits, generation_id)
        _note_gone(connection, bits, generation_id, left)


def merge(connection: Connection, bits: int, generation_id: int) -> None:
    """Put one run in the place of several, and of one with fingerprints that are gone."""
    runs = runs_of(connection, bits, generation_id)
    gone = _gone(connection, bits, generation_id)
    if not runs.is_whole() or len(gone):
        runs.merge(gone)
        _forget_gone(connection, bits, generation_id)


def remove(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> int:
    """Note that fingerprints in runs are gone; return how many were there."""
    words = distinct(words)
    held = among(connection, bits, generation_id, words)
    _note_gone(connection, bits, generation_id, words[held])
    return int(held.sum())


def scan(connection: Connection, bits: int, generation_id: int) -> Iterator[NDArray[np.uint64]]:
    """Yield the fingerprints in runs that are not gone, in arrays of bounded size.

    Raises:
        CorruptStore: A page is damaged.
    """
    some_are_gone = bool(len(_gone(connection, bits, generation_id, limit=1)))
    for words in runs_of(connection, bits, generation_id).scan():
        if some_are_gone:
            words = words[~are_gone(connection, bits, generation_id, words)]
        yield words


def drop(connection: Connection, bits: int, generation_id: int, limit: int | None = None) -> bool:
    """Delete up to ``limit`` rows of a generation's runs, or all; return whether some remain."""
    if not is_packable(bits):
        return False
    for kind in kinds(bits):
        if index_pages.drop(connection, kind.name, generation_id, limit):
            return True
    _forget_gone(connection, bits, generation_id)
    return False


def _gone(
    connection: Connection, bits: int, generation_id: int, limit: int = -1
) -> NDArray[np.uint64]:
    rows = fetch(
        connection,
        f"SELECT value FROM {gone_name(bits)} WHERE generation_id = ?"  # noqa: S608 - ours
        + (f" LIMIT {int(limit)}" if limit >= 0 else ""),
        generation_id,
    )
    if not rows:
        return np.empty((0, word_count(bits)), np.uint64)
    return held_words(connection, [value for (value,) in rows], bits)


def _forget_gone(connection: Connection, bits: int, generation_id: int) -> None:
    statement = f"DELETE FROM {gone_name(bits)} WHERE generation_id = ?"  # noqa: S608 - ours
    execute(connection, statement, generation_id)


def _note_gone(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> None:
    if len(words):
        insert_rows(
            connection,
            tables.fingerprint_tables(bits).gone,
            ("generation_id", "value"),
            [(generation_id, value) for value in stored_values(words)],
        )
