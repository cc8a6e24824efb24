"""Document frequencies: how many documents have each feature, now and in a generation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, insert, select

from simstore.storage import codecs, deltas, documents
from simstore.storage.tables import feature, generation_frequency

# Features a row: some 100 kB packed.
_FEATURES = 1 << 16
# Feature numbers begin at 1; under this one stands the number of documents.
DOCUMENTS = 0

Frequencies = tuple[NDArray[np.int64], NDArray[np.int64]]


def present(connection: Connection, scheme_id: int) -> Frequencies:
    """Return how many documents have each feature of the vocabulary at present.

    Returns:
        Ascending feature numbers and document counts above zero, each int64 of one shape; the
        first number is :data:`DOCUMENTS`, with the number of all documents.
    """
    c = feature.c
    rows = connection.execute(
        select(c.feature_id, c.document_count).where(c.scheme_id == scheme_id)
    ).all()
    merged = np.array([tuple(row) for row in rows], np.int64).reshape(-1, 2)
    ids, changes, _ = deltas.unmerged(connection, scheme_id).numbered
    numbers, places = np.unique(np.concatenate((merged[:, 0], ids)), return_inverse=True)
    counts = np.zeros(len(numbers), np.int64)
    np.add.at(counts, places, np.concatenate((merged[:, 1], changes)))
    held = counts > 0
    return (
        np.concatenate(([DOCUMENTS], numbers[held])),
        np.concatenate(([documents.count(connection)], counts[held])),
    )


def put(connection: Connection, generation_id: int, frequencies: Frequencies) -> None:
    """Store the frequencies of a generation; see :func:`present`."""
    numbers, counts = frequencies
    connection.execute(
        insert(generation_frequency),
        [
            {
                "generation_id": generation_id,
                "part": part,
                "frequencies": codecs.pack_features(
                    numbers[start : start + _FEATURES], counts[start : start + _FEATURES]
                ),
            }
            for part, start in enumerate(range(0, len(numbers), _FEATURES))
        ],
    )


def of_generation(connection: Connection, generation_id: int) -> Frequencies:
    """Return the frequencies of a generation; see :func:`present`.

    Raises:
        ValueError: They are missing or damaged.
    """
    c = generation_frequency.c
    rows = connection.execute(
        select(c.frequencies).where(c.generation_id == generation_id).order_by(c.part)
    ).scalars()
    parts = [codecs.unpack_features(packed) for packed in rows]
    if not parts or not len(parts[0][0]) or parts[0][0][0] != DOCUMENTS:
        raise ValueError("missing")
    return np.concatenate([n for n, _ in parts]), np.concatenate([c for _, c in parts])
