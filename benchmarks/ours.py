"""simstore behind the calls of ``peers.py``: from the file's pages, and with a resident index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from fingerprints import BITS, RADIUS, Answer, Words
from peers import Index

from simstore import Store


def filled(path: Path, words: Words, *, packed: bool = True) -> None:
    """Make a store of fingerprints alone; durable, as stores are."""
    with Store.create(path, fingerprints_only=True, bits=BITS) as store:
        store.fingerprints.add(words)
        store.maintenance.compact(plain=not packed)


class Simstore(Index):
    """A store of fingerprints, packed to pages; ``resident``: answered from memory."""

    on_disk = True

    def __init__(self, path: Path, *, resident: bool = False, name: str | None = None) -> None:
        self.name = name or f"simstore, {'resident index' if resident else 'pages of the file'}"
        self._path = path
        self._store = Store.open(path, resident=resident)
        self._begin()

    def _begin(self) -> None:
        self._entered = self._store.fingerprints.reader()
        self.reader = self._entered.__enter__()

    def ask(self, sample: int) -> Any:
        return self.reader.near(sample, RADIUS)

    def answer(self, sample: int) -> Answer:
        return list(self.ask(sample))

    def ask_many(self, samples: Words) -> Any:
        return self.reader.near_many(samples, RADIUS)

    def answers(self, samples: Words) -> list[Answer]:
        rows, found, distances = self.ask_many(samples)
        made: list[Answer] = [[] for _ in samples]
        values = np.asarray(found).reshape(len(rows), -1)[:, 0]
        for row, value, distance in zip(
            rows.tolist(), values.tolist(), distances.tolist(), strict=True
        ):
            made[row].append((value, distance))
        return made

    def pairs(self) -> tuple[Words, Words]:
        """Return all pairs within the radius."""
        parts = list(self.reader.near_pairs(RADIUS))
        empty = np.empty((0, 1), np.uint64)
        left = np.concatenate([empty, *(part[0].reshape(-1, 1) for part in parts)])
        right = np.concatenate([empty, *(part[1].reshape(-1, 1) for part in parts)])
        return left[:, 0], right[:, 0]

    def insert(self, words: Words) -> None:
        # A reader is a snapshot: what is inserted is seen by the next one.
        self._entered.__exit__(None, None, None)
        self._store.fingerprints.add(words)
        self._begin()

    def bytes_used(self) -> int:
        return sum(file.stat().st_size for file in self._path.parent.glob(self._path.name + "*"))

    def close(self) -> None:
        self._entered.__exit__(None, None, None)
        self._store.close()
