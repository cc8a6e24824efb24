"""Count the features of a batch of documents, as a sparse matrix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.packed_terms import PackedTerms
from simstore.text.letter_scan import PADDING, LetterTable, scan_letters_of
from simstore.text.scanning import Scanned


@dataclass(frozen=True, slots=True)
class FeatureCounts:
    """Counts of each feature in each document of a batch (compressed sparse rows).

    Attributes:
        terms: The distinct features of the batch, UTF-8 or raw bytes; each occurs at least once.
        offsets: Row d is ``offsets[d]:offsets[d + 1]``; int64, shape (documents + 1,).
        columns: Index into ``terms``, ascending within a row; int64, shape (entries,).
        counts: Occurrences, at least 1; int64, shape (entries,).
    """

    terms: Sequence[bytes]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, document: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the columns and counts of one document."""
        part = slice(self.offsets[document], self.offsets[document + 1])
        return self.columns[part], self.counts[part]

    def token_counts(self) -> NDArray[np.int64]:
        """Return the number of feature occurrences in each document, shape (documents,)."""
        sums = np.concatenate(([0], np.cumsum(self.counts)))
        result: NDArray[np.int64] = sums[self.offsets[1:]] - sums[self.offsets[:-1]]
        return result

    def rows(self, first: int, end: int) -> FeatureCounts:
        """Return the documents ``first <= d < end`` with the same terms."""
        offsets = self.offsets[first : end + 1]
        part = slice(offsets[0], offsets[-1])
        return FeatureCounts(
            self.terms, offsets - offsets[0], self.columns[part], self.counts[part]
        )


def count_features(
    documents: Iterable[Iterator[list[str]]], excluded: frozenset[bytes] = frozenset()
) -> FeatureCounts:
    """Count the features of each document.

    Args:
        documents: The features of each document, with repetitions, in lists of any size.
        excluded: Features that do not count (stop words).
    """
    index_of: defaultdict[str, int] = defaultdict(count().__next__)
    token_indices = [np.empty(0, np.int64)]
    lengths = []
    for pieces in documents:
        arrays = [
            np.fromiter(map(index_of.__getitem__, piece), np.int64, len(piece)) for piece in pieces
        ]
        token_indices += arrays
        lengths.append(sum(map(len, arrays)))
    terms = [term.encode("utf-8", "surrogatepass") for term in index_of]
    return _counted(terms, np.array(lengths, np.int64), np.concatenate(token_indices), excluded)


def count_letters(
    texts: Sequence[bytes], excluded: frozenset[bytes] = frozenset()
) -> FeatureCounts:
    """Count the runs of ASCII letters of each text, lower-cased.

    Args:
        texts: The texts.
        excluded: Words that do not count (stop words).
    """
    sizes = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
    end = int(sizes.sum())
    # A byte that is no letter before each text, and after the last.
    padded = (*(b"\n" + text for text in texts), bytes(PADDING + 8 - end % 8))
    data = np.frombuffer(b"".join(padded), np.uint8)
    table = LetterTable()
    numbers, offsets = scan_letters_of(data, 0, end, np.cumsum(sizes) - sizes + 1, table)
    return _counted(table.words(np.arange(len(table))), np.diff(offsets), numbers, excluded)


def count_scanned(scanned: Scanned, excluded: frozenset[bytes] = frozenset()) -> FeatureCounts:
    """Count the features of each document that the scanner has cut into its terms.

    Args:
        scanned: The terms of each document.
        excluded: Features that do not count (stop words).
    """
    terms = PackedTerms.of_scanned(scanned)
    return _counted(terms, np.diff(scanned.offsets), scanned.numbers, excluded)


def _counted(
    terms: PackedTerms | list[bytes],
    lengths: NDArray[np.int64],
    tokens: NDArray[Any],
    excluded: frozenset[bytes],
) -> FeatureCounts:
    """Count tokens, each the number of a term; row after row has ``lengths`` of them."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    if excluded:
        kept_terms = (
            ~terms.places_of(excluded)
            if isinstance(terms, PackedTerms)
            else np.array([term not in excluded for term in terms], bool)
        )
        if not kept_terms.all():
            kept = kept_terms[tokens]
            rows = rows[kept]
            tokens = (np.cumsum(kept_terms) - 1)[tokens[kept]]
            terms = (
                terms.chosen(kept_terms)
                if isinstance(terms, PackedTerms)
                else list(compress(terms, kept_terms))
            )
    width = max(len(terms), 1)
    # Sorted, not np.unique, which looks for NaN and hashes.
    cells = rows * width + tokens
    cells.sort()
    begins = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])
    counts = np.diff(begins, append=len(cells))
    cells = cells[begins]
    offsets = np.searchsorted(cells, np.arange(len(lengths) + 1) * width)
    return FeatureCounts(
        terms if isinstance(terms, PackedTerms) else tuple(terms), offsets, cells % width, counts
    )


def assemble(rows: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> FeatureCounts:
    """Join rows of (columns, counts) whose columns are feature numbers of a vocabulary.

    Returns:
        Feature counts without terms.
    """
    lengths = [len(columns) for columns, _ in rows]
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    if not rows:
        empty = np.empty(0, np.int64)
        return FeatureCounts((), offsets, empty, empty)
    return FeatureCounts(
        (),
        offsets,
        np.concatenate([columns for columns, _ in rows]),
        np.concatenate([counts for _, counts in rows]),
    )
