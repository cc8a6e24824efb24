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
from simstore.index.pages import PLACE_BITS, DamagedPage, Entries, Shape, row_lengths, unpack
from simstore.index.postings import Keep, Kind, PostingIndex, Run
from simstore.index.segments import SEGMENT_BITS, bits_of, probe_values
from simstore.text.tokens import mix

PACKED_BITS = (64, 128)
# Queries that are looked up at a time, and pages that are read at a time.
_QUERIES, _PAGES = 1 << 14, 1 << 10
# Seconds that NumPy takes for an entry of a page, and for a row.
_ENTRY_SECONDS, _ROW_SECONDS = 2e-8, 1e-6
_WORD_BYTES = 8
# The kernel reads two words wherever an entry begins.
_PADDING = bytes(2 * _WORD_BYTES)
# Results of a scan for which there is always room.
_FEWEST_RESULTS = 64

Matches = tuple[NDArray[np.int64], NDArray[np.uint64]]
# Reads pages of several runs by the numbers of their first rows: (number, row) of each row.
ReadPages = Callable[[Sequence[int]], Sequence[tuple[int, bytes]]]


def kinds(bits: int) -> list[Kind]:
    """Return the kind of each segment of fingerprints of 64 or 128 bits.

    Most leading values that are asked for are in every run: filters would not help, and few runs
    do.
    """
    return [
        Kind(
            f"simhash {bits}, segment {segment}",
            value_count=bits // 64 - 1,
            is_filtered=False,
            most_runs=1,
            page_bits=SEGMENT_BITS,
        )
        for segment in range(bits // SEGMENT_BITS)
    ]


class FingerprintRuns:
    """The runs of all segments of the fingerprints of one generation, in one transaction.

    Args:
        bits: M, 64 or 128.
        indexes: The index of each segment, of :func:`kinds`.
        read_pages: Reads pages of any of the runs, ascending, by the numbers of their first rows.
    """

    def __init__(self, bits: int, indexes: Sequence[PostingIndex], read_pages: ReadPages) -> None:
        self.bits = bits
        self._indexes = indexes
        self._read_pages = read_pages
        self._runs: list[tuple[Run, int]] = []
        self._numbers = np.empty((0, 6), np.int64)
        self._asking: dict[tuple[int, ...], _Asking] = {}
        self._nothing = np.empty(0, np.int64), np.empty((0, bits // 64), np.uint64)
        self._make_room(_FEWEST_RESULTS)

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
            moved = _turned(words, segment)
            index.add(Entries(moved[:, 0], moved[:, 1:]), keep=_all_but(gone, segment))
        self._forget()

    def is_whole(self) -> bool:
        """Return whether each segment has one run, or none."""
        return all(len(index.runs) <= 1 for index in self._indexes)

    def merge(self, gone: NDArray[np.uint64]) -> None:
        """Put one run in the place of all, without fingerprints that were removed."""
        for segment, index in enumerate(self._indexes):
            index.merge(_all_but(gone, segment))
        self._forget()

    def _forget(self) -> None:
        """Keep nothing of the runs that were."""
        self._asking.clear()
        self._numbers = self._numbers[:0]

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
                yield _turned(held, len(self._indexes) - segment)

    def near(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        thresholds: Sequence[int],
        compared: NDArray[np.int64] | None = None,
    ) -> Matches:
        """Return the fingerprints within a radius that share a segment's value, or one near it.

        Args:
            queries: Fingerprints, shape (m, M / 64).
            radius: Largest distance, in bits, inclusive.
            thresholds: Bits flipped in a query's value of each segment; -1: it is not looked at.
            compared: How many entries each query was compared with, to be added to.

        Returns:
            Rows of the queries and fingerprints, as often as they were found, in no order.

        Raises:
            DamagedPage: A row is none.
        """
        asking = self._asking_of(tuple(thresholds))
        parts = []
        for start in range(0, len(queries), _QUERIES):
            end = start + _QUERIES
            counts = None if compared is None else compared[start:end]
            rows, words = self._near(queries[start:end], radius, asking, counts)
            parts.append((rows + start if start else rows, words))
        return parts[0] if len(parts) == 1 else _joined(parts, queries)

    def _near(
        self,
        queries: NDArray[np.uint64],
        radius: int,
        asking: _Asking,
        compared: NDArray[np.int64] | None,
    ) -> Matches:
        """Return what :meth:`near` does of some queries."""
        numbers, turns, pages = asking.pages_of(queries)
        parts = []
        for start in range(0, len(pages), _PAGES):
            some = pages[start : start + _PAGES]
            held = self._read_pages(some)
            if not held:
                continue
            if len(some) < len(pages):
                first, end = np.searchsorted(numbers, (some[0], some[-1] + 1)).tolist()
                asked = numbers[first:end], turns[first:end]
            else:
                asked = numbers, turns
            parts.append(self._scanned(held, queries, *asked, radius, compared))
        return parts[0] if len(parts) == 1 else _joined(parts, queries)

    def _asking_of(self, thresholds: tuple[int, ...]) -> _Asking:
        """Return the pages to ask for in the present runs."""
        if not self._asking:
            runs = [
                (run, segment) for segment, index in enumerate(self._indexes) for run in index.runs
            ]
            self._runs = sorted(runs, key=lambda one: one[0].number)
        if thresholds not in self._asking:
            self._asking[thresholds] = _Asking(self._runs, thresholds)
        return self._asking[thresholds]

    def _scanned(
        self,
        held: Sequence[tuple[int, bytes]],
        queries: NDArray[np.uint64],
        numbers: NDArray[np.int64],
        turns: NDArray[np.int64],
        radius: int,
        compared: NDArray[np.int64] | None,
    ) -> Matches:
        """Compare rows with the queries that asked for their pages.

        Args:
            held: The rows with their numbers, ascending.
            queries: Fingerprints, shape (m, M / 64).
            numbers: The pages that were asked for, by the numbers of their first rows, ascending.
            turns: Which query asked for each.
            radius: Largest distance, in bits, inclusive.
            compared: How many entries each query was compared with, to be added to.
        """
        places = [place for place, _ in held]
        rows = [row for _, row in held]
        try:
            data = b"".join((*rows, _PADDING))
        except TypeError:
            damaged = next(place for place, row in held if not isinstance(row, bytes))
            raise self._damaged(damaged) from None
        pairs = len(data) // _WORD_BYTES * (len(turns) // len(held) + 1)
        if not pays(_ROW_SECONDS * len(held) + _ENTRY_SECONDS * pairs):
            return self._scanned_plain(held, queries, numbers, turns, radius, compared)
        found = np.array((places, [len(row) for row in rows]), np.int64)
        if len(queries) > len(self._near_rows):
            self._make_room(len(queries))
        while True:
            counts = np.zeros(len(queries), np.int64)
            count = NEAR_IN_ROWS(
                np.frombuffer(data, np.uint8), found, self._described(), queries, numbers, turns,
                radius, self._near_rows, self._near_words, counts,
            )  # fmt: skip
            if count < 0:
                raise self._damaged(places[-1 - count])
            if count <= len(self._near_rows):
                break
            self._make_room(count)
        if compared is not None:
            compared += counts
        if not count:
            return self._nothing
        return self._near_rows[:count].copy(), self._near_words[:count].copy()

    def _make_room(self, count: int) -> None:
        """Make room for so many results of a scan."""
        self._near_rows = np.empty(count, np.int64)
        self._near_words = np.empty((count, self.bits // 64), np.uint64)

    def _scanned_plain(
        self,
        held: Sequence[tuple[int, bytes]],
        queries: NDArray[np.uint64],
        numbers: NDArray[np.int64],
        turns: NDArray[np.int64],
        radius: int,
        compared: NDArray[np.int64] | None,
    ) -> Matches:
        """Do what :meth:`_scanned` does, without Numba."""
        parts = []
        by_shape: dict[Shape, list[tuple[int, bytes]]] = {}
        for number, row in held:
            by_shape.setdefault(self._run_of(number)[0].shape, []).append((number, row))
        for shape, some in by_shape.items():
            places = np.array([number for number, _ in some])
            entries, counts = self._unpacked(some, shape)
            firsts = places >> shape.row_bits << shape.row_bits
            starts = np.searchsorted(numbers, firsts)
            pairs, asked = _ranges(starts, np.searchsorted(numbers, firsts, "right") - starts)
            asking, lengths = turns[asked], counts[pairs]
            owners, near = _ranges((np.cumsum(counts) - counts)[pairs], lengths)
            segments = np.array([self._run_of(number)[1] for number in places.tolist()])[pairs]
            ways = _turned(queries[asking], segments)
            far = np.bitwise_count(entries[near] ^ ways[owners]).sum(axis=1)
            kept = np.flatnonzero(far <= radius)
            of_pair = owners[kept]
            words = _turned(entries[near[kept]], len(self._indexes) - segments[of_pair])
            parts.append((asking[of_pair], words))
            if compared is not None:
                np.add.at(compared, asking, lengths)
        return _joined(parts, queries)

    def _unpacked(
        self, held: Sequence[tuple[int, bytes]], shape: Shape
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the entries of rows as words, and how many each row has."""
        mask = (1 << PLACE_BITS) - 1
        places, rows = [number & mask for number, _ in held], [row for _, row in held]
        try:
            counts = row_lengths(places, rows, shape)
            return np.column_stack(unpack(places, rows, shape)), counts
        except DamagedPage as error:
            number = next(number for number, _ in held if number & mask == error.place)
            raise self._damaged(number) from None

    def _described(self) -> NDArray[np.int64]:
        """Return the runs as numbers for the kernel."""
        if not len(self._numbers):
            rows = [
                (
                    run.number,
                    segment,
                    run.shape.page_bits,
                    run.shape.row_bits,
                    run.shape.key_bytes,
                    run.shape.entry_bytes,
                )
                for run, segment in self._runs
            ]
            self._numbers = np.array(rows, np.int64)
        return self._numbers

    def _run_of(self, number: int) -> tuple[Run, int]:
        """Return the run of a row, and its segment."""
        return next(one for one in self._runs if one[0].number == number >> PLACE_BITS)

    def _damaged(self, number: int) -> Exception:
        _, segment = self._run_of(number)
        return self._indexes[segment].pages.damaged(DamagedPage(number & (1 << PLACE_BITS) - 1))


class _Asking:
    """The pages of runs that a query asks for, as a formula of its words.

    Args:
        runs: Runs, each with its segment.
        thresholds: Bits flipped in a query's value of each segment; -1: it is not looked at.
    """

    def __init__(self, runs: Sequence[tuple[Run, int]], thresholds: Sequence[int]) -> None:
        rows = set()
        for run, segment in runs:
            shape = run.shape
            # A page may have fewer bits than the segment.
            fewer = SEGMENT_BITS - shape.page_bits
            word, place = divmod(SEGMENT_BITS * segment, 64)
            down = 64 - SEGMENT_BITS - place + fewer
            mask = (1 << shape.page_bits) - 1
            for flip in probe_values(0, SEGMENT_BITS, thresholds[segment]):
                first = run.number << PLACE_BITS
                rows.add((word, down, flip >> fewer, mask, shape.row_bits, first))
        self._formulas = sorted(rows)
        columns = np.array(self._formulas, np.uint64).reshape(-1, 6).T
        self._word = columns[0].astype(np.int64)
        self._down, self._flip, self._mask, self._up, self._first = columns[1:]
        self._no_turns = np.zeros(len(rows), np.int64)

    def pages_of(
        self, queries: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Return the numbers of the first rows of the pages that queries ask for.

        Args:
            queries: Fingerprints, shape (m, M / 64).

        Returns:
            The numbers, ascending; which query asks for each; the numbers again, each once.
        """
        if len(queries) == 1:
            # NumPy takes ten times as long for a few numbers.
            (words,) = queries.tolist()
            asked = [
                ((words[word] >> down ^ flip) & mask) << up | first
                for word, down, flip, mask, up, first in self._formulas
            ]
            asked.sort()
            return np.array(asked, np.int64), self._no_turns, asked
        words = queries if queries.shape[1] == 1 else queries[:, self._word]
        pages = (words >> self._down ^ self._flip) & self._mask
        numbers = (pages << self._up | self._first).view(np.int64).ravel()
        order = numbers.argsort(kind="stable")
        numbers = numbers[order]
        turns = order // max(len(self._formulas), 1)
        return numbers, turns, list(dict.fromkeys(numbers.tolist()))


def _turned(words: NDArray[np.uint64], segments: Any) -> NDArray[np.uint64]:
    """Return fingerprints of 64 or 128 bits turned left by segments; the shape stays.

    Args:
        words: Shape (n, M / 64).
        segments: How many for all, or for each, shape (n,); by all of them: not at all.
    """
    places = np.asarray(segments) % (4 * words.shape[1])
    by = (SEGMENT_BITS * (places % 4)).astype(np.uint64)
    first, last = words[:, 0], words[:, -1]
    first, last = np.where(places >= 4, last, first), np.where(places >= 4, first, last)
    # NumPy shifts by 64 bits to 0.
    back = np.uint64(64) - by
    columns = (first << by | last >> back, last << by | first >> back)
    return np.stack(columns[: words.shape[1]], axis=1)


def _ranges(
    starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for all places of ranges which range it is in, and the place."""
    owners = np.repeat(np.arange(len(starts)), lengths)
    steps = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return owners, starts[owners] + steps


def _joined(parts: Sequence[Matches], queries: NDArray[np.uint64]) -> Matches:
    return (
        np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in parts)]),
        np.concatenate([queries[:0], *(words for _, words in parts)]),
    )


def _all_but(gone: NDArray[np.uint64], segment: int) -> Keep:
    """Return what keeps the entries of a segment that are not of some fingerprints."""
    left = np.sort(sortable(_turned(gone, segment)))

    def keep(entries: Entries) -> NDArray[np.bool_]:
        return ~among(sortable(np.column_stack((entries.keys, entries.values))), left)

    return keep


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


def _word_at(data: Any, place: Any) -> Any:
    """Return the eight bytes at a place as a number, the lowest first."""
    word = np.uint64(data[place])
    for byte in range(1, 8):
        word |= np.uint64(data[place + byte]) << np.uint64(8 * byte)
    return word


def _near_in_rows(
    data: Any,
    found: Any,
    runs: Any,
    queries: Any,
    numbers: Any,
    turns: Any,
    radius: Any,
    rows: Any,
    words: Any,
    counts: Any,
) -> Any:
    """Do what ``FingerprintRuns._scanned`` does; return how many are near.

    Where a row is damaged, it is -1 - the row's place.
    """
    reach = np.uint64(radius)
    count = begin = run = turn = 0
    is_wide = queries.shape[1] == 2
    for row in range(found.shape[1]):
        while runs[run, 0] != found[0, row] >> 40:
            run += 1
        segment, page_bits, row_bits = runs[run, 1], runs[run, 2], runs[run, 3]
        key_bytes, size = runs[run, 4], runs[run, 5]
        held = found[1, row] // size
        if held == 0 or held * size != found[1, row]:
            return -1 - row
        base, low = np.uint64(0), ~np.uint64(0)
        first = found[0, row] >> row_bits << row_bits
        if page_bits:
            page = np.uint64((first & ((1 << 40) - 1)) >> row_bits)
            base = page << np.uint64(64 - page_bits)
            low = (np.uint64(1) << np.uint64(64 - page_bits)) - np.uint64(1)
        rest_bytes = size - key_bytes
        rest = ~np.uint64(0)
        if rest_bytes < 8:
            rest = (np.uint64(1) << np.uint64(8 * rest_bytes)) - np.uint64(1)
        while numbers[turn] < first:
            turn += 1
        asked = turn
        while asked < numbers.size and numbers[asked] == first:
            query = turns[asked]
            asked += 1
            counts[query] += held
            high = queries[query, 0]
            below = queries[query, queries.shape[1] - 1]
            high, below = _rotated(high, below, segment)
            below &= rest
            for place in range(begin, begin + held * size, size):
                key = (_word_at(data, place) & low) | base
                far = bits_of(key ^ high)
                if far > reach:
                    continue
                value = _word_at(data, place + key_bytes) & rest
                if far + bits_of(value ^ below) > reach:
                    continue
                if count < rows.size:
                    rows[count] = query
                    if is_wide:
                        key, value = _rotated(key, value, (8 - segment) % 8)
                        words[count, 1] = value
                    else:
                        key, value = _rotated(key, key, 4 - segment)
                    words[count, 0] = key
                count += 1
        begin += held * size
    return count


def _rotated(high: Any, below: Any, segment: Any) -> Any:
    """Return a number of two words turned left until a segment leads; a part of kernels."""
    if segment >= 4:
        high, below = below, high
    by = np.uint64(16 * (segment % 4))
    if by:
        back = np.uint64(64) - by
        high, below = (high << by) | (below >> back), (below << by) | (high >> back)
    return high, below


NEAR_IN_ROWS = Kernel(
    _near_in_rows,
    [
        "int64(Array(uint8, 1, 'C', True), int64[:, ::1], int64[:, ::1], uint64[:, ::1], "
        "int64[::1], int64[::1], int64, int64[::1], uint64[:, ::1], int64[::1])"
    ],
    parts=[bits_of, _word_at, _rotated],
    lets_go=False,
)
