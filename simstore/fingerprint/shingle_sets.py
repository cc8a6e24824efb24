"""Shingle sets: each text as the set of its hashed shingles (token n-grams).

The hashes are the same in every process, on every platform, in every year, so that a sketch made
of them may be stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore.text.tokens import GAMMA, mix

SHINGLE_TOKENS = 3

# So many numbers are worth a look at how close they lie, and so many marks are made for each.
_WORTH_MARKING = 100
_MARKS_EACH = 8
_NONE = np.empty(0, np.int64)
_Value = TypeVar("_Value", bound=np.generic)


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """The shingle sets of a batch of texts (compressed sparse rows).

    Attributes:
        offsets: Set d is ``hashes[offsets[d]:offsets[d + 1]]``; int64, shape (texts + 1,).
        hashes: Hashes of the distinct shingles, ascending within a set; uint64, shape (entries,).
    """

    offsets: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, text: int) -> NDArray[np.uint64]:
        """Return the shingles of one text, ascending, distinct."""
        return self.hashes[self.offsets[text] : self.offsets[text + 1]]

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of distinct shingles of each text, shape (texts,)."""
        return np.diff(self.offsets)


def shingle_sets(
    texts: Iterable[Iterable[Sequence[str]]], size: int = SHINGLE_TOKENS
) -> ShingleSets:
    """Return the set of shingles of ``size`` consecutive tokens of each text.

    A text of fewer tokens, but at least one, has one shingle: all its tokens.

    Args:
        texts: The tokens of each text, in order, in lists of any size.
        size: Tokens a shingle, at least 1.
    """
    # Each distinct token is hashed once a batch.
    number_of: defaultdict[str, int] = defaultdict(count().__next__)
    numbered = [
        [
            np.fromiter(map(number_of.__getitem__, tokens), np.int64, len(tokens))
            for tokens in pieces
        ]
        for pieces in texts
    ]
    hashes = np.array([_token_hash(token) for token in number_of], np.uint64)
    return from_rows(
        [distinct(runs(hashes[np.concatenate((_NONE, *numbers))], size)) for numbers in numbered]
    )


def from_rows(rows: Sequence[NDArray[np.uint64]]) -> ShingleSets:
    """Join sets of hashes, each ascending and distinct."""
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    return ShingleSets(
        offsets.astype(np.int64), np.concatenate(rows) if rows else np.empty(0, np.uint64)
    )


def _token_hash(token: str) -> int:
    return xxhash.xxh3_64_intdigest(token.encode("utf-8", "surrogatepass"))


def shingle_list(tokens: Sequence[str], size: int) -> NDArray[np.uint64]:
    """Return the hashes of a text's shingles in order, with repeats.

    Args:
        tokens: The text's tokens.
        size: Tokens a shingle; a shorter text has one of all its tokens.
    """
    known = {token: _token_hash(token) for token in set(tokens)}
    return runs(np.array([known[token] for token in tokens], np.uint64), size)


def runs(hashes: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Return a hash of each run of ``size`` token hashes; their order counts."""
    size = min(size, len(hashes))
    if not size:
        return hashes
    length = len(hashes) - size + 1
    mixed = np.zeros(length, np.uint64)
    for place in range(size):
        mixed *= GAMMA
        mixed += hashes[place : place + length]
    return mix(mixed)


def distinct(values: NDArray[_Value]) -> NDArray[_Value]:
    """Return numbers ascending, each once."""
    # np.unique imports the masked arrays, which takes longer than a few texts; and where there are
    # many numbers, hashing them takes longer than sorting.
    ordered = np.sort(values)
    return ordered[begins_run(ordered)]


def distinct_numbers(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers ascending, each once; where they lie close they are marked, not sorted."""
    if len(values) < _WORTH_MARKING:
        return distinct(values)
    low, high = int(values.min()), int(values.max())
    if high - low > _MARKS_EACH * len(values):
        return distinct(values)
    marks = np.zeros(high - low + 1, np.bool_)
    marks[values - low] = True
    return np.flatnonzero(marks) + low


def begins_run(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows differ from the row before; the first always does.

    Args:
        columns: The columns of the rows, shape (n,) each.
    """
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = columns[0][1:] != columns[0][:-1]
    for column in columns[1:]:
        found[1:] |= column[1:] != column[:-1]
    return found
