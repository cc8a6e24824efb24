"""What a user could take instead, each behind the same few calls; all find every one within 3 bits.

``ask`` and ``ask_many`` are what is timed: they return what the library returns. ``answer`` and
``answers`` turn that into (fingerprint, distance), by distance, then value, to be checked.
"""

from __future__ import annotations

import logging
import sqlite3
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from fingerprints import BITS, RADIUS, Answer, Words

SEGMENTS = BITS // 16
MULTIHASH = "FAISS IndexBinaryMultiHash(64,2,32), nflip 1"
SMALL_MULTIHASH = "FAISS IndexBinaryMultiHash(64,4,16)"
FLAT = "FAISS IndexBinaryFlat"
COVERING = (
    "CREATE TABLE f (fp INTEGER PRIMARY KEY, s0 INT, s1 INT, s2 INT, s3 INT) STRICT",
    # Each entry holds the row's key, which is the fingerprint.
    *(f"CREATE INDEX i{i} ON f (s{i})" for i in range(SEGMENTS)),
)


class Index:
    """An index of fingerprints that was built from an array.

    Attributes:
        name: As it stands in the tables.
        on_disk: Answers come from a file, and its bytes are counted.
    """

    name: str
    on_disk = False

    def ask(self, sample: int) -> Any:
        raise NotImplementedError

    def answer(self, sample: int) -> Answer:
        return self.answers(np.array([sample], np.uint64))[0]

    def ask_many(self, samples: Words) -> Any:
        return [self.ask(sample) for sample in samples.tolist()]

    def answers(self, samples: Words) -> list[Answer]:
        return [self.answer(sample) for sample in samples.tolist()]

    def insert(self, words: Words) -> None:
        raise NotImplementedError

    def bytes_used(self) -> int:
        """Return the bytes of the file, or of the serialised index."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what it holds."""


def by_distance(found: list[tuple[int, int]]) -> Answer:
    return sorted(found, key=lambda match: (match[1], match[0]))


class Faiss(Index):
    """A binary index of FAISS, one thread: exhaustive, or MultiHash with two tables or four.

    Two tables of 32 bits, in which one bit is flipped, find the same as four of 16 bits. They are
    faster beyond a million fingerprints, and take more memory and time to build.
    """

    def __init__(self, words: Words, name: str) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.name = name
        self._library = faiss
        self._words = words
        if name == FLAT:
            self._index = faiss.IndexBinaryFlat(BITS)
        elif name == MULTIHASH:
            self._index = faiss.IndexBinaryMultiHash(BITS, 2, 32)
            self._index.nflip = 1
        else:
            self._index = faiss.IndexBinaryMultiHash(BITS, SEGMENTS, 16)
        self._index.add(_octets(words))

    def ask(self, sample: int) -> Any:
        # Its radius is exclusive.
        return self._index.range_search(_octets(np.array([sample], np.uint64)), RADIUS + 1)

    def ask_many(self, samples: Words) -> Any:
        return self._index.range_search(_octets(samples), RADIUS + 1)

    def answers(self, samples: Words) -> list[Answer]:
        limits, distances, places = self.ask_many(samples)
        values, found = self._words[places].tolist(), distances.astype(int).tolist()
        pairs = list(zip(values, found, strict=True))
        bounds = limits.astype(int).tolist()
        return [
            by_distance(list(dict.fromkeys(pairs[start:end]))) for start, end in pairwise(bounds)
        ]

    def insert(self, words: Words) -> None:
        self._words = np.concatenate((self._words, words))
        self._index.add(_octets(words))

    def bytes_used(self) -> int:
        return len(self._library.serialize_index_binary(self._index))

    def close(self) -> None:
        self._index = None


class PypiSimhash(Index):
    """``SimhashIndex`` of the package simhash, k = 3."""

    name = "PyPI simhash, SimhashIndex"

    def __init__(self, words: Words) -> None:
        from simhash import Simhash, SimhashIndex

        # It warns of every bucket above 200, which costs more than the search.
        log = logging.getLogger("quiet")
        log.setLevel(logging.ERROR)
        self._simhash = Simhash
        self._index = SimhashIndex(
            [(f"{value:x}", Simhash(value)) for value in words.tolist()], k=RADIUS, log=log
        )

    def ask(self, sample: int) -> Any:
        return self._index.get_near_dups(self._simhash(sample))

    def answer(self, sample: int) -> Answer:
        found = [int(name, 16) for name in self.ask(sample)]
        return by_distance([(value, (value ^ sample).bit_count()) for value in found])

    def insert(self, words: Words) -> None:
        for value in words.tolist():
            self._index.add(f"{value:x}", self._simhash(value))

    def close(self) -> None:
        self._index = None


