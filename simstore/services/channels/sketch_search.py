"""MinHash search: find stored documents whose sketches share an LSH band with the query's.

Packed sketches are looked up by their pages; those of the tail are held in memory and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import WORD_SKETCHES
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.shingle_sets import distinct
from simstore.fingerprint.sketching import unpack_sketches
from simstore.search.band_index import BandHashes, BandIndex
from simstore.search.band_index import is_affordable as is_affordable_hashes
from simstore.search.bands import (
    BandFilter,
    BandTable,
    band_start,
    checks,
    is_affordable,
    matching_postings,
    page_numbers,
    pages_of_one,
    postings_of_one,
)
from simstore.services.channels.samples import ReadSample
from simstore.services.open_store.band_cache import (
    CachedBandFilter,
    CachedBandHashes,
    CachedTail,
    kept_pages,
)
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.sketches import SKETCHES, LayoutRow, StoredSketch

# Sketches of a tail that are kept in memory from query to query: 12 bytes a band of each.
_KEPT_SKETCHES = 1_000_000
# Sketches whose pages and candidates are held at a time.
_BLOCK_SKETCHES = 128
# Pairs, with repetitions, that are held before they are thinned out.
_KEPT_PAIRS = 1 << 22
# Pages that are read in turn, to note what they carry, in the time in which one is looked up and
# gone through: of one sketch, and of many.
_IN_TURN_OF_ONE = 8
_IN_TURN_OF_MANY = 2
# Where the fields of a StoredSketch stand in a row.
_NUMBER, _PACKED = 0, 3
# Pairs whose bands are compared at a time.
_BLOCK_PAIRS = 1 << 16

Among = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


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
        self._cache = snapshot.store.sketch_cache(name)
        self._sketching = snapshot.channels.recipe(name).sketching
        self._packed = _layout(snapshot, name)
        standing = self._packed.layout if self._packed else None
        self._whole = standing or snapshot.channels.recipe(name).layout
        self.layout: BandLayout = (
            self._whole.enough_for(least_resemblance) if least_resemblance else self._whole
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
        queries = self._bands(wanted[None])
        numbers = self._packed_of_one(queries)
        if numbers:
            one_each = sorted(set(numbers))
            # Among many, most that pages name share some check bits by chance, in one band.
            if len(one_each) < len(numbers) or self._any_agrees(wanted, one_each):
                return True
        return any(
            table.may_agree(queries[0])
            if isinstance(table, BandIndex)
            else bool(table.candidates(queries)[0].size)
            for table in self._tail()
        )

    def warm(self) -> None:
        """Read the bands of all sketches, before anybody asks for some.

        Where those of an earlier layout were read already, only what came since is. A store with a
        resident index keeps the pages, too.
        """
        packed = self._packed
        if packed is not None:
            self._warm(packed)
            if self._snapshot.store.is_resident:
                self._keep_pages(packed)
        for _ in self._tail():
            pass

    def _warm(self, packed: LayoutRow) -> None:
        scheme_id, changes = self._snapshot.scheme_id, self._snapshot.settings.changes
        key = scheme_id, packed.layout
        kept = self._cache.hashes.get(key)
        if kept is not None and kept.serves(packed, changes):
            return
        count = packed.packed_count
        if kept is None or kept.since > changes or not kept.hashes.has_room(count):
            if not is_affordable_hashes(packed.layout.bands, count):
                return
            hashes = BandHashes(packed.layout.bands, count)
            kept = CachedBandHashes(0, changes, hashes)
        # Who looks something up meanwhile finds what was there, and perhaps more.
        for _, some in self._tables.read_after(
            self._snapshot.connection, scheme_id, kept.last_number, packed.packed_to
        ):
            kept.hashes.add(band_values(self._unpacked(some), packed.layout))
        self._cache.hashes.put(key, replace(kept, last_number=packed.packed_to))

    def _keep_pages(self, packed: LayoutRow) -> None:
        if self._cache.pages.get(packed.layout_id) is not None:
            return
        end = band_start(packed.layout.bands)
        every = self._tables.pages_between(self._snapshot.connection, packed.layout_id, 0, end)
        # Those of the layout before are not needed beside these.
        self._cache.pages.forget()
        made = kept_pages(every)
        if made is not None:
            self._cache.pages.put(packed.layout_id, made)

    def _agreeing(
        self, wanted: NDArray[Any], among: Among | None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], list[StoredSketch]]]:
        """Yield rows of sketches, and the places of stored ones that agree with them."""
        if not len(wanted):
            return
        queries = self._bands(wanted)
        tails = [table.candidates(queries) for table in self._tail()]
        for start in range(0, len(queries), _BLOCK_SKETCHES):
            part = slice(start, start + _BLOCK_SKETCHES)
            rows, numbers = self._candidates(queries[part], [table[part] for table in tails])
            if not len(numbers):
                continue
            held = sorted(self._stored(distinct(numbers).tolist()), key=itemgetter(_NUMBER))
            if not held:
                continue
            ids = np.array([row[_NUMBER] for row in held], np.int64)
            places = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
            there = ids[places] == numbers
            rows, places = rows[there], places[there]
            bands = band_values(self._unpacked([row[_PACKED] for row in held]), self.layout)
            agree = _agree(bands, places, queries[part], rows)
            rows, places = rows[agree], places[agree]
            # Most share check bits by chance, and are done with.
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
        whole = self._cache.bands_of_one(wanted, self._whole)
        return np.ascontiguousarray(whole[:, : self.layout.bands])

    def _packed_of_one(self, queries: NDArray[np.uint64]) -> list[int]:
        """Return the numbers of packed sketches that may agree with one, shape (1, bands).

        Who asks whether there may be any asks at once which they are.
        """
        if self._packed is None:
            return []
        key = self._packed.layout_id, queries.tobytes()
        return self._cache.named.made(key, lambda: self._named_for_one(queries))

    def _named_for_one(self, queries: NDArray[np.uint64]) -> list[int]:
        packed = self._packed
        if packed is None:
            return []
        layout_id, hashes = packed.layout_id, self._hashes(packed)
        before = self._cache.filters.get(layout_id)
        kept = self._kept_bands(packed, before)
        wanted = pages_of_one(queries[0].tolist(), packed.key_bits)
        if hashes is not None:
            wanted = dict(compress(wanted.items(), hashes.may_hold(queries)[0].tolist()))
        elif kept.filter is not None:
            wanted = kept.filter.passing(wanted)
        held = self._cache.pages.get(layout_id)
        if held is not None:
            found = held.of(np.array(list(wanted), np.int64))
        elif wanted:
            found = self._tables.pages(self._snapshot.connection, layout_id, list(wanted))
            self._note_looked_up(layout_id, before, kept, _IN_TURN_OF_ONE * len(wanted))
        else:
            return []
        try:
            return postings_of_one(found, wanted)
        except ValueError as error:
            raise self._snapshot.corrupt(str(error)) from error

    def _any_agrees(self, wanted: NDArray[Any], numbers: Sequence[int]) -> bool:
        """Return whether one of the sketches of these numbers agrees with one in a band."""
        stored = self._stored(numbers)
        if not stored:
            return False
        # Bands have the same hash where their values are the same.
        size, rows = self.layout.bands * self.layout.rows, self.layout.rows
        same = self._unpacked([row[_PACKED] for row in stored])[:, :size] == wanted[:size]
        return bool(same.reshape(-1, rows).all(axis=1).any())

    def _stored(self, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the sketches of these numbers that are there and not empty."""
        snapshot = self._snapshot
        known = self._tables.by_numbers(snapshot.connection, snapshot.scheme_id, numbers)
        return [row for row in known if row[_PACKED]]

    def _candidates(
        self, queries: NDArray[np.uint64], tails: Sequence[Sequence[NDArray[np.int64]]]
    ) -> Pairs:
        """Return rows of queries and the numbers of sketches that may agree, each pair once."""
        parts = [np.empty((2, 0), np.int64)]
        held = 0
        if len(queries) == 1:
            named = np.array(self._packed_of_one(queries), np.int64)
            packed: Iterable[Pairs] = [(np.zeros(len(named), np.int64), named)]
        else:
            packed = self._packed_candidates(queries)
        for rows, numbers in packed:
            parts.append(np.stack((rows, numbers)))
            held += len(rows)
            # What nearly is the same agrees in most bands.
            if held > max(_KEPT_PAIRS, 2 * parts[0].shape[1]):
                parts = [_distinct_pairs(parts)]
                held = parts[0].shape[1]
        for table in tails:
            lengths = [len(numbers) for numbers in table]
            rows = np.repeat(np.arange(len(table)), lengths)
            parts.append(np.stack((rows, np.concatenate([np.empty(0, np.int64), *table]))))
        rows, numbers = _distinct_pairs(parts)
        return rows, numbers

    def _packed_candidates(self, queries: NDArray[np.uint64]) -> Iterator[Pairs]:
        if self._packed is None:
            return
        wanted = page_numbers(queries, self._packed.key_bits)
        asks = np.ones(wanted.shape, np.bool_)
        layout_id = self._packed.layout_id
        before = self._cache.filters.get(layout_id)
        kept = self._kept_bands(self._packed, before)
        hashes = self._hashes(self._packed)
        if hashes is not None:
            asks = hashes.may_hold(queries)
        elif kept.filter is not None:
            asks = kept.filter.may_hold(wanted, checks(queries))
        held = self._cache.pages.get(layout_id)
        if held is not None:
            found = held.of(distinct(wanted[asks]))
        else:
            numbers = distinct(wanted[asks]).tolist()
            found = self._tables.pages(self._snapshot.connection, layout_id, numbers)
            self._note_looked_up(layout_id, before, kept, _IN_TURN_OF_MANY * len(numbers))
        if not found:
            return
        known = np.array(sorted(found), np.int64)
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        asked = np.flatnonzero(((known[places] == wanted) & asks).ravel())
        postings = matching_postings(
            [found[number] for number in known.tolist()],
            places.ravel()[asked],
            checks(queries).ravel()[asked],
        )
        try:
            for turns, numbers in postings:
                yield asked[turns] // queries.shape[1], numbers
        except ValueError as error:
            raise self._snapshot.corrupt(str(error)) from error

    def _note_looked_up(
        self, layout_id: int, before: CachedBandFilter | None, kept: CachedBandFilter, pages: int
    ) -> None:
        """Count pages that were looked up, unless another thread has counted meanwhile."""
        if self._cache.filters.get(layout_id) is before:
            counted = CachedBandFilter(kept.looked_up + pages, kept.filter)
            self._cache.filters.put(layout_id, counted)

    def _hashes(self, packed: LayoutRow) -> BandHashes | None:
        """Return the bands of what is packed, where they were read."""
        kept = self._cache.hashes.get((self._snapshot.scheme_id, packed.layout))
        serves = kept is not None and kept.serves(packed, self._snapshot.settings.changes)
        return kept.hashes if kept is not None and serves else None

    def _kept_bands(self, packed: LayoutRow, kept: CachedBandFilter | None) -> CachedBandFilter:
        """Return what pages carry, once looking them up took as long as to make a filter of them.

        Before that it would take longer than it has saved. Pages of a layout never change.
        """
        bands = packed.layout.bands
        if kept is None:
            kept = CachedBandFilter(0, None)
        if self._hashes(packed) is not None:
            return kept
        made = kept.filter
        held = made.bands if made else 0
        missing = max(self.layout.bands - held, 0) << packed.key_bits
        if kept.looked_up <= missing or not is_affordable(self.layout.bands, packed.key_bits):
            return kept
        if missing:
            made = made or BandFilter(bands, packed.key_bits)
            try:
                for band in range(held, self.layout.bands):
                    every = self._tables.pages_between(
                        self._snapshot.connection,
                        packed.layout_id,
                        band_start(band),
                        band_start(band + 1),
                    )
                    made.add(band, every)
            except ValueError as error:
                raise self._snapshot.corrupt(str(error)) from error
            kept = CachedBandFilter(0, made)
        return kept

    def _tail(self) -> Iterator[BandIndex | BandTable]:
        """Yield the bands of the sketches that are not packed."""
        state = self._snapshot
        layout_id = self._packed.layout_id if self._packed else 0
        after = self._packed.packed_to if self._packed else 0
        key = state.scheme_id, layout_id
        kept = self._cache.tail.get(key)
        since = changes = state.settings.changes
        index = BandIndex(self._whole.bands)
        if kept and kept.since <= changes:
            since, index = kept.since, kept.index
            after = max(after, index.last_number)
            if changes <= kept.changes:
                # What came later is found in vain: no document has it in this snapshot.
                yield index
                return
        read = self._tables.read_after(self._snapshot.connection, state.scheme_id, after)
        for numbers, packed in read:
            bands = band_values(self._unpacked(packed), self._whole)
            if len(index) + len(numbers) > _KEPT_SKETCHES:
                # What is not kept is read anew each time.
                yield index
                yield BandTable(bands, numbers)
                for more, others in read:
                    yield BandTable(band_values(self._unpacked(others), self._whole), more)
                return
            index = index.extended(bands, numbers)
        if kept is None or kept.changes <= changes:
            self._cache.tail.put(key, CachedTail(since, changes, index))
        yield index

    def _unpacked(self, packed: Sequence[bytes]) -> NDArray[Any]:
        try:
            return unpack_sketches(packed, self._sketching)
        except ValueError as error:
            raise self._snapshot.corrupt(str(error)) from error


