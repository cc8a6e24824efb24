"""Build star clusters from scratch, comparing each text only with candidate canonical texts.

Texts are taken in their order. One that has no edge to an earlier canonical text is canonical and
*stands*: later texts meet it. Nothing else is met, so n near copies of one text are compared n
times, not n * n / 2 times. Two texts meet where a band of their sketches agrees, or a key of their
fingerprints, where these are within the radius; what their sizes and sketches tell already is not
compared (:meth:`~simstore.search.resemblance.EdgeRule.fewest_equal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.compiled import Kernel
from simstore.index.segments import bits_of
from simstore.model import Progress
from simstore.search.block_keys import block_keys
from simstore.search.stars import FoundSpokes
from simstore.text.tokens import mix

# Texts that are looked at ahead, so that what they are compared by is read at once.
_BLOCK_TEXTS = 2_048
# Pairs of them that are told ahead; what is not told is read when it is compared.
TOLD_PAIRS = 1 << 17
# What a text takes without Numba.
_SECONDS_A_TEXT = 2e-4


@dataclass(frozen=True, slots=True)
class ComparedEdges:
    """The result of comparing a text with others: their edges and resemblances.

    Attributes:
        holds: Whether they have an edge, shape (others,).
        resemblance: Their resemblance where they have one, float64.
        likeness: Their likeness, likewise; None where it was not asked for.
    """

    holds: NDArray[np.bool_]
    resemblance: NDArray[np.float64]
    likeness: NDArray[np.float64] | None = None


class Comparer(Protocol):
    """Decides which pairs of texts have an edge."""

    def expect(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Read what pairs are compared by that will be asked for next, most of them."""

    def compare(self, text: int, others: NDArray[np.int64]) -> ComparedEdges:
        """Return which others a text has an edge to."""


class ColumnPostings:
    """Postings that find the canonical rows which share a column's value with a row.

    A row takes 4 bytes for each value that another has too, twice, and 8 bytes beside.

    Args:
        columns: The values of the rows, a column at a time, shape (rows,) each.
        rows: The rows, int64, ascending.
        count: Rows that there are; those that are not among ``rows`` share nothing.
    """

    def __init__(
        self, columns: Iterable[NDArray[np.uint64]], rows: NDArray[np.int64], count: int
    ) -> None:
        shared = [one for column in columns if (one := _shared_values(column)) is not None]
        lengths = np.zeros(count, np.int64)
        sizes = [np.empty(0, np.int64)]
        for one in shared:
            lengths[rows[one.places()]] += 1
            sizes.append(one.sizes)
        self.offsets = np.concatenate(([0], np.cumsum(lengths)))
        self.groups = np.empty(int(self.offsets[-1]), np.int32)
        ends = self.offsets[rows]
        total = 0
        # What was taken is let go: both together take the more memory.
        shared.reverse()
        while shared:
            one = shared.pop()
            places = one.places()
            self.groups[ends[places]] = one.numbers + np.int32(total)
            ends[places] += 1
            total += len(one.sizes)
        held = np.concatenate(sizes)
        self.starts = np.cumsum(held) - held
        self.filled = np.zeros(total, np.int32)
        self.slots = np.empty(int(held.sum()), np.int32)

    def arrays(self) -> tuple[Any, ...]:
        """Return the arrays that kernels read and write."""
        return self.offsets, self.groups, self.starts, self.filled, self.slots

    def shares(self) -> NDArray[np.bool_]:
        """Return which rows share a value with another, shape (count,)."""
        result: NDArray[np.bool_] = np.diff(self.offsets) > 0
        return result


@dataclass(frozen=True, slots=True)
class _Shared:
    """The values of a column that several rows have.

    Attributes:
        marks: A bit for each row that has one, uint8.
        numbers: Number of the value of each such row, int32.
        sizes: Rows that have each value.
        count: Rows of the column.
    """

    marks: NDArray[np.uint8]
    numbers: NDArray[np.int32]
    sizes: NDArray[np.int64]
    count: int

    def places(self) -> NDArray[np.int64]:
        """Return the rows that have one, ascending."""
        return np.flatnonzero(np.unpackbits(self.marks, count=self.count))