class Covering(Index):
    """The usual SQLite table: a column a segment, and an index on each that covers the query."""

    name = "SQLite, four covering indexes"
    on_disk = True

    def __init__(self, words: Words, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "cache_size = -200000"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(COVERING[0])
        self.insert(words)
        for statement in COVERING[1:]:
            self._connection.execute(statement)
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._select = " UNION ".join(
            f"SELECT fp FROM f INDEXED BY i{i} WHERE s{i} = ?" for i in range(SEGMENTS)
        )

    def ask(self, sample: int) -> Any:
        segments = [sample >> (48 - 16 * i) & 0xFFFF for i in range(SEGMENTS)]
        found = []
        for (stored,) in self._connection.execute(self._select, segments):
            value = stored & 0xFFFFFFFFFFFFFFFF
            distance = (value ^ sample).bit_count()
            if distance <= RADIUS:
                found.append((value, distance))
        return found

    def answer(self, sample: int) -> Answer:
        return by_distance(self.ask(sample))

    def insert(self, words: Words) -> None:
        # In the order of the key, which is how it is loaded fastest.
        stored = np.sort(words.view(np.int64))
        columns = [(stored >> (48 - 16 * i)) & 0xFFFF for i in range(SEGMENTS)]
        rows = zip(stored.tolist(), *(column.tolist() for column in columns), strict=True)
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT INTO f VALUES (?, ?, ?, ?, ?)", rows)
        self._connection.execute("COMMIT")

    def bytes_used(self) -> int:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self._path.stat().st_size

    def close(self) -> None:
        self._connection.close()


class DuckDb(Index):
    """A DuckDB table with four segment columns; one thread."""

    name = "DuckDB, join of four segments"
    on_disk = True

    def __init__(self, words: Words, path: Path) -> None:
        import duckdb

        self._path = path
        self._connection = duckdb.connect(str(path), config={"threads": 1})
        self._connection.execute("CREATE TABLE f (fp UBIGINT, " + _segment_columns() + ")")
        self.insert(words)
        joins = " UNION ".join(
            f"SELECT q.row, f.fp FROM q JOIN f ON q.s{i} = f.s{i} "
            f"WHERE bit_count(xor(q.fp, f.fp)::BIT) <= {RADIUS}"
            for i in range(SEGMENTS)
        )
        self._join = f"SELECT row, fp FROM ({joins})"

    def ask(self, sample: int) -> Any:
        return self.ask_many(np.array([sample], np.uint64))

    def ask_many(self, samples: Words) -> Any:
        q = {"row": np.arange(len(samples)), "fp": samples, **_segments(samples)}
        self._connection.register("q", q)
        found = self._connection.execute(self._join).fetchnumpy()
        self._connection.unregister("q")
        return found

    def answers(self, samples: Words) -> list[Answer]:
        found = self.ask_many(samples)
        made: list[Answer] = [[] for _ in samples]
        for row, value in zip(found["row"].tolist(), found["fp"].tolist(), strict=True):
            made[row].append((value, (value ^ int(samples[row])).bit_count()))
        return [by_distance(answer) for answer in made]

    def insert(self, words: Words) -> None:
        rows = {"fp": words, **_segments(words)}
        self._connection.register("rows", rows)
        self._connection.execute("INSERT INTO f SELECT * FROM rows")
        self._connection.unregister("rows")

    def bytes_used(self) -> int:
        self._connection.execute("CHECKPOINT")
        return self._path.stat().st_size

    def close(self) -> None:
        self._connection.close()


class NumpyScan(Index):
    """Brute force: every fingerprint compared, with NumPy, in blocks that fit the cache."""

    name = "NumPy scan"

    def __init__(self, words: Words) -> None:
        self._words = words

    def ask(self, sample: int) -> Any:
        value = np.uint64(sample)
        found = []
        for start in range(0, len(self._words), 1 << 16):
            distances = np.bitwise_count(self._words[start : start + (1 << 16)] ^ value)
            near = np.flatnonzero(distances <= RADIUS)
            found += [(start + place, int(distances[place])) for place in near.tolist()]
        return found

    def answer(self, sample: int) -> Answer:
        return by_distance([(int(self._words[place]), d) for place, d in self.ask(sample)])

    def insert(self, words: Words) -> None:
        self._words = np.concatenate((self._words, words))

    def bytes_used(self) -> int:
        return int(self._words.nbytes)

    def close(self) -> None:
        self._words = np.empty(0, np.uint64)


def _octets(words: Words) -> Any:
    return np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)


def _segments(words: Words) -> dict[str, Any]:
    return {f"s{i}": (words >> np.uint64(48 - 16 * i)).astype(np.uint16) for i in range(SEGMENTS)}


def _segment_columns() -> str:
    return ", ".join(f"s{i} USMALLINT" for i in range(SEGMENTS))
