"""Check packed fingerprints: the pages of every segment hold the same ones, in order, counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.model import Finding
from simstore.search.pages import restored, sortable
from simstore.search.segments import segment_columns, segment_widths
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints, packed_columns, segment_pages, tail
from simstore.storage.generations import GenerationRow

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

# Columns of packed fingerprints that are read at a time.
_COLUMN_ROWS = 65_536
_KEEP = "simstore pack --keep-columns"
_DROP = "simstore pack --drop-columns"


@dataclass(frozen=True, slots=True)
class _Digest:
    """A set of fingerprints, told by its size and two sums that no order changes."""

    size: int = 0
    total: int = 0
    mixed: int = 0

    def with_words(self, words: NDArray[np.uint64]) -> _Digest:
        folded = words[:, 0] if words.shape[1] == 1 else words[:, 0] ^ _mixed(words[:, 1])
        return _Digest(
            self.size + len(words),
            (self.total + int(folded.sum(dtype=np.uint64))) % (1 << 64),
            (self.mixed + int(_mixed(folded).sum(dtype=np.uint64))) % (1 << 64),
        )


def check_pages(
    connection: Connection, bits: int, row: GenerationRow, remedy: str
) -> Iterator[Finding]:
    """Yield what is wrong with the pages of the standing generation, and with its counts.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        row: The standing generation.
        remedy: What makes fingerprints and pages anew.
    """
    in_tail = tail.count(connection, bits, row.generation_id)
    if in_tail + row.packed_count != row.fingerprint_count:
        yield Finding(
            "fingerprint",
            f"{in_tail + row.packed_count} are held, {row.fingerprint_count} counted",
            remedy,
        )
    strays = fingerprints.stray_pages(connection)
    if strays:
        yield Finding("pages", f"{strays} of no generation", remedy)
    are_kept = packed_columns.are_kept(connection)
    if not (are_kept and row.packed_count) and packed_columns.count(
        connection, bits, row.generation_id
    ):
        yield Finding(
            "columns",
            "there are some of packed fingerprints, and there should be none",
            _KEEP if are_kept else _DROP,
        )
    if not row.packed_count:
        if segment_pages.row_count(connection, row.generation_id):
            yield Finding("pages", "there are some, and none is counted", remedy)
        return
    digests = []
    for segment in range(len(segment_widths(bits))):
        digest = _Digest()
        last = None
        try:
            for words in segment_pages.scan(connection, bits, row.generation_id, segment):
                if not len(words):
                    yield Finding("pages", f"segment {segment}: an empty page", remedy)
                    continue
                keys = sortable(words)
                if not (keys[:-1] < keys[1:]).all() or (last is not None and last >= keys[0]):
                    yield Finding("pages", f"segment {segment}: out of order", remedy)
                last = keys[-1]
                digest = digest.with_words(restored(words, segment))
        except CorruptStore as error:
            yield Finding("pages", f"segment {segment}: {error.reason}", remedy)
            return
        digests.append(digest)
    if digests[0].size != row.packed_count:
        yield Finding("pages", f"{digests[0].size} packed, {row.packed_count} counted", remedy)
    for segment, digest in enumerate(digests):
        if digest != digests[0]:
            yield Finding(
                "pages", f"segment {segment} holds other fingerprints than segment 0", remedy
            )
    if are_kept:
        yield from _check_columns(connection, bits, row, digests[0])
    twice = 0
    for words in tail.scan(connection, bits, row.generation_id):
        twice += int(segment_pages.packed_among(connection, bits, row.generation_id, words).sum())
    if twice:
        yield Finding("pages", f"{twice} fingerprints are packed and in the tail too", remedy)


def _check_columns(
    connection: Connection, bits: int, row: GenerationRow, packed: _Digest
) -> Iterator[Finding]:
    """Yield what is wrong with the columns that are kept of packed fingerprints."""
    digest, wrong = _Digest(), 0
    for words, columns in packed_columns.scan(connection, bits, row.generation_id, _COLUMN_ROWS):
        digest = digest.with_words(words)
        expected = segment_columns(words, bits).tolist()
        wrong += sum(list(found) != right for found, right in zip(columns, expected, strict=True))
    if digest != packed:
        yield Finding(
            "columns", f"{digest.size} fingerprints, other than the {packed.size} packed", _KEEP
        )
    if wrong:
        yield Finding("columns", f"{wrong} packed fingerprints have other segments", _KEEP)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finaliser of SplitMix64 of each word."""
    words = words + _MIX[0]
    words = (words ^ words >> np.uint64(30)) * _MIX[1]
    words = (words ^ words >> np.uint64(27)) * _MIX[2]
    return words ^ words >> np.uint64(31)
