"""A scheme whose fingerprint is written in the text, so that a test can choose it.

Everything else is the product's: documents, segment tables, planner, queries, fsck.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from postgres_places import is_on_server

from simstore.fingerprint import schemes
from simstore.fingerprint.features import FeatureCounts, count_features
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.simhash import to_words
from simstore.services.maintenance.maintain import create_store
from simstore.storage.engine import Database
from simstore.store import Store


class HexScheme(Scheme):
    """Text ``00ff`` has the fingerprint 0x00ff; a text that is no such number has 0."""

    name = "hex"
    version = 1

    def __init__(self, bits: int) -> None:
        self.bits = bits

    @classmethod
    def from_record(cls, record: SchemeRecord) -> HexScheme:
        return cls(record.bits)

    def count(
        self,
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,  # noqa: ARG002 - it reads none
    ) -> FeatureCounts:
        return count_features(iter(([text],)) for text in texts)

    def fingerprints(
        self,
        counts: FeatureCounts,
        standing: NDArray[np.int64] | None = None,  # noqa: ARG002 - the recipe needs none
    ) -> NDArray[np.uint64]:
        values = [_value(counts.terms[column], self.bits) for column in counts.columns.tolist()]
        return to_words(values, self.bits)

    def parameters(self) -> dict[str, Any]:
        return {}


def _value(term: bytes, bits: int) -> int:
    try:
        return int(term, 16) & ((1 << bits) - 1)
    except ValueError:
        return 0


@contextmanager
def hexadecimal_stores() -> Iterator[None]:
    """Let stores of this scheme be opened."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(schemes._BY_LABEL, "hex/1", HexScheme.from_record)
        yield


@cache
def _empty_file() -> bytes:
    """Return the file of a store of 1 bit; one of M bits differs in its scheme's row alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        database = Database(path, synchronous="normal")
        create_store(database, HexScheme(1))
        database.close()
        return path.read_bytes()


def create_hexadecimal(path: Path, bits: int, fingerprints: Sequence[int]) -> Store:
    """Make a store in which document ``n`` has the n-th fingerprint."""
    if is_on_server(path):
        database = Database(path)
        create_store(database, HexScheme(bits))
        database.close()
        return _filled(path, fingerprints)
    path.write_bytes(_empty_file())
    answers = json.dumps(HexScheme(bits).record().known_answers)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE scheme SET bits = ?, known_answers = ?", (bits, answers))
        connection.commit()
    return _filled(path, fingerprints)


def _filled(path: Path, fingerprints: Sequence[int]) -> Store:
    store = Store.open(path, synchronous="normal")
    store.add_many([(str(n), f"{value:x}") for n, value in enumerate(fingerprints)], threads=1)
    return store