def _shared_values(column: NDArray[np.uint64]) -> _Shared | None:
    """Return the values that several rows have; None: there is none, as mostly in a small batch."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return None
    kept, begins = np.zeros(len(column), np.bool_), np.ones(len(column), np.bool_)
    kept[1:], begins[1:] = same, ~same
    kept[:-1] |= same
    order = order[kept]
    numbers = np.cumsum(begins[kept], dtype=np.int32) - np.int32(1)
    sizes = np.bincount(numbers).astype(np.int64)
    marks = np.zeros(len(column), np.bool_)
    marks[order] = True
    by_row = np.empty(len(column), np.int32)
    by_row[order] = numbers
    return _Shared(np.packbits(marks), by_row[marks], sizes, len(column))


def print_postings(words: NDArray[np.uint64], bits: int, radius: int) -> ColumnPostings:
    """Return the postings of fingerprints by keys that any two within the radius share one of.

    Args:
        words: Fingerprints of M bits, shape (n, words).
        bits: M.
        radius: Bits, inclusive.
    """
    masks = block_keys(bits, radius, len(words)).mask_words()
    return ColumnPostings(_keys(words, masks), np.arange(len(words)), len(words))


def _keys(words: NDArray[np.uint64], masks: NDArray[np.uint64]) -> Iterator[NDArray[np.uint64]]:
    for mask in masks:
        value = np.zeros(len(words), np.uint64)
        for word in range(words.shape[1]):
            value = mix(value) ^ (words[:, word] & mask[word]) if word else words[:, 0] & mask[0]
        yield value


@dataclass(frozen=True, slots=True, kw_only=True)
class StarSignatures:
    """Sketches, fingerprints and limits that tell which texts may have an edge.

    Attributes:
        bands: Postings of the texts by the bands of their sketches.
        sketches: Sketch of each text, uint16, shape (texts, values).
        sizes: Distinct shingles of each, int64, shape (texts,).
        prints: Postings of fingerprints by their keys.
        print_bounds: The fingerprints of text t are rows ``[bounds[t], bounds[t + 1])``.
        print_texts: The text of each fingerprint, ascending, int64.
        words: The fingerprints, uint64, shape (fingerprints, words).
        radius: Bits, inclusive.
        least_ratio: Least ratio of two sizes; 0: any.
        fewest_equal: Fewest equal values of two sketches; 0: any.
        likely_equal: From so many equal values on an edge is likely: a matter of speed alone.
    """

    bands: ColumnPostings
    sketches: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    prints: ColumnPostings
    print_bounds: NDArray[np.int64]
    print_texts: NDArray[np.int64]
    words: NDArray[np.uint64]
    radius: int
    least_ratio: float
    fewest_equal: int
    likely_equal: int

    def shares(self) -> NDArray[np.bool_]:
        """Return which texts share a band, or a key of fingerprints, with another.

        Returns:
            Shape (texts,). What shares nothing has no candidates, and is none.
        """
        found = np.zeros(len(self.sizes), np.bool_)
        found |= self.bands.shares()
        found[self.print_texts[self.prints.shares()]] = True
        return found


def search_stars(
    signatures: StarSignatures,
    order: NDArray[np.int64],
    comparer: Comparer,
    on_progress: Progress | None = None,
) -> FoundSpokes:
    """Return the edges of each text to the canonical texts before it.

    Args:
        signatures: Tells candidates.
        order: All texts, the earliest first, shape (texts,).
        comparer: Decides of candidates.
        on_progress: Called with texts that are placed and in all.
    """
    walk = Walk(signatures, order)
    total = len(order)
    canonical = np.ones(total, np.bool_)
    texts, centres, shares, likeness = [], [], [], []
    for start in range(0, total, _BLOCK_TEXTS):
        stop = min(start + _BLOCK_TEXTS, total)
        comparer.expect(*walk.likely(start, stop))
        turn = start
        while True:
            turn, others = walk.next(turn, stop)
            if turn == stop:
                break
            text = int(order[turn])
            found = comparer.compare(text, others)
            if found.holds.any():
                canonical[text] = False
                held = others[found.holds]
                texts.append(np.full(len(held), text, np.int64))
                centres.append(held)
                shares.append(found.resemblance[found.holds])
                if found.likeness is not None:
                    likeness.append(found.likeness[found.holds])
            else:
                walk.stand(text)
            turn += 1
        if on_progress is not None:
            on_progress(stop, total)
    none = np.empty(0, np.int64)
    return FoundSpokes(
        texts=np.concatenate([none, *texts]),
        centres=np.concatenate([none, *centres]),
        resemblance=np.concatenate([np.empty(0), *shares]),
        likeness=np.concatenate(likeness) if likeness else None,
        canonical=canonical,
    )


class Walk:
    """Takes texts in their order, of which none stands; who has no candidate stands at once.

    Args:
        signatures: Tells candidates.
        order: The texts, the earliest first.
    """

    def __init__(self, signatures: StarSignatures, order: NDArray[np.int64]) -> None:
        self._order = order
        self._is_compiled = compiled.pays(len(order) * _SECONDS_A_TEXT)
        count = len(signatures.sizes)
        self._found = np.empty(count, np.int64)
        self._bands, self._prints = signatures.bands.arrays(), signatures.prints.arrays()
        self._rows = signatures.print_bounds, signatures.print_texts, signatures.words
        self._arrays = (
            self._bands,
            self._prints,
            self._rows,
            (signatures.sketches, signatures.sizes),
            # The number of the look-up that a text was last met by, what is found, and the number
            # of the last look-up.
            (np.zeros(count, np.int64), self._found, np.zeros(1, np.int64)),
            (signatures.radius, signatures.fewest_equal, signatures.likely_equal),
            signatures.least_ratio,
        )

    def likely(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pairs that will most likely be compared, without letting any text stand."""
        pairs = np.empty((2, TOLD_PAIRS), np.int64)
        pair_count = self._run(_LIKELY, self._order[start:stop], pairs)
        return pairs[0, :pair_count], pairs[1, :pair_count]

    def next(self, start: int, stop: int) -> tuple[int, NDArray[np.int64]]:
        """Return the place of the next text that has candidates, and these; ``stop``: none has."""
        turn, count = self._run(_NEXT, self._order[start:stop])
        return start + turn, np.sort(self._found[:count])

    def candidates(self, text: int) -> NDArray[np.int64]:
        """Return the texts that stand and may have an edge to one, ascending."""
        return np.sort(self._found[: self._run(_MEET, text)])

    def stand(self, text: int) -> None:
        """Let a text be met by those after it."""
        _stand(text, self._bands, self._prints, self._rows[0])

    def _run(self, kernel: Kernel, *arguments: Any) -> Any:
        run = kernel if self._is_compiled else kernel.plain
        return run(*arguments, *self._arrays)


