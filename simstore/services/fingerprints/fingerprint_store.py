"""Add and remove the fingerprints of a store without documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.schemes import ExternalScheme
from simstore.fingerprint.simhash import to_hex, to_words, word_count
from simstore.model import Progress
from simstore.search.plan import check_radius
from simstore.search.sorted_tables import near_pairs
from simstore.services.channels.pack_fingerprints import is_long
from simstore.services.duplicates.edge_candidates import EdgeCandidates
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.services.open_store.state import State
from simstore.storage.fingerprints import fingerprints
from simstore.storage.generations import GenerationRow

# Fingerprints a transaction: enough that rewriting the pages for them is worth it.
CHUNK_FINGERPRINTS = 1 << 24
# Fingerprints a transaction that are looked for first.
APART_FINGERPRINTS = 1 << 16
# Fingerprints that go straight into pages where so many come at once.
MANY_FINGERPRINTS = 100_000

FingerprintValues = NDArray[Any] | Iterable[int]


def is_fingerprints_only(state: State) -> bool:
    """Return whether a store holds fingerprints without documents."""
    return isinstance(state.scheme, ExternalScheme)


def add_fingerprints(
    opened: OpenStore,
    values: FingerprintValues,
    on_progress: Progress | None = None,
    *,
    apart: int | None = None,
) -> int:
    """Add fingerprints; return how many were new.

    Many at once go straight into pages, at any size of the store.

    Args:
        opened: A store of fingerprints alone.
        values: As for :func:`words_of`.
        on_progress: Called with fingerprints added and in all, after each transaction.
        apart: Leave out what lies within so many bits of one that is there, or came before it;
            None: only what is there.

    Raises:
        InvalidParameter: The store is one of documents, a value does not fit, or the distance is
            not from 0 to M.
    """
    words = _words(opened, values)
    if apart is not None:
        return _add_apart(opened, words, apart, on_progress)
    new = 0
    for start in range(0, len(words), CHUNK_FINGERPRINTS):
        part = words[start : start + CHUNK_FINGERPRINTS]
        with opened.write() as connection:
            bits, row = _generation(opened.snapshot(connection))
            if is_long(row, bits, len(part), at_once=len(part) >= MANY_FINGERPRINTS):
                new += fingerprints.add_packed(connection, bits, row, part)
            else:
                new += fingerprints.add(connection, bits, row.generation_id, part)
        if on_progress is not None:
            on_progress(start + len(part), len(words))
    return new


def _add_apart(
    opened: OpenStore, words: NDArray[np.uint64], radius: int, on_progress: Progress | None
) -> int:
    """Add the fingerprints that are near none before them, in their order."""
    new = 0
    for start in range(0, len(words), APART_FINGERPRINTS):
        part = words[start : start + APART_FINGERPRINTS]
        with opened.write() as connection:
            snapshot = opened.snapshot(connection)
            bits, row = _generation(snapshot)
            check_radius(radius, bits)
            search = EdgeCandidates(snapshot, radius, min_resemblance=None)
            taken = np.zeros(len(part), np.bool_)
            taken[search.fingerprints_near(part)[0]] = True
            left = np.flatnonzero(~taken)
            # Ascending by the first: it is decided of before it leaves others out.
            for first, second in zip(
                *(side.tolist() for side in near_pairs(part[left], bits, radius)), strict=True
            ):
                if not taken[left[first]]:
                    taken[left[second]] = True
            new += fingerprints.add(connection, bits, row.generation_id, part[~taken])
        if on_progress is not None:
            on_progress(start + len(part), len(words))
    return new


def remove_fingerprints(
    opened: OpenStore, values: FingerprintValues, on_progress: Progress | None = None
) -> int:
    """Remove fingerprints; return how many were there.

    Args:
        opened: A store of fingerprints alone.
        values: As for :func:`words_of`.
        on_progress: Called with fingerprints done and in all, after each transaction.

    Raises:
        InvalidParameter: The store is one of documents, or a value does not fit.
    """
    words = _words(opened, values)
    gone = 0
    for start in range(0, len(words), CHUNK_FINGERPRINTS):
        part = words[start : start + CHUNK_FINGERPRINTS]
        with opened.write() as connection:
            bits, row = _generation(opened.snapshot(connection))
            gone += fingerprints.remove(connection, bits, row.generation_id, part)
        if on_progress is not None:
            on_progress(start + len(part), len(words))
    return gone


def words_of(values: FingerprintValues, bits: int) -> NDArray[np.uint64]:
    """Return fingerprints as words, shape (n, ceil(M / 64)).

    Args:
        values: An array of uint64, shape (n,) up to 64 bits, else (n, words), the most significant
            word first; or integers.
        bits: Fingerprint length M; each value is below 2**M.

    Raises:
        InvalidParameter: The values have another type or shape, or one does not fit.
    """
    words = word_count(bits)
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "u" or values.dtype.itemsize != 8:
            raise InvalidParameter(
                f"fingerprints of type {values.dtype}: give unsigned 64-bit integers (uint64)"
            )
        if values.ndim == 1 and words == 1:
            values = values.reshape(-1, 1)
        if values.ndim != 2 or values.shape[1] != words:
            raise InvalidParameter(
                f"fingerprints of shape {values.shape}: for {bits} bits give (n, {words})"
                + (" or (n,)" if words == 1 else "")
            )
        found = np.ascontiguousarray(values, np.uint64)
        unused = 64 * words - bits
        if unused and len(found) and int(found[:, 0].max()) >> (64 - unused):
            raise InvalidParameter(f"a fingerprint has more than {bits} bits")
        return found
    numbers = values if isinstance(values, Sequence) else list(values)
    for value in numbers:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            kind = type(value).__name__
            raise InvalidParameter(f"a fingerprint is a non-negative integer, not {kind}")
        if not 0 <= value < 1 << bits:
            shown = to_hex(int(value), bits) if value >= 0 else str(value)
            raise InvalidParameter(f"fingerprint {shown}: it must be from 0 to 2**{bits} - 1")
    return to_words(map(int, numbers), bits)


def _words(opened: OpenStore, values: FingerprintValues) -> NDArray[np.uint64]:
    with opened.database.read() as connection:
        state = opened.state(connection)
    if not is_fingerprints_only(state):
        raise InvalidParameter(
            "this store makes its fingerprints of documents: ingest them; "
            "`simstore init --fingerprints-only` makes a store that takes fingerprints"
        )
    return words_of(values, state.scheme.bits)


def _generation(snapshot: Snapshot) -> tuple[int, GenerationRow]:
    if snapshot.generation is None:
        raise snapshot.corrupt("it has no generation")
    return snapshot.scheme.bits, snapshot.generation
