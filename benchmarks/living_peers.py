"""What can check and insert, and remove, beside a store: sets in memory, and a plain table."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from backports import zstd
from results import Table, figure

Texts = Sequence[tuple[str, str]]
# Resemblance from which on the peers call two texts duplicates, as simstore does by default.
THRESHOLD = 0.8


class Peer(Protocol):
    """Something that documents are checked against, put into, and taken out of."""

    name: str
    # Whether the documents outlive the process.
    durable: bool

    def check_and_insert(self, place: int, key: str, text: str) -> bool:
        """Insert a document; return whether there was a near-duplicate of it."""

    def commit(self) -> None: ...

    def remove(self, place: int, key: str) -> None: ...


class PlainTable:
    """A SQLite table with an index on the digest; knows exact duplicates only."""

    durable = True

    def __init__(self, path: Path, *, together: int) -> None:
        self.name = "a plain SQLite table, exact duplicates only, " + (
            f"{together:,} a transaction" if together > 1 else "each committed"
        )
        self._together, self._open = together, 0
        self._connection = sqlite3.connect(path)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE d (key TEXT PRIMARY KEY, digest BLOB, text BLOB)")
        self._connection.execute("CREATE INDEX by_digest ON d (digest)")

    def check_and_insert(self, _place: int, key: str, text: str) -> bool:
        data = text.encode()
        digest = hashlib.blake2b(data, digest_size=16).digest()
        found = self._connection.execute("SELECT key FROM d WHERE digest = ?", (digest,)).fetchone()
        row = (key, digest, zstd.compress(data, 3))
        self._connection.execute("INSERT INTO d VALUES (?, ?, ?)", row)
        self._count()
        return found is not None

    def commit(self) -> None:
        self._connection.commit()
        self._open = 0

    def remove(self, _place: int, key: str) -> None:
        self._connection.execute("DELETE FROM d WHERE key = ?", (key,))
        self._count()

    def _count(self) -> None:
        self._open += 1
        if self._open >= self._together:
            self.commit()


class Datasketch:
    """MinHash of 128 values of word triples, bands chosen by the library; in memory."""

    name = "datasketch, MinHashLSH in memory"
    durable = False

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self._minhash = MinHash
        self._index = MinHashLSH(threshold=THRESHOLD, num_perm=128)

    def check_and_insert(self, _place: int, key: str, text: str) -> bool:
        words = text.encode().split()
        triples = zip(words, words[1:], words[2:], strict=False)
        made = self._minhash(num_perm=128)
        made.update_batch([b" ".join(triple) for triple in triples])
        found = bool(self._index.query(made))
        self._index.insert(key, made)
        return found

    def commit(self) -> None:
        """There is nothing to commit."""

    def remove(self, _place: int, key: str) -> None:
        self._index.remove(key)


class Gaoya:
    """MinHash of 126 values of word triples in 42 bands, verified by the sketches; in memory."""

    name = "gaoya, MinHashStringIndex in memory"
    durable = False

    def __init__(self) -> None:
        from gaoya.minhash import MinHashStringIndex

        self._index: Any = MinHashStringIndex(
            32, THRESHOLD, 42, 3, None, "word", lowercase=True, ngram_range=(3, 3)
        )

    def check_and_insert(self, place: int, _key: str, text: str) -> bool:
        found = bool(self._index.query(text))
        self._index.insert_document(place, text)
        return found

    def commit(self) -> None:
        """There is nothing to commit."""

    def remove(self, place: int, _key: str) -> None:
        self._index.remove(place)


def check_peers() -> None:
    """Raise :exc:`ImportError` where a peer is not installed: it is asked for after an hour."""
    for package in ("datasketch", "gaoya"):
        import_module(package)


def peers(folder: Path) -> Iterator[Peer]:
    """Yield empty peers one by one."""
    yield PlainTable(folder / "single.db", together=1)
    yield PlainTable(folder / "batches.db", together=1_000)
    yield Datasketch()
    yield Gaoya()


def measure(table: Table, texts: Texts, near: Sequence[bool], folder: Path) -> None:
    """Check and insert all texts into each peer, and take a tenth out again.

    Args:
        table: Takes rows of name, documents, documents/s in, share of the near-duplicates found,
            documents/s out.
        texts: Key and text.
        near: Whether there is a near-duplicate before a text.
        folder: For files.
    """
    for peer in peers(folder):
        started = time.perf_counter()
        found = [peer.check_and_insert(n, key, text) for n, (key, text) in enumerate(texts)]
        peer.commit()
        seconds = time.perf_counter() - started
        gone = range(0, len(texts), 10)
        started = time.perf_counter()
        for place in gone:
            peer.remove(place, texts[place][0])
        peer.commit()
        out = time.perf_counter() - started
        hits = sum(f for f, wanted in zip(found, near, strict=True) if wanted)
        table.add(
            peer.name,
            f"{len(texts):,}",
            figure(len(texts) / seconds),
            f"{hits / max(sum(near), 1):.0%}",
            figure(len(gone) / out),
        )
