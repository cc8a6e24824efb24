"""Fingerprints in posting indexes: an index for each 16-bit segment, which leads the key.

A fingerprint of 64 or 128 bits is turned so that the segment leads: the first 64 bits are the key,
the others an integer beside it. Fingerprints within a radius share the value of a segment, or one
near it, so all of them are in the pages of a few leading values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import Kernel, pays
from simstore.fingerprint.shingle_sets import begins_run
from simstore.index.pages import PLACE_BITS, DamagedPage, Entries, row_lengths, unpack
from simstore.index.postings import Keep, Kind, PostingIndex, Run
from simstore.text.tokens import mix

SEGMENT_BITS = 16
PACKED_BITS = (64, 128)
# Queries that are looked up at a time.
_QUERIES = 1 << 14
# Seconds that NumPy takes for an entry of a page, and for a row.
_ENTRY_SECONDS, _ROW_SECONDS = 2e-8, 1e-6
_WORD_BYTES = 8

Matches = tuple[NDArray[np.int64], NDArray[np.uint64]]
# Rows of several runs: (run, place), and what was read: (run's number and place, row).
ReadRows = Callable[[Sequence[int]], Sequence[tuple[int, bytes]]]


def kinds(bits: int) -> list[Kind]:
    """Return the kind of each segment of fingerprints of 64 or 128 bits.

    Most leading values that are asked for are in every run: filters would not help, and few runs
    do.
    """
    return [
        Kind(f"simhash {bits}, segment {segment}", 64, bits // 64 - 1, False, most_runs=1)
        for segment in range(bits // SEGMENT_BITS)
    ]


def turned(words: NDArray[np.uint64], segment: int) -> NDArray[np.uint64]:
    """Return fingerprints of 64 or 128 bits turned left until a segment leads; the shape stays."""
    return _turned_by(words, SEGMENT_BITS * segment)


def restored(words: NDArray[np.uint64], segment: int) -> NDArray[np.uint64]:
    """Return turned fingerprints as they were; the inverse of :func:`turned`."""
    return _turned_by(words, 64 * words.shape[1] - SEGMENT_BITS * segment)


def _turned_by(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    whole, rest = divmod(bits % (64 * words.shape[1]), 64)
    moved = np.roll(words, -whole, axis=1)
    if rest:
        following = np.roll(moved, -1, axis=1)
        moved = moved << np.uint64(rest) | following >> np.uint64(64 - rest)
    return moved


class FingerprintRuns:
    """The runs of all segments of the fingerprints of one generation, in one transaction.

    Args:
        bits: M, 64 or 128.
        indexes: The index of each segment, of :func:`kinds`.
        read_rows: Reads rows of any of the runs, by their numbers in the table.
    """

    def __init__(self, bits: int, indexes: Sequence[PostingIndex], read_rows: ReadRows) -> None:
        self.bits = bits
        self._indexes = indexes
        self._read_rows = read_rows
        self._described: tuple[NDArray[np.int64], list[tuple[int, int, Run]]] | None = None

    @property
    def count(self) -> int:
        """Fingerprints in runs, those that were removed among them."""
        return self._indexes[0].count

    def add(self, words: NDArray[np.uint64], gone: NDArray[np.uint64]) -> None:
        """Write fingerprints that are in no run as a run; merge it with others where they are many.

        Args:
            words: The fingerprints, shape (n, M / 64), in any order.
            gone: Fingerprints that were removed: a merge leaves them out.
        """
        for segment, index in enumerate(self._indexes):
            moved = turned(words, segment)
            index.add(Entries(moved[:, 0], moved[:, 1:]), keep=_all_but(gone, segment))

    def merge(self, gone: NDArray[np.uint64]) -> None:
        """Put one run in the place of all, without fingerprints that were removed."""
        for segment, index in enumerate(self._indexes):
            index.merge(_all_but(gone, segment))

    def holds(self, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return whether each fingerprint is in a run, removed or not; shape (n,)."""
        found = np.zeros(len(words), np.bool_)
        turns, entries = self._indexes[0].look_up(words[:, 0])
        same = (entries.values == words[turns, 1:]).all(axis=1)
        found[turns[same]] = True
        return found

    def check(self) -> Iterator[str]:
        """Yield what is wrong with the runs by themselves, and where segments differ."""
        sums = []
        for segment, index in enumerate(self._indexes):
            yield from index.check()
            total = count = 0
            for words in self.scan(segment):
                count += len(words)
                total += int(mix(words[:, 0] ^ mix(words[:, -1])).sum(dtype=np.uint64))
            sums.append((count, total % (1 << 64)))
        for segment, one in enumerate(sums):
            if one != sums[0]:
                yield f"segment {segment} holds other fingerprints than segment 0"

    def in_range(self, part: int, bits: int) -> NDArray[np.uint64]:
        """Return the fingerprints whose first bits, at most 16 of them, are a number."""
        key = np.array([part << (64 - bits)], np.uint64)
        entries = self._indexes[0].look_up(key, bits=bits).entries
        return np.column_stack((entries.keys, entries.values))

    def scan(self, segment: int = 0) -> Iterator[NDArray[np.uint64]]:
        """Yield all fingerprints, as an array of shape (n, M / 64) each, not in order."""
        index = self._indexes[segment]
        for run in index.runs:
            for entries in index.scan(run):
                held = np.column_stack((entries.keys, entries.values))
                yield restored(held, segment)

    def near(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        probes: Sequence[tuple[int, Sequence[int]]],
        compared: NDArray[np.int64] | None = None,
    ) -> Matches:
        """Return the fingerprints within a radius that share a segment's value, or one near it.

        Args:
            queries: Fingerprints, shape (m, M / 64).
            radius: Largest distance, in bits, inclusive.
            probes: Segments, each with what is flipped in a query's value of it.
            compared: How many entries each query was compared with, to be added to.

        Returns:
            Rows of the queries and fingerprints, as often as they were found, in no order.

        Raises:
            DamagedPage: A row is none.
        """
        parts = [
            self._near(queries[start : start + _QUERIES], radius, probes, compared, start)
            for start in range(0, len(queries), _QUERIES)
        ]
        return (
            np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in parts)]),
            np.concatenate([queries[:0], *(words for _, words in parts)]),
        )

    def _near(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        probes: Sequence[tuple[int, Sequence[int]]],
        compared: NDArray[np.int64] | None,
        first: int,
    ) -> Matches:
        """Return what :meth:`near` does of some queries, numbered from ``first``."""
        described, runs = self._runs()
        ways = np.stack([turned(queries, segment) for segment in range(len(self._indexes))], axis=1)
        asked: list[NDArray[np.int64]] = []
        turns: list[NDArray[np.int64]] = []
        for segment, flips in probes:
            leads = (ways[:, segment, 0] >> np.uint64(64 - SEGMENT_BITS)).astype(np.int64)
            values = (leads[:, None] ^ np.asarray(flips, np.int64)).ravel()
            rows = np.repeat(np.arange(len(queries)), len(flips))
            for _, of_segment, run in runs:
                if of_segment == segment:
                    numbers, times = _page_numbers(run, values)
                    asked.append(numbers)
                    turns.append(np.repeat(rows, times))
        if not asked:
            return np.empty(0, np.int64), queries[:0]
        numbers, order = np.concatenate(asked), np.concatenate(turns)
        if len(numbers) > 1:
            by_page = np.argsort(numbers, kind="stable")
            numbers, order = numbers[by_page], order[by_page]
        wanted, starts = np.unique(numbers, return_index=True)
        held = self._with_following(self._read_rows(wanted.tolist()))
        if not held:
            return np.empty(0, np.int64), queries[:0]
        found = np.array([number for number, _ in held], np.int64)
        # The queries of a row are those of the first row of its page.
        places = np.searchsorted(wanted, found, side="right") - 1
        ends = np.append(starts[1:], len(numbers))
        spans = np.stack((starts[places], ends[places]), axis=1)
        rows, words = self._scanned(held, found, described, ways, order, spans, radius)
        if compared is not None:
            self._count(held, found, order, spans, compared, first)
        return rows + first, words

    def _runs(self) -> tuple[NDArray[np.int64], list[tuple[int, int, Run]]]:
        """Return the runs of all segments: as numbers for a kernel, and (number, segment, run)."""
        listed = [
            (run.number, segment, run)
            for segment, index in enumerate(self._indexes)
            for run in index.runs
        ]
        if self._described is None or len(self._described[1]) != len(listed):
            listed.sort(key=lambda one: one[0])
            rows = [
                (
                    number,
                    segment,
                    run.shape.page_bits,
                    run.shape.row_bits,
                    run.shape.key_bytes,
                    run.shape.entry_bytes,
                )
                for number, segment, run in listed
            ]
            self._described = np.array(rows, np.int64).reshape(-1, 6), listed
        return self._described

    def _run_of(self, number: int) -> tuple[int, Run]:
        """Return the segment and the run of a row."""
        described, runs = self._runs()
        place = int(np.searchsorted(described[:, 0], number >> PLACE_BITS))
        return runs[place][1], runs[place][2]

    def _with_following(self, rows: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Return rows with those that follow a full first row of a page."""
        found = list(rows)
        waiting = rows
        while waiting:
            full = []
            for number, row in waiting:
                _, run = self._run_of(number)
                if isinstance(row, bytes) and run.shape.is_full(row):
                    full.append(number + 1)
            waiting = self._read_rows(full) if full else ()
            found += waiting
        return found

    def _scanned(
        self,
        held: Sequence[tuple[int, bytes]],
        numbers: NDArray[np.int64],
        described: NDArray[np.int64],
        ways: NDArray[np.uint64],
        order: NDArray[np.int64],
        spans: NDArray[np.int64],
        radius: int,
    ) -> Matches:
        """Return the entries of rows that are within the radius of a query of theirs."""
        for number, row in held:
            if not isinstance(row, bytes):
                raise self._damaged(number)
        size = sum(len(row) for _, row in held)
        pairs = size // _WORD_BYTES * max(len(order) // max(len(held), 1), 1)
        if not pays(_ROW_SECONDS * len(held) + _ENTRY_SECONDS * pairs):
            return self._scanned_plain(held, ways, order, spans, radius)
        packed = [row for _, row in held]
        lengths = np.fromiter(map(len, packed), np.int64, len(packed))
        data = np.frombuffer(b"".join((*packed, bytes(_WORD_BYTES))), np.uint8)
        room = max(256, len(order))
        while True:
            rows = np.empty(room, np.int64)
            words = np.empty((room, ways.shape[2]), np.uint64)
            count = NEAR_IN_ROWS(
                data, lengths, numbers, described, ways, order, spans, radius, rows, words
            )
            if count < 0:
                place = int(numbers[-1 - count])
                raise self._damaged(place)
            if count <= room:
                return rows[:count], words[:count]
            room = count

    def _scanned_plain(
        self,
        held: Sequence[tuple[int, bytes]],
        ways: NDArray[np.uint64],
        order: NDArray[np.int64],
        spans: NDArray[np.int64],
        radius: int,
    ) -> Matches:
        """Do what :meth:`_scanned` does, without Numba."""
        rows, words = [np.empty(0, np.int64)], [ways[:0, 0]]
        mask = (1 << PLACE_BITS) - 1
        for (number, row), (start, end) in zip(held, spans.tolist(), strict=True):
            segment, run = self._run_of(number)
            try:
                keys, values = unpack([number & mask], [row], run.shape)
            except DamagedPage:
                raise self._damaged(number) from None
            entries = np.column_stack((keys, values))
            for query in order[start:end].tolist():
                counts = np.bitwise_count(entries ^ ways[query, segment]).sum(axis=1)
                near = np.flatnonzero(counts <= radius)
                rows.append(np.full(len(near), query))
                words.append(restored(entries[near], segment))
        return np.concatenate(rows), np.concatenate(words)

    def _damaged(self, number: int) -> Exception:
        segment, _ = self._run_of(number)
        place = number & ((1 << PLACE_BITS) - 1)
        return self._indexes[segment].pages.damaged(DamagedPage(place))

    def _count(
        self,
        held: Sequence[tuple[int, bytes]],
        numbers: NDArray[np.int64],
        order: NDArray[np.int64],
        spans: NDArray[np.int64],
        compared: NDArray[np.int64],
        first: int,
    ) -> None:
        """Add the entries of each row to the counts of its queries."""
        for (number, row), (start, end) in zip(held, spans.tolist(), strict=True):
            _, run = self._run_of(number)
            (count,) = row_lengths([number], [row], run.shape).tolist()
            compared[first + order[start:end]] += count
        del numbers


def _all_but(gone: NDArray[np.uint64], segment: int) -> Keep:
    """Return what keeps the entries of a segment that are not of some fingerprints."""
    left = np.sort(sortable(turned(gone, segment)))

    def keep(entries: Entries) -> NDArray[np.bool_]:
        return ~among(sortable(np.column_stack((entries.keys, entries.values))), left)

    return keep


def _page_numbers(run: Run, values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the numbers of the first rows of the pages of segment values, and how many each has.

    Args:
        run: The run.
        values: Values of 16 bits.
    """
    shape = run.shape
    base = run.number << PLACE_BITS
    more = shape.page_bits - SEGMENT_BITS
    if more <= 0:
        return base + (values >> -more << shape.row_bits), 1
    pages = (values << more)[:, None] | np.arange(1 << more)
    return base + (pages.ravel() << shape.row_bits), 1 << more


def sortable(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return each fingerprint as one number or string of bytes, in the order of the numbers."""
    if words.shape[1] == 1:
        return words[:, 0]
    return np.ascontiguousarray(words.astype(">u8")).view("S16").ravel()


def distinct(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return fingerprints ascending, each once; shape (n, words)."""
    keys = np.sort(sortable(words))
    keys = keys[begins_run(keys)]
    if keys.dtype.kind == "u":
        return keys.reshape(-1, 1)
    return np.ascontiguousarray(keys).view(">u8").astype(np.uint64).reshape(-1, 2)


def among(keys: NDArray[Any], held: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each key is among those held, which ascend."""
    if not len(held):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(held, keys), len(held) - 1)
    found: NDArray[np.bool_] = held[places] == keys
    return found


def _bits_of(word: Any) -> Any:
    """Return how many bits of a uint64 are set; a part of kernels."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


def _word_at(data: Any, place: Any) -> Any:
    """Return the eight bytes at a place as a number, the lowest first."""
    word = np.uint64(data[place])
    for byte in range(1, 8):
        word |= np.uint64(data[place + byte]) << np.uint64(8 * byte)
    return word


def _near_in_rows(
    data: Any,
    lengths: Any,
    numbers: Any,
    runs: Any,
    ways: Any,
    order: Any,
    spans: Any,
    radius: Any,
    rows: Any,
    words: Any,
) -> Any:
    """Write the entries of rows that are near a query; return how many, or -1 - (a damaged row)."""
    reach = np.uint64(radius)
    count = 0
    begin = 0
    for row in range(numbers.size):
        run = 0
        while runs[run, 0] != numbers[row] >> 40:
            run += 1
        segment, page_bits, row_bits = runs[run, 1], runs[run, 2], runs[run, 3]
        key_bytes, size = runs[run, 4], runs[run, 5]
        if lengths[row] % size or lengths[row] == 0:
            return -1 - row
        base = np.uint64(0)
        low = ~np.uint64(0)
        if page_bits:
            page = np.uint64((numbers[row] & ((1 << 40) - 1)) >> row_bits)
            base = page << np.uint64(64 - page_bits)
            low = (np.uint64(1) << np.uint64(64 - page_bits)) - np.uint64(1)
        rest_bytes = size - key_bytes
        rest = ~np.uint64(0)
        if rest_bytes < 8:
            rest = (np.uint64(1) << np.uint64(8 * rest_bytes)) - np.uint64(1)
        by = np.uint64(16 * segment)
        for turn in range(spans[row, 0], spans[row, 1]):
            query = order[turn]
            first = ways[query, segment, 0]
            for place in range(begin, begin + lengths[row], size):
                key = (_word_at(data, place) & low) | base
                far = _bits_of(key ^ first)
                if ways.shape[2] == 1:
                    if far <= reach:
                        if count < rows.size:
                            rows[count] = query
                            words[count, 0] = key
                            if segment:
                                words[count, 0] = (key >> by) | (key << (np.uint64(64) - by))
                        count += 1
                    continue
                if far > reach:
                    continue
                value = _word_at(data, place + key_bytes) & rest
                far += _bits_of(value ^ ways[query, segment, 1])
                if far > reach:
                    continue
                if count < rows.size:
                    rows[count] = query
                    high, below = key, value
                    if segment >= 4:
                        high, below = value, key
                    turn_by = np.uint64(16 * (segment % 4))
                    if turn_by:
                        back = np.uint64(64) - turn_by
                        high, below = (
                            (high >> turn_by) | (below << back),
                            (below >> turn_by) | (high << back),
                        )
                    words[count, 0] = high
                    words[count, 1] = below
                count += 1
        begin += lengths[row]
    return count


NEAR_IN_ROWS = Kernel(
    _near_in_rows,
    [
        "int64(Array(uint8, 1, 'C', True), int64[::1], int64[::1], int64[:, ::1], "
        "uint64[:, :, ::1], int64[::1], int64[:, ::1], int64, int64[::1], uint64[:, ::1])"
    ],
    parts=[_bits_of, _word_at],
    lets_go=False,
)