_int: Any = np.int64


def _equal_values(sketches: Any, one: Any, other: Any) -> Any:
    # Quicker than a loop in Python, and nearly as quick as one compiled.
    return (sketches[one] == sketches[other]).sum()


def _note(text: Any, other: Any, sketch: Any, cut: Any, found: Any, count: Any, most: Any) -> Any:
    """Note another text where the two may have an edge by their sizes and sketches.

    Returns:
        How many are noted, and the most equal values of one.
    """
    limits, least_ratio = cut
    sketches, sizes = sketch
    if least_ratio > 0:
        few, many = min(sizes[text], sizes[other]), max(sizes[text], sizes[other])
        if few / max(many, _int(1)) < least_ratio:
            return count, most
    equal = _equal_values(sketches, text, other)
    if equal < limits[1]:
        return count, most
    found[count] = other
    return count + 1, max(most, equal)


def _meet(text: Any, bands: Any, prints: Any, rows: Any, sketch: Any, state: Any, cut: Any) -> Any:
    """Find the candidates of a text; return how many, and the most equal values of one."""
    met, found, stamp = state
    stamp[0] += 1
    now = stamp[0]
    count = most = _int(0)
    offsets, groups, starts, filled, slots = bands
    for place in range(offsets[text], offsets[text + 1]):
        group = groups[place]
        for at in range(starts[group], starts[group] + filled[group]):
            other = slots[at]
            if met[other] == now:
                continue
            met[other] = now
            count, most = _note(text, other, sketch, cut, found, count, most)
    offsets, groups, starts, filled, slots = prints
    bounds, texts, words = rows
    for row in range(bounds[text], bounds[text + 1]):
        for place in range(offsets[row], offsets[row + 1]):
            group = groups[place]
            for at in range(starts[group], starts[group] + filled[group]):
                other_row = slots[at]
                other = texts[other_row]
                if met[other] == now:
                    continue
                distance = _int(0)
                for word in range(words.shape[1]):
                    distance += _int(bits_of(words[row, word] ^ words[other_row, word]))
                if distance > cut[0][0]:
                    continue
                met[other] = now
                count, most = _note(text, other, sketch, cut, found, count, most)
    return count, most


