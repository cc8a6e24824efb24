"""MinHash search: find stored documents whose sketches share an LSH band with the query's.

Candidates come from the runs of a posting index (:mod:`simstore.index.bands`), and from the tail,
whose entries are held in memory between queries. The sketches themselves are compared then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import WORD_SKETCHES
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.shingle_sets import distinct
from simstore.fingerprint.sketching import unpack_sketches
from simstore.index.bands import band_keys, band_kind, sketch_entries
from simstore.index.pages import Entries
from simstore.index.tail import Tail
from simstore.services.channels.samples import ReadSample
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.index_pages import stored_index
from simstore.storage.sketches import SKETCHES, StoredSketch

# Sketches whose pages and candidates are held at a time.
_BLOCK_SKETCHES = 128
# Keys that are looked up one by one quicker than all at once.
_FEW_KEYS = 128
# Where the fields of a StoredSketch stand in a row.
_NUMBER, _PACKED = 0, 3
# Pairs whose bands are compared at a time.
_BLOCK_PAIRS = 1 << 16

Among = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


class _CachedTail(NamedTuple):
    """The entries of sketches that no run has yet, kept from query to query.

    Attributes:
        since: The store's count of changes from which on it holds the whole tail, and sketches that
            have gone or, in an older snapshot, are yet to come.
        changes: The count up to which it does.
    """

    since: int
    changes: int
    tail: Tail

    @property
    def memory_bytes(self) -> int:
        """Bytes of the entries: a key and a number each."""
        return 16 * len(self.tail)


class SketchSearch:
    """A search by sketches in one snapshot of a store.

    Args:
        snapshot: The store in a transaction.
        name: The channel.
        least_resemblance: Resemblance from which on pairs are looked for, at most 1; the fewer of
            the bands are looked at. 0: all bands.

    Attributes:
        layout: The bands that are looked at, the first of those that sketches are cut into.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        name: str = WORD_SKETCHES,
        least_resemblance: float = 0.0,
    ) -> None:
        self._snapshot = snapshot
        self._name = name
        self._tables = SKETCHES[name]
        self._cache = snapshot.store.cache
        recipe = snapshot.channels.recipe(name)
        self._sketching, self._whole = recipe.sketching, recipe.layout
        self.layout: BandLayout = (
            self._whole.enough_for(least_resemblance) if least_resemblance else self._whole
        )
        kind = band_kind(name, self._whole)
        self._index = stored_index(
            snapshot.connection, kind, snapshot.scheme_id, snapshot.store.cache
        )

    def candidates(self, samples: Sequence[ReadSample]) -> list[Mapping[int, StoredSketch]]:
        """Return the stored sketches that agree with each sample in a band, by their documents.

        Args:
            samples: With their sketches; what has no shingle finds nothing.
        """
        rows = [row for row, sample in enumerate(samples) if sample.sizes[self._name]]
        dtype, width = self._sketching.dtype, self._sketching.values
        sketched = np.array([samples[row].sketches[self._name] for row in rows], dtype)
        found: list[Mapping[int, StoredSketch]] = [{}] * len(samples)
        for row, some in zip(rows, self.find(sketched.reshape(len(rows), width)), strict=True):
            found[row] = some
        return found

    def find(self, wanted: NDArray[Any]) -> list[dict[int, StoredSketch]]:
        """Return the stored sketches that agree with each in a band, by their documents.

        Args:
            wanted: Sketches of sets that are not empty, shape (samples, values).
        """
        found: list[dict[int, StoredSketch]] = [{} for _ in wanted]
        for rows, places, stored in self._agreeing(wanted, None):
            for row, place in zip(rows.tolist(), places.tolist(), strict=True):
                found[row][stored[place].document_id] = stored[place]
        return found

    def agreeing(self, wanted: NDArray[Any], among: Among | None) -> Iterator[Pairs]:
        """Yield pairs of a given sketch and a stored document that share a band, in batches.

        Args:
            wanted: Sketches of sets that are not empty, shape (samples, values).
            among: Says which documents, int64, ascending, are looked at; None: all.

        Yields:
            Rows of ``wanted`` and documents, int64, shape (found,) each; a pair once.
        """
        for rows, places, stored in self._agreeing(wanted, among):
            numbers = np.array([row.document_id for row in stored], np.int64)
            yield rows, numbers[places]

    def may_agree(self, wanted: NDArray[Any]) -> bool:
        """Return whether a stored sketch may share a band with one; False: none does.

        Args:
            wanted: The sketch of a set that is not empty.
        """
        _, numbers = self._matching(band_keys(self._bands(wanted[None]))[0])
        if not len(numbers):
            return False
        if len(distinct(numbers)) < len(numbers):
            # Hardly ever are two keys of one sketch the same by chance.
            return True
        stored = self._stored(numbers)
        # Bands have the same hash where their values are the same.
        size, rows = self.layout.bands * self.layout.rows, self.layout.rows
        same = self._unpacked([row[_PACKED] for row in stored])[:, :size] == wanted[:size]
        return bool(same.reshape(-1, rows).all(axis=1).any())

    def holders(self, keys: Sequence[NDArray[np.uint64]]) -> list[list[StoredSketch]]:
        """Return the sketches that have one of some keys, or look as if: for each set of keys."""
        turns, numbers = self._matching(np.concatenate(keys))
        rows = np.repeat(np.arange(len(keys)), [len(one) for one in keys])[turns]
        stored = {row[_NUMBER]: StoredSketch(*row) for row in self._stored(numbers)}
        found: list[dict[int, StoredSketch]] = [{} for _ in keys]
        for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
            if number in stored:
                found[row][number] = stored[number]
        return [list(some.values()) for some in found]

    def warm(self) -> None:
        """Read the tail, before anybody asks for it."""
        self._tail()

    def _agreeing(
        self, wanted: NDArray[Any], among: Among | None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], list[StoredSketch]]]:
        """Yield rows of sketches, and the places of stored ones that agree with them."""
        if not len(wanted):
            return
        queries = self._bands(wanted)
        for start in range(0, len(queries), _BLOCK_SKETCHES):
            block = queries[start : start + _BLOCK_SKETCHES]
            rows, numbers = self._having(band_keys(block))
            held = sorted(self._stored(numbers), key=itemgetter(_NUMBER))
            if not held:
                continue
            ids = np.array([row[_NUMBER] for row in held], np.int64)
            places = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
            there = ids[places] == numbers
            rows, places = rows[there], places[there]
            bands = band_values(self._unpacked([row[_PACKED] for row in held]), self.layout)
            agree = _agree(bands, places, block, rows)
            rows, places = rows[agree], places[agree]
            # Some share a key by chance, and are done with.
            chosen = distinct(places)
            stored = [StoredSketch(*held[place]) for place in chosen.tolist()]
            if among is not None and stored:
                documents = np.array([row.document_id for row in stored], np.int64)
                order = np.argsort(documents)
                passes = np.empty(len(stored), np.bool_)
                passes[order] = among(documents[order])
                rows, places = _kept(rows, places, chosen[passes])
                stored = [row for row, is_passed in zip(stored, passes, strict=True) if is_passed]
                chosen = chosen[passes]
            if stored:
                yield start + rows, np.searchsorted(chosen, places), stored

    def _bands(self, wanted: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the bands of sketches that are looked at."""
        if len(wanted) != 1:
            return band_values(wanted, self.layout)
        # All of them are kept in memory when it is stored.
        key = self._whole, wanted.tobytes()
        whole = self._cache.made(
            ("bands", self._name), key, lambda: band_values(wanted, self._whole)
        )
        return np.ascontiguousarray(whole[:, : self.layout.bands])

    def _having(self, keys: NDArray[np.uint64]) -> Pairs:
        """Return rows of keys and numbers of sketches that have one of them, each pair once."""
        turns, numbers = self._matching(keys.ravel())
        return _distinct_pairs(turns // keys.shape[1], numbers)

    def _matching(self, keys: NDArray[np.uint64]) -> Pairs:
        """Return places of keys and the numbers of sketches that have them; some may have gone."""
        waiting = self._tail().look_up(keys)
        if len(keys) <= _FEW_KEYS:
            few = self._index.look_up_few(keys)
            turns = np.array([turn for turn, _ in few], np.int64)
            numbers = np.array([one for _, (one,) in few], np.uint64)
        else:
            turns, (_, values) = self._index.look_up(keys)
            numbers = values[:, 0]
        numbers = np.concatenate((waiting.entries.values[:, 0], numbers))
        return np.concatenate((waiting.turns, turns)), numbers.astype(np.int64)

    def _stored(self, numbers: NDArray[np.int64]) -> list[tuple[Any, ...]]:
        """Return the sketches of these numbers that are there and not empty."""
        if not len(numbers):
            return []
        snapshot = self._snapshot
        wanted = distinct(numbers).tolist()
        known = self._tables.by_numbers(snapshot.connection, snapshot.scheme_id, wanted)
        return [row for row in known if row[_PACKED]]

    def _tail(self) -> Tail:
        """Return the entries of the sketches that are in no run."""
        state, last = self._snapshot, self._index.last
        name, key = ("tail", self._name), (state.scheme_id, self._whole)
        kept: _CachedTail | None = self._cache.get(name, key)
        since = changes = state.settings.changes
        tail = Tail(last)
        if kept and kept.since <= changes and kept.tail.after <= last:
            since, tail = kept.since, kept.tail
            if tail.after < last:
                tail = tail.above(last)
            elif changes <= kept.changes:
                # What came later is found in vain: no document has it in this snapshot.
                return tail
        read = self._tables.read_after(state.connection, state.scheme_id, tail.last)
        for numbers, packed, forms in read:
            tail = tail.extended(self._entries(numbers, packed, forms), int(numbers[-1]))
        if kept is None or kept.changes <= changes:
            self._cache.put(name, key, _CachedTail(since, changes, tail))
        return tail

    def _entries(
        self, numbers: NDArray[np.int64], packed: Sequence[bytes], forms: Sequence[bytes | None]
    ) -> Entries:
        try:
            hashes = band_values(unpack_sketches(packed, self._sketching), self._whole)
            return sketch_entries(numbers, hashes, forms)
        except ValueError as error:
            raise self._snapshot.corrupt(error) from error

    def _unpacked(self, packed: Sequence[bytes]) -> NDArray[Any]:
        try:
            return unpack_sketches(packed, self._sketching)
        except ValueError as error:
            raise self._snapshot.corrupt(error) from error


def note_added(
    snapshot: Snapshot, name: str, number: int, packed: bytes, forms: bytes | None
) -> None:
    """Add the sketch of a writer's document to the tail in memory, so that it is not read back.

    To be called once the change is counted.

    Args:
        snapshot: The store as it was before the document, in the transaction that has added it and
            nothing else.
        name: The channel.
        number: That of the sketch.
        packed: The sketch, of a set that is not empty.
        forms: Its forms of a title, packed.
    """
    cache, before = snapshot.store.cache, snapshot.settings.changes
    recipe = snapshot.channels.recipe(name)
    key = snapshot.scheme_id, recipe.layout
    kept: _CachedTail | None = cache.get(("tail", name), key)
    if kept is None or kept.changes != before:
        return
    sketch = unpack_sketches([packed], recipe.sketching)
    bands = cache.made(
        ("bands", name),
        (recipe.layout, sketch.tobytes()),
        lambda: band_values(sketch, recipe.layout),
    )
    entries = sketch_entries(np.array([number], np.int64), bands, [forms])
    tail = kept.tail.extended(entries, number)
    cache.put(("tail", name), key, _CachedTail(kept.since, before + 1, tail))


def _agree(
    bands: NDArray[np.uint64],
    places: NDArray[np.int64],
    queries: NDArray[np.uint64],
    rows: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which pairs of stored bands and queries, by their rows, agree in a band."""
    agree = np.empty(len(rows), np.bool_)
    for first in range(0, len(rows), _BLOCK_PAIRS):
        some = slice(first, first + _BLOCK_PAIRS)
        agree[some] = (bands[places[some]] == queries[rows[some]]).any(axis=1)
    return agree


def _kept(rows: NDArray[np.int64], places: NDArray[np.int64], chosen: NDArray[np.int64]) -> Pairs:
    """Return the pairs of a row and a place that is among some, which are ascending."""
    if not len(chosen):
        return rows[:0], places[:0]
    at = np.minimum(np.searchsorted(chosen, places), len(chosen) - 1)
    kept = chosen[at] == places
    return rows[kept], places[kept]


def _distinct_pairs(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Pairs:
    """Return pairs, ascending, each once."""
    order = np.lexsort((numbers, rows))
    rows, numbers = rows[order], numbers[order]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (numbers[1:] != numbers[:-1])
    return rows[fresh], numbers[fresh]
