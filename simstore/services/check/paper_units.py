"""Cut a submitted paper and its sources into tokens and n-grams that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.winnowing import (
    Grams,
    Winnowing,
    grams,
    mixed_windows,
    of_one_kind,
)
from simstore.search.symbols import Alphabet, Symbols
from simstore.text.located import LocatedUnits, located_units
from simstore.text.normalization import Normalization

# Stands between texts that are cut into units together: a mark at the beginning of a text joins
# the second line end, and none joins a word.
BETWEEN = "\n\n"
# Characters that are cut into units together.
_TOGETHER = 1 << 22


@dataclass(frozen=True, slots=True)
class Windows:
    """All runs of t units of the paper, each of one kind (words or characters) or changing it.

    A source that has the same run has chosen, as its anchor, a gram with the least hash of the
    run's grams: robust winnowing chooses among equals, and nothing else.

    Attributes:
        first: First unit of each; int64.
        end: The unit behind its last; int64.
        hashes: The least hash of its grams; uint64.
    """

    first: NDArray[np.int64]
    end: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class PaperUnits:
    """A paper, cut into units and grams.

    Attributes:
        text: The paper.
        units: Its units.
        grams: All its grams.
        alphabet: Its distinct units.
        symbols: Its units as characters.
        windows: Its runs of t units.
    """

    text: str
    units: LocatedUnits
    grams: Grams
    alphabet: Alphabet
    symbols: Symbols
    windows: Windows

    def runs_before(self, winnowing: Winnowing) -> NDArray[np.float64]:
        """Return how many runs of the guaranteed length are before each unit, and in all."""
        words, characters = winnowing.run_words, winnowing.run_characters
        each = np.where(self.units.spaced, 1 / words, 1 / characters)
        return np.concatenate(([0.0], np.cumsum(each)))


def paper_units(text: str, normalization: Normalization, winnowing: Winnowing) -> PaperUnits:
    """Cut a paper into units and grams."""
    units = located_units(text, normalization)
    found = grams(units, winnowing)
    alphabet = Alphabet(units.hashes)
    symbols = alphabet.symbols(units.hashes)
    return PaperUnits(text, units, found, alphabet, symbols, _windows(units, found, winnowing))


def _windows(units: LocatedUnits, found: Grams, winnowing: Winnowing) -> Windows:
    kinds = units.spaced
    every, pure = found, of_one_kind(units, found)
    found = Grams(every.hashes[pure], every.first[pure], every.last[pure])
    run_of = np.cumsum(np.r_[False, kinds[1:] != kinds[:-1]]) if len(kinds) else kinds
    firsts, ends, hashes = [], [], []
    for spaced, gram, run in (
        (True, winnowing.gram_words, winnowing.run_words),
        (False, winnowing.gram_characters, winnowing.run_characters),
    ):
        of_kind = np.flatnonzero(kinds[found.first] == spaced) if len(found) else np.zeros(0, int)
        size = run - gram + 1
        if len(of_kind) < size:
            continue
        first = found.first[of_kind].astype(np.int64)
        same = run_of[first[size - 1 :]] == run_of[first[: len(first) - size + 1]]
        views = np.lib.stride_tricks.sliding_window_view(found.hashes[of_kind], size)
        chosen = first[: len(same)][same]
        firsts.append(chosen)
        ends.append(chosen + run)
        hashes.append(views.min(axis=1)[same])
    first, least = mixed_windows(units, winnowing, every)
    for begins, of_one in list(zip(firsts, hashes, strict=True)):
        # Where the kind changes behind a run of one kind, the least gram is that of this run.
        behind = begins + winnowing.run_mixed
        is_longer = (behind <= len(units)) & ~np.isin(begins, first)
        is_longer[is_longer] = run_of[begins[is_longer]] != run_of[behind[is_longer] - 1]
        firsts.append(begins[is_longer])
        ends.append(behind[is_longer])
        hashes.append(of_one[is_longer])
    firsts.append(first)
    ends.append(first + winnowing.run_mixed)
    hashes.append(every.hashes[least])
    return Windows(np.concatenate(firsts), np.concatenate(ends), np.concatenate(hashes))


@dataclass(frozen=True, slots=True)
class SourceUnits:
    """A source's text or a part of it, cut into units.

    Attributes:
        document_id: The source.
        offset: Where the part begins in the source's text.
        text: The part.
        symbols: Its units as characters of the paper's alphabet.
        starts: First character of each unit, in the part; int64.
        ends: The character behind its last; int64.
    """

    document_id: int
    offset: int
    text: str
    symbols: Symbols
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def unit_at(self, characters: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the units that begin at characters of the source's whole text."""
        return np.searchsorted(self.starts, characters - self.offset)


def source_units(
    parts: Sequence[tuple[int, int, str]], alphabet: Alphabet, normalization: Normalization
) -> list[SourceUnits]:
    """Cut texts, or parts of texts, into units: many at once.

    Args:
        parts: Document, offset and text of each.
        alphabet: The paper's.
        normalization: As the passage index was made with.
    """
    made: list[SourceUnits] = []
    start = 0
    while start < len(parts):
        end, size = start, 0
        while end < len(parts) and (end == start or size + len(parts[end][2]) <= _TOGETHER):
            size += len(parts[end][2])
            end += 1
        made += _together(parts[start:end], alphabet, normalization)
        start = end
    return made


def _together(
    parts: Sequence[tuple[int, int, str]], alphabet: Alphabet, normalization: Normalization
) -> list[SourceUnits]:
    units = located_units(BETWEEN.join(text for _, _, text in parts), normalization)
    sizes = np.array([len(text) + len(BETWEEN) for _, _, text in parts], np.int64)
    begins = np.cumsum(sizes) - sizes
    # A mark in front of a text begins with what it joins, one character earlier.
    bounds = np.searchsorted(units.starts, np.append(begins - 1, sizes.sum()))
    symbols = alphabet.symbols(units.hashes)
    made: list[SourceUnits] = []
    for number, (document_id, offset, text) in enumerate(parts):
        first, last = int(bounds[number]), int(bounds[number + 1])
        if first == last and text:
            # A text of signs alone has units of its own kind.
            alone = located_units(text, normalization)
            own, starts, ends = alphabet.symbols(alone.hashes), alone.starts, alone.ends
            begin = 0
        else:
            own = Symbols(symbols.codes[first:last], symbols.text[first:last])
            starts, ends = units.starts[first:last], units.ends[first:last]
            begin = int(begins[number])
        made.append(
            SourceUnits(
                document_id,
                offset,
                text,
                own,
                np.maximum(starts.astype(np.int64) - begin, 0),
                ends.astype(np.int64) - begin,
            )
        )
    return made