def _layout(snapshot: Snapshot, name: str) -> LayoutRow | None:
    """Return the standing layout of a channel's sketches; None: they are not packed."""
    tables, scheme_id = SKETCHES[name], snapshot.scheme_id
    if name != WORD_SKETCHES:
        return tables.layout(snapshot.connection, scheme_id)
    # Each writer asks: what begins its transaction tells whether there is another one.
    return snapshot.store.sketch_cache(name).layout.made(
        (scheme_id, snapshot.settings.layout_id),
        lambda: tables.layout(snapshot.connection, scheme_id),
    )


def note_added(snapshot: Snapshot, name: str, number: int, packed: bytes) -> None:
    """Add the sketch of a writer's document to the tail in memory, so that it is not read back.

    To be called once the change is counted.

    Args:
        snapshot: The store as it was before the document, in the transaction that has added it and
            nothing else.
        name: The channel.
        number: That of the sketch.
        packed: The sketch, of a set that is not empty.
    """
    cache, before = snapshot.store.sketch_cache(name), snapshot.settings.changes
    row = _layout(snapshot, name)
    key = snapshot.scheme_id, row.layout_id if row else 0
    kept, recipe = cache.tail.get(key), snapshot.channels.recipe(name)
    if kept is None or kept.changes != before or len(kept.index) >= _KEPT_SKETCHES:
        return
    layout = row.layout if row else recipe.layout
    bands = cache.bands_of_one(unpack_sketches([packed], recipe.sketching), layout)
    index = kept.index.extended(bands, np.array([number], np.int64))
    cache.tail.put(key, CachedTail(kept.since, before + 1, index))


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


def _distinct_pairs(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return pairs, shape (2, n) each, ascending, each once."""
    rows, numbers = np.concatenate(parts, axis=1)
    if np.all((rows[1:] > rows[:-1]) | ((rows[1:] == rows[:-1]) & (numbers[1:] > numbers[:-1]))):
        return np.stack((rows, numbers))
    order = np.lexsort((numbers, rows))
    rows, numbers = rows[order], numbers[order]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (numbers[1:] != numbers[:-1])
    return np.stack((rows[fresh], numbers[fresh]))