def _post(row: Any, postings: Any) -> None:
    offsets, groups, starts, filled, slots = postings
    for place in range(offsets[row], offsets[row + 1]):
        group = groups[place]
        slots[starts[group] + filled[group]] = row
        filled[group] += 1


def _stand(text: Any, bands: Any, prints: Any, bounds: Any) -> None:
    _post(text, bands)
    for row in range(bounds[text], bounds[text + 1]):
        _post(row, prints)


def _take_back(row: Any, postings: Any) -> None:
    offsets, groups, _, filled, _ = postings
    for place in range(offsets[row], offsets[row + 1]):
        filled[groups[place]] -= 1


def _candidates(
    text: Any, bands: Any, prints: Any, rows: Any, sketch: Any, state: Any, limits: Any, ratio: Any
) -> Any:
    count, _ = _meet(text, bands, prints, rows, sketch, state, (limits, ratio))
    return count


def _next(
    order: Any, bands: Any, prints: Any, rows: Any, sketch: Any, state: Any, limits: Any, ratio: Any
) -> Any:
    for turn in range(len(order)):
        text = order[turn]
        count, _ = _meet(text, bands, prints, rows, sketch, state, (limits, ratio))
        if count:
            return turn, count
        _stand(text, bands, prints, rows[0])
    return len(order), _int(0)


def _likely(
    order: Any,
    pairs: Any,
    bands: Any,
    prints: Any,
    rows: Any,
    sketch: Any,
    state: Any,
    limits: Any,
    ratio: Any,
) -> Any:
    told = _int(0)
    stood = np.zeros(len(order), np.bool_)
    for turn in range(len(order)):
        text = order[turn]
        count, most = _meet(text, bands, prints, rows, sketch, state, (limits, ratio))
        for place in range(min(count, pairs.shape[1] - told)):
            pairs[0, told] = text
            pairs[1, told] = state[1][place]
            told += 1
        if not count or most < limits[2]:
            stood[turn] = True
            _stand(text, bands, prints, rows[0])
    for turn in range(len(order)):
        if stood[turn]:
            text = order[turn]
            _take_back(text, bands)
            for row in range(rows[0][text], rows[0][text + 1]):
                _take_back(row, prints)
    return told


_POSTINGS = "Tuple((int64[::1], int32[::1], int64[::1], int32[::1], int32[::1]))"
_ARGUMENTS = (
    f"{_POSTINGS}, {_POSTINGS}, Tuple((int64[::1], int64[::1], uint64[:, ::1])), "
    "Tuple((uint16[:, ::1], int64[::1])), Tuple((int64[::1], int64[::1], int64[::1])), "
    "UniTuple(int64, 3), float64"
)
_MEET = Kernel(
    _candidates,
    [f"int64(int64, {_ARGUMENTS})"],
    parts=[bits_of, _equal_values, _note, _meet],
)
_NEXT = Kernel(
    _next,
    [f"UniTuple(int64, 2)(int64[::1], {_ARGUMENTS})"],
    parts=[bits_of, _equal_values, _note, _meet, _post, _stand],
)
_LIKELY = Kernel(
    _likely,
    [f"int64(int64[::1], int64[:, ::1], {_ARGUMENTS})"],
    parts=[bits_of, _equal_values, _note, _meet, _post, _stand, _take_back],
)
