"""Caches of an open store: values valid for some snapshots, the tail, and shingle sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from simstore.storage.engine import Connection
from simstore.storage.fingerprints import tail
from simstore.storage.generations import GenerationRow

if TYPE_CHECKING:
    from simstore.fingerprint.minhash import BandLayout
    from simstore.index.tail import Tail
    from simstore.search.sorted_tables import GrowingTables

K = TypeVar("K")
V = TypeVar("V")
Sets = dict[bytes, NDArray[np.uint64]]

# Fingerprints of a tail for each that was looked up, from which it is read as a whole.
_TAIL_EACH = 256
# Of a longer one, the share of it that each look-up reads: those that have a segment in common with
# a text grow with the tail.
_TAIL_SHARE = 512
# Shingles that are kept: 64 MB; 256 MB where the store keeps its indexes in memory, too.
_KEPT_SHINGLES = 8 << 20
_KEPT_RESIDENT = 32 << 20

# Generation, edition, and fingerprints in pages: with all three the same, the tail holds no
# other fingerprint.
_Moment = tuple[int, int, int]


class SnapshotCache(Generic[K, V]):
    """A cache of one value, which is valid for the snapshots that have its key.

    The key names what the value was made of and cannot change without the key: the number of a
    scheme, a generation or a layout, where it can change with its edition. A snapshot with
    another key, an older one too, gets no value. Threads may share it: key and value are
    replaced together.
    """

    def __init__(self) -> None:
        self._held: tuple[K, V] | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is held."""
        return self._held is None

    def get(self, key: K) -> V | None:
        """Return the value of a key; None: another is held, or none."""
        held = self._held  # one read: another thread may put another in its place
        return held[1] if held is not None and held[0] == key else None

    def put(self, key: K, value: V) -> V:
        """Hold a value in place of the one that is held, and return it."""
        self._held = key, value
        return value

    def made(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, made where another is held."""
        held = self._held
        return held[1] if held is not None and held[0] == key else self.put(key, make())

    def forget(self) -> None:
        """Hold nothing."""
        self._held = None


class TailCache:
    """Caches the tail (the fingerprints in no run) of the generation last asked for.

    Threads may share it.
    """

    def __init__(self) -> None:
        # None: it was not read. It may hold some that have left the tail.
        self._tables: SnapshotCache[_Moment, GrowingTables] = SnapshotCache()
        # How many were looked up in a generation while its tail was not kept.
        self._asked: SnapshotCache[int, int] = SnapshotCache()

    def forget(self) -> None:
        """Drop the cached tail: fingerprints added to it were rolled back."""
        self._tables.forget()
        self._asked.forget()

    def current(self, row: GenerationRow) -> GrowingTables | None:
        """Return the tail of a generation where it is kept; some may have left it."""
        return self._tables.get(_moment(row))

    def repays(self, row: GenerationRow, asked: int) -> bool:
        """Return whether reading the tail takes less time than the look-ups so far.

        Args:
            row: The generation.
            asked: How many fingerprints are about to be looked up.
        """
        asked += self._asked.get(row.generation_id) or 0
        self._asked.put(row.generation_id, asked)
        held = row.fingerprint_count - row.packed_count
        return held <= asked * max(_TAIL_EACH, held // _TAIL_SHARE)

    def read(self, connection: Connection, bits: int, row: GenerationRow) -> GrowingTables:
        """Read the tail of a generation and keep it.

        Args:
            connection: A snapshot, or a writer.
            bits: Fingerprint length M.
            row: The generation in it.
        """
        from simstore.search.sorted_tables import GrowingTables

        tables = GrowingTables(bits)
        for words in tail.scan(connection, bits, row.generation_id):
            tables = tables.extended(words)
        self._asked.forget()
        return self._tables.put(_moment(row), tables)

    def note_added(
        self, before: GenerationRow, after: GenerationRow, words: NDArray[np.uint64]
    ) -> None:
        """Keep fingerprints that a writer has added to the tail, and no others.

        Args:
            before: The generation when the transaction began to add them.
            after: The generation after it.
            words: The fingerprints, shape (n, ceil(M / 64)).
        """
        tables = self._tables.get(_moment(before))
        if tables is not None:
            self._tables.put(_moment(after), tables.extended(words))


def _moment(row: GenerationRow) -> _Moment:
    return row.generation_id, row.edition, row.packed_count


@dataclass(frozen=True, slots=True)
class CachedTail:
    """The entries of sketches that no run has yet, kept from query to query.

    Attributes:
        since: The store's count of changes from which on it holds the whole tail, and sketches that
            have gone or, in an older snapshot, are yet to come.
        changes: The count up to which it does.
    """

    since: int
    changes: int
    tail: Tail


@dataclass(slots=True)
class SketchCache:
    """The in-memory caches of the sketches of one channel.

    Attributes:
        tail: By the scheme, and how sketches are cut into bands.
        bands: The bands of the sketch that was looked up last: one that is new is put into the tail
            next; by the layout and its bytes.
    """

    tail: SnapshotCache[tuple[int, BandLayout], CachedTail] = field(default_factory=SnapshotCache)
    bands: SnapshotCache[tuple[BandLayout, bytes], NDArray[np.uint64]] = field(
        default_factory=SnapshotCache
    )


class ShingleCache:
    """Shingle sets of texts that were compared lately, by their digests: an original comes again.

    There are two halves. What is asked for or made comes into the young one; once that is full it
    becomes the old one, and the old one is forgotten: what is asked for again and again stays.

    Args:
        most: Shingles that are kept at most, and one text's more.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._young: Sets = {}
        self._old: Sets = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def of(self, digests: Iterable[bytes]) -> Sets:
        """Return the sets that are kept."""
        young, old = self._young, self._old  # one read: another thread may put others in place
        found: Sets = {}
        again: Sets = {}
        for digest in digests:
            held = young.get(digest)
            if held is None:
                held = old.get(digest)
                if held is None:
                    continue
                again[digest] = held
            found[digest] = held
        self._keep(again)
        return found

    def put(self, made: Mapping[bytes, NDArray[np.uint64]]) -> None:
        """Keep sets."""
        # Copies: a row would keep all sets alive that were made with it.
        self._keep({digest: one.copy() for digest, one in made.items()})

    def _keep(self, sets: Sets) -> None:
        for digest, one in sets.items():
            if self._size > self._half:
                self._old, self._young, self._size = self._young, {}, 0
            self._young[digest] = one
            self._size += len(one)


def most_kept(*, resident: bool) -> int:
    """Return how many shingles an open store keeps; more where its indexes are in memory too."""
    return _KEPT_RESIDENT if resident else _KEPT_SHINGLES
