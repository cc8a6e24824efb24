"""One index for every look-up: immutable sorted runs of packed pages, merged as they become many.

An entry is a 64-bit key and some integers. Entries come in batches; each batch becomes a run, and
runs of about one size become one of the next. What says whether an entry is still true (the row of
a document, say) is not here: a merge asks for it, and leaves out what is not.

References:
    O'Neil, Cheng, Gawlick, O'Neil: The log-structured merge-tree, Acta Informatica 33, 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, repeat
from typing import NamedTuple, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import distinct
from simstore.index import filters, tuning
from simstore.index.filters import Filters, FilterWriter
from simstore.index.pages import MOST_PAGE_BITS, DamagedPage, Entries, Shape, found_in, pack, unpack

# Runs of one level, each of at most eight times the entries of one below.
_LEVEL_BITS = 3
_LEAST_LEVEL_BITS = 10
# A merge goes by at most so many leading bits of the keys.
_MOST_PART_BITS = 12

Keep = Callable[[Entries], NDArray[np.bool_]]
Row = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Kind:
    """A use of the index.

    Attributes:
        name: The name, which its runs have.
        key_bits: Leading bits of a key that count, 32 to 64.
        value_count: Integers beside a key.
        is_filtered: Its runs have filters: most keys that are asked for are in few runs.
        most_runs: Runs of one level that are not merged yet.
        page_bits: Leading bits of a key that may name a page: those that each look-up knows.
    """

    name: str
    key_bits: int = 64
    value_count: int = 0
    is_filtered: bool = True
    most_runs: int = tuning.LEVEL_RUNS
    page_bits: int = MOST_PAGE_BITS


@dataclass(frozen=True, slots=True)
class Run:
    """A run of an index.

    Attributes:
        number: Its number, which no other run ever has.
        shape: How its pages are packed.
        count: Entries, those that are no longer true among them.
        last: The largest number of a source (a document, a sketch) whose entries are in it.
        filter_words: Words of its filter; 0: it has none.
        checksum: Sum of the checksums of its rows, modulo 2**32.
    """

    number: int
    shape: Shape
    count: int
    last: int
    filter_words: int = 0
    checksum: int = 0

    @property
    def level(self) -> int:
        """Its level, by the number of its entries."""
        return _level_of(self.count)


class Pages(Protocol):
    """Storage of the runs and rows of one index, in one transaction."""

    def runs(self) -> Sequence[Run]:
        """Return the runs, the oldest first."""

    def add_run(self, run: Run) -> Run:
        """Write a run; return it with its number."""

    def set_totals(self, run: Run) -> None:
        """Write the count and the checksum of a run."""

    def drop_run(self, run: Run) -> None:
        """Delete a run and what is left of its rows."""

    def read(self, run: Run, places: Sequence[int]) -> list[Row]:
        """Return the rows at some places that are there, ascending."""

    def read_each(self, wanted: Sequence[tuple[Run, int]]) -> list[bytes | None]:
        """Return the row at each place of a run, None where there is none; few statements."""

    def read_between(self, run: Run, first: int, end: int) -> list[Row]:
        """Return the rows at ``first <= place < end``, ascending."""

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        """Write rows, ascending."""

    def delete_between(self, run: Run, first: int, end: int) -> None:
        """Delete the rows at ``first <= place < end``."""

    def filters(self) -> Filters:
        """Return the filters of the runs, with the pages that were read before."""

    def damaged(self, error: DamagedPage) -> Exception:
        """Return the error to raise where a row is damaged."""


class Found(NamedTuple):
    """Entries that were looked up.

    Attributes:
        turns: Which of the keys that were asked for; int64, shape (n,).
        entries: The entries.
    """

    turns: NDArray[np.int64]
    entries: Entries


class PostingIndex:
    """The runs of one kind, as one transaction sees them.

    Args:
        kind: The kind.
        pages: Where they are kept.
    """

    def __init__(self, kind: Kind, pages: Pages) -> None:
        self.kind = kind
        self.pages = pages
        self._mask = np.uint64((1 << 64) - (1 << (64 - kind.key_bits)))

    @property
    def runs(self) -> Sequence[Run]:
        """The runs, the oldest first."""
        return self.pages.runs()

    @property
    def last(self) -> int:
        """The largest number of a source whose entries are here, or 0."""
        return max((run.last for run in self.runs), default=0)

    @property
    def count(self) -> int:
        """Entries, those that are no longer true among them."""
        return sum(run.count for run in self.runs)

    # Writing

    def add(self, entries: Entries, last: int = 0, keep: Keep | None = None) -> None:
        """Write entries, in any order, as a run; merge it with others where they are many.

        Args:
            entries: The entries.
            last: The largest number of a source whose entries they are.
            keep: Returns which entries of the other runs are still true; None: all are.
        """
        made = Entries(entries.keys & self._mask, entries.values).in_order(self.kind.key_bits)
        self._replace(self._due(len(made.keys)), made, last, keep)

    def merge(self, keep: Keep | None = None) -> None:
        """Put one run in the place of all.

        Args:
            keep: As for :meth:`add`.
        """
        if self.runs:
            self._replace(self.runs, Entries.none(self.kind.value_count), 0, keep)

    def _due(self, count: int) -> list[Run]:
        """Return the runs that are merged with a new one of so many entries."""
        due: list[Run] = []
        left = list(self.runs)
        while True:
            level = _level_of(count)
            if sum(run.level == level for run in left) < self.kind.most_runs:
                return due
            taken = [run for run in left if run.level <= level]
            left = [run for run in left if run.level > level]
            due += taken
            count += sum(run.count for run in taken)

    def _replace(self, runs: Sequence[Run], added: Entries, last: int, keep: Keep | None) -> None:
        """Put one run in the place of several and of entries in order, by ranges of keys."""
        count = len(added.keys) + sum(run.count for run in runs)
        most = [int(column.max(initial=0)) for column in added.values.T]
        for run in runs:
            limits = [(1 << 8 * width) - 1 for width in run.shape.widths]
            most = [max(pair) for pair in zip(most, limits, strict=True)]
            last = max(last, run.last)
        parts: Iterable[Entries] = self._taken(runs, added, count, keep) if runs else [added]
        if count <= tuning.MERGED_ENTRIES:
            # They are held anyway: the pages and the filter are made for what is left.
            parts = list(parts)
            count = sum(len(part.keys) for part in parts)
        self._write(parts, count, most, last)
        for run in runs:
            self.pages.drop_run(run)

    def _taken(
        self, runs: Sequence[Run], added: Entries, count: int, keep: Keep | None
    ) -> Iterator[Entries]:
        """Yield the entries of runs that are still true, with others, by ranges of keys.

        The rows of the runs are deleted.
        """
        bits = min((max(count - 1, 0) // tuning.MERGED_ENTRIES).bit_length(), _MOST_PART_BITS)
        leads = added.keys >> np.uint64(64 - bits) if bits else np.zeros_like(added.keys)
        for part in range(1 << bits):
            parts = [Entries.none(self.kind.value_count)]
            for run in runs:
                bounds = _range_of(run.shape, part, bits)
                parts.append(self._between(run, *bounds, part=part, bits=bits))
                if part == (1 << bits) - 1 or bits <= run.shape.page_bits:
                    self.pages.delete_between(run, *bounds)
            entries = Entries.joined(parts)
            if keep is not None:
                entries = entries.chosen(keep(entries))
            first, end = np.searchsorted(leads, (part, part + 1))
            own = added.chosen(np.arange(first, end))
            yield Entries.joined((entries, own)).in_order(self.kind.key_bits)

    def _write(self, parts: Iterable[Entries], count: int, most: Sequence[int], last: int) -> None:
        """Write a run of parts in order, of at most ``count`` entries."""
        shape = Shape.fitting(self.kind.key_bits, count, most, self.kind.page_bits)
        words = filters.word_count(count) if self.kind.is_filtered else 0
        run = self.pages.add_run(Run(0, shape, count, last, words))
        writer = FilterWriter(words) if words else None
        written = checksum = 0
        held = Entries.none(self.kind.value_count)
        for part in parts:
            # Its last page may go on in the next part.
            held, ready = _last_page(Entries.joined((held, part)), shape)
            checksum += self._put(run, ready, writer)
            written += len(ready.keys)
        checksum += self._put(run, held, writer)
        written += len(held.keys)
        if writer is not None:
            rows = list(writer.finish())
            self.pages.write(run, rows)
            checksum += _checksum(rows)
        self.pages.set_totals(replace(run, count=written, checksum=checksum % (1 << 32)))

    def _put(self, run: Run, entries: Entries, writer: FilterWriter | None) -> int:
        """Write the rows of some entries, and filter pages that are complete; return their sum."""
        if not len(entries.keys):
            return 0
        rows = list(pack(entries, run.shape))
        more = list(writer.add(entries)) if writer is not None else []
        self.pages.write(run, rows)
        self.pages.write(run, more)
        return _checksum(rows) + _checksum(more)

    # Reading

    def look_up(
        self,
        keys: NDArray[np.uint64],
        *,
        bits: int | None = None,
        most: int | None = None,
        keep: Keep | None = None,
        tail: Entries | None = None,
    ) -> Found:
        """Return the entries that have the same leading bits as keys.

        Args:
            keys: Keys, in any order.
            bits: How many leading bits are to be the same; None: all that count.
            most: Keys that have more entries are left out; None: none are. Of a crowded key no
                more rows are read than tell that it is.
            keep: Returns which entries are still true: others are left out, and do not count.
                None: all are.
            tail: Entries that are in no run.

        Returns:
            In no order.

        Raises:
            DamagedPage: A row is none.
        """
        mask = self._mask if bits is None else np.uint64((1 << 64) - (1 << (64 - bits)))
        wanted = keys & mask
        asks = self._may_hold(wanted) if bits is None else None
        tail = Entries.none(self.kind.value_count) if tail is None else tail
        some, places = matching(wanted, tail.keys & mask)
        turns, parts = [some], [tail.chosen(places)]
        for number, run in enumerate(self.runs):
            asked = np.arange(len(keys)) if asks is None else np.flatnonzero(asks[number])
            if not len(asked):
                continue
            held = self._near(run, wanted[asked], bits or self.kind.key_bits, most, keep)
            some, places = matching(wanted[asked], held.keys & mask)
            turns.append(asked[some])
            parts.append(held.chosen(places))
        found = Found(np.concatenate(turns), Entries.joined(parts))
        if keep is not None:
            is_kept = keep(found.entries)
            found = Found(found.turns[is_kept], found.entries.chosen(is_kept))
        if most is None:
            return found
        few = np.bincount(found.turns, minlength=len(keys))[found.turns] <= most
        return Found(found.turns[few], found.entries.chosen(few))

    def look_up_few(self, keys: NDArray[np.uint64]) -> list[tuple[int, tuple[int, ...]]]:
        """Return the entries that have one of a few keys: which key, and the integers.

        However many runs there are, the first row of each page comes by one statement.

        Args:
            keys: Keys, in any order.

        Raises:
            DamagedPage: A row is none.
        """
        runs, wanted = self.pages.runs(), keys & self._mask
        if not runs:
            return []
        asks, own = self._may_hold(wanted), wanted.tolist()
        pairs: Iterable[tuple[int, int]] = product(range(len(runs)), range(len(own)))
        if asks is not None:
            numbers, turns = asks.nonzero()
            pairs = zip(numbers.tolist(), turns.tolist(), strict=True)
        asked, places = [], []
        for number, turn in pairs:
            shape = runs[number].shape
            asked.append((turn, runs[number]))
            places.append((runs[number], own[turn] >> shape.page_shift << shape.row_bits))
        found: list[tuple[int, tuple[int, ...]]] = []
        rows = self.pages.read_each(places) if places else []
        for (turn, run), (_, place), first in zip(asked, places, rows, strict=True):
            if first is None:
                continue
            page = [(place, first)]
            if len(first) == run.shape.full_bytes:
                page += self.pages.read_between(run, place + 1, place + (1 << run.shape.row_bits))
            for at, row in page:
                try:
                    values = found_in(row, own[turn], run.shape)
                except ValueError:
                    raise self.pages.damaged(DamagedPage(at)) from None
                found += zip(repeat(turn, len(values)), values, strict=True)
        return found

    def scan(self, run: Run) -> Iterator[Entries]:
        """Yield the entries of a run, ascending, a range of keys at a time.

        Raises:
            DamagedPage: A row is none.
        """
        for rows in self._rows_of(run):
            yield self._unpacked(run, rows)

    def check(self) -> Iterator[str]:
        """Yield what is wrong with the runs by themselves: order, counts and checksums.

        Raises:
            DamagedPage: A row is none.
        """
        for run in self.runs:
            count = checksum = 0
            last = -1
            for rows in self._rows_of(run):
                entries = self._unpacked(run, rows)
                checksum += _checksum(rows)
                count += len(entries.keys)
                if len(entries.keys):
                    in_order = (entries.keys[1:] >= entries.keys[:-1]).all()
                    if not in_order or int(entries.keys[0]) < last:
                        yield f"run {run.number} of {self.kind.name} is out of order"
                    last = int(entries.keys[-1])
            end = filters.FIRST_PLACE + filters.page_count(run.filter_words)
            checksum += _checksum(self.pages.read_between(run, filters.FIRST_PLACE, end))
            if count != run.count:
                yield f"run {run.number} of {self.kind.name}: {count} entries, {run.count} counted"
            elif checksum % (1 << 32) != run.checksum:
                yield f"run {run.number} of {self.kind.name} has another checksum"

    def _rows_of(self, run: Run) -> Iterator[list[Row]]:
        """Yield the rows of the pages of a run, ascending, a range of keys at a time."""
        bits = min(
            (max(run.count - 1, 0) // tuning.MERGED_ENTRIES).bit_length(), run.shape.page_bits
        )
        for part in range(1 << bits):
            yield self.pages.read_between(run, *_range_of(run.shape, part, bits))

    def _may_hold(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_] | None:
        """Return which runs may hold each key, shape (runs, n); None: any may."""
        runs = self.pages.runs()
        if not self.kind.is_filtered or not runs:
            return None

        def read(wanted: list[tuple[int, int]]) -> list[bytes | None]:
            return self.pages.read_each([(runs[number], place) for number, place in wanted])

        try:
            return self.pages.filters().may_hold(keys, read)
        except DamagedPage as error:
            raise self.pages.damaged(error) from error

    def _near(
        self, run: Run, keys: NDArray[np.uint64], bits: int, most: int | None, keep: Keep | None
    ) -> Entries:
        """Return all entries of the pages that entries with leading bits of keys can be in.

        Args:
            run: The run.
            keys: The keys.
            bits: Leading bits that count.
            most: As for :meth:`look_up`.
            keep: As for :meth:`look_up`.
        """
        shape = run.shape
        if bits >= shape.page_bits:
            rows = self.pages.read(run, distinct(shape.first_places(keys)).tolist())
            for place in [place for place, row in rows if len(row) == shape.full_bytes]:
                rows += self._following(run, place, keys, most, keep)
        else:
            rows = []
            for lead in distinct(keys >> np.uint64(64 - bits)).tolist():
                rows += self.pages.read_between(run, *_range_of(shape, lead, bits))
        return self._unpacked(run, rows)

    def _following(
        self,
        run: Run,
        place: int,
        keys: NDArray[np.uint64],
        most: int | None,
        keep: Keep | None,
    ) -> list[Row]:
        """Return the rows of a page behind its first; where they are enough, some of them."""
        shape = run.shape
        end = place + (1 << shape.row_bits)
        if most is None:
            return self.pages.read_between(run, place + 1, end)
        own = keys[shape.first_places(keys) == place]
        counts = np.zeros(len(own), np.int64)
        found: list[Row] = []
        first, step = place + 1, most // shape.row_entries + 2
        while True:
            rows = self.pages.read_between(run, first, min(first + step, end))
            found += rows
            if len(rows) < step:
                return found
            held = self._unpacked(run, rows)
            last = held.keys[-1] & self._mask
            if keep is not None:
                held = held.chosen(keep(held))
            there = held.keys & self._mask
            counts += np.searchsorted(there, own, "right") - np.searchsorted(there, own, "left")
            if ((own < last) | (counts > most)).all():
                return found
            first, step = first + step, 2 * step

    def _between(self, run: Run, first: int, end: int, *, part: int, bits: int) -> Entries:
        """Return the entries of a range of places whose keys begin with ``bits`` bits of a part."""
        rows = self.pages.read_between(run, first, end)
        entries = self._unpacked(run, rows)
        if bits <= run.shape.page_bits:
            return entries
        return entries.chosen(entries.keys >> np.uint64(64 - bits) == part)

    def _unpacked(self, run: Run, rows: Sequence[Row]) -> Entries:
        """Return the entries of rows of a run."""
        if not rows:
            return Entries.none(self.kind.value_count)
        places, packed = zip(*rows, strict=True)
        try:
            return unpack(places, packed, run.shape)
        except DamagedPage as error:
            raise self.pages.damaged(error) from error


def _level_of(count: int) -> int:
    """Return the level of a run of so many entries."""
    return max(count.bit_length() - _LEAST_LEVEL_BITS, 0) // _LEVEL_BITS


def matching(
    asked: NDArray[np.uint64], held: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of places of one number in two arrays: those in the first and the other."""
    order = np.argsort(asked, kind="stable")
    ordered = asked[order]
    begins = np.searchsorted(ordered, held, "left")
    # Most entries of a page, or of the tail, have no key that was asked for.
    hits = np.flatnonzero(np.append(ordered, np.uint64(0))[begins] == held)
    hits = hits[begins[hits] < len(ordered)]
    begins = begins[hits]
    counts = np.searchsorted(ordered, held[hits], "right") - begins
    places = np.repeat(hits, counts)
    steps = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.repeat(begins, counts) + steps], places


def _range_of(shape: Shape, part: int, bits: int) -> tuple[int, int]:
    """Return between which places the pages lie whose keys begin with ``bits`` bits of a part."""
    if bits <= shape.page_bits:
        shift = shape.page_bits - bits
        return part << shift << shape.row_bits, (part + 1) << shift << shape.row_bits
    page = part >> (bits - shape.page_bits)
    return page << shape.row_bits, (page + 1) << shape.row_bits


def _last_page(entries: Entries, shape: Shape) -> tuple[Entries, Entries]:
    """Return the entries of the last page, and those before."""
    if not len(entries.keys):
        return entries, entries
    firsts = shape.first_places(entries.keys)
    cut = int(np.searchsorted(firsts, firsts[-1]))
    return entries.chosen(slice(cut, None)), entries.chosen(slice(cut))


def _checksum(rows: Sequence[Row]) -> int:
    """Return the sum of the checksums of rows, which their places are part of."""
    return sum(crc32(row, place & 0xFFFFFFFF) for place, row in rows)
