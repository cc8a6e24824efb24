"""A reader for repeated fingerprint look-ups in one snapshot of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import to_integers
from simstore.search.hamming import BatchResults
from simstore.search.plan import check_radius, default_radius
from simstore.services.channels.fingerprint_index import FingerprintIndex
from simstore.services.fingerprints.fingerprint_store import FingerprintValues, words_of
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.fingerprints import fingerprints
from simstore.text.decoding import exact_text

if TYPE_CHECKING:
    from simstore.services.open_store.resident_index import ResidentIndex


class FingerprintReader:
    """A reader of the fingerprints of one snapshot of a store.

    >>> value = int(store.get("bread-1").fingerprint, 16)
    >>> with store.fingerprints.reader() as reader:
    ...     [key for _, key in reader.documents_with([value])]
    ['bread-1']

    What others write meanwhile is not seen; open another reader for that. Not
    to be shared by threads: give each its own.

    Attributes:
        bits: Fingerprint length M.
        count: Distinct fingerprints.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        resident: ResidentIndex | None,
    ) -> None:
        """Use ``store.fingerprints.reader()``."""
        row = snapshot.generation
        self.bits = snapshot.scheme.bits
        self.count = row.fingerprint_count if row else 0
        self._snapshot = snapshot
        self._generation_id = row.generation_id if row else None
        self._index: FingerprintIndex | None = None
        self._is_open = True
        self._near: Callable[[int, int], list[tuple[int, int]]] = _nothing
        if row is not None:
            self._index = FingerprintIndex(snapshot, row, resident=resident)
            self._near = self._index.near
            if self._index.tables is not None:
                self._near = self._index.tables.levels[0].near

    def near(self, value: int, radius: int | None = None) -> list[tuple[int, int]]:
        """Return the fingerprints within a radius and their distances.

        Args:
            value: A fingerprint, a non-negative integer below 2**M.
            radius: Largest distance, in bits, inclusive; None: the default.

        Returns:
            Ascending by distance, then fingerprint.

        Raises:
            InvalidParameter: The value or the radius does not fit M.
        """
        if radius is None:
            radius = default_radius(self.bits)
        # Asked a hundred thousand times a second: what is an int already is not looked at twice.
        if type(radius) is not int or not 0 <= radius <= self.bits:
            radius = self._radius(radius)
        if type(value) is not int or value < 0 or value >> self.bits:
            (value,) = to_integers(words_of([value], self.bits))
        return self._near(value, radius)

    def near_many(
        self, values: FingerprintValues, radius: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
        """Return the fingerprints within a radius of each of many.

        Args:
            values: uint64 of shape (n,), up to 64 bits, or (n, words); or
                integers.
            radius: Largest distance, in bits, inclusive; None: the default.

        Returns:
            Which query, int64, shape (matches,); fingerprints, uint64, shape
            (matches, words); distances, int64, shape (matches,). Ascending by
            query, distance, fingerprint.

        Raises:
            InvalidParameter: A value or the radius does not fit M.
        """
        self._check_open()
        radius = self._radius(radius)
        words = words_of(values, self.bits)
        if self._index is None:
            return BatchResults(np.empty(0, np.int64), words[:0], np.empty(0, np.int64))
        return self._index.near_many(words, radius)

    def near_pairs(
        self, radius: int | None = None
    ) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]]:
        """Yield all pairs of stored fingerprints within a radius, each pair once.

        Args:
            radius: Largest distance, in bits, inclusive; None: the default.

        Yields:
            The smaller and the larger fingerprint of each pair, uint64, shape
            (pairs, words) each, and their distances, int64, shape (pairs,);
            pairs in no order.

        Raises:
            InvalidParameter: The radius does not fit M.
        """
        self._check_open()
        radius = self._radius(radius)
        if self._index is not None:
            yield from self._index.sorted().near_pairs(radius)

    def fingerprints(self) -> Iterator[NDArray[np.uint64]]:
        """Yield all distinct fingerprints, in arrays of shape (n, words)."""
        self._check_open()
        if self._index is not None:
            yield from self._index.everything()

    def documents_with(self, values: FingerprintValues) -> list[tuple[int, str]]:
        """Return (fingerprint, key) of documents with these fingerprints.

        Args:
            values: As for :meth:`near_many`.

        Returns:
            In order of ingest; empty for a store of fingerprints alone.
        """
        self._check_open()
        if self._generation_id is None:
            return []
        chosen = to_integers(words_of(values, self.bits))
        rows = fingerprints.documents_with(
            self._snapshot.connection, self.bits, self._generation_id, sorted(set(chosen))
        )
        return [(value, exact_text(key)) for value, _, key in sorted(rows, key=lambda row: row[1])]

    def close(self) -> None:
        """Close the reader: later look-ups are refused."""
        self._is_open = False
        self._near = _closed

    def _check_open(self) -> None:
        if not self._is_open:
            _closed(0, 0)

    def _radius(self, radius: int | None) -> int:
        if radius is None:
            return default_radius(self.bits)
        check_radius(radius, self.bits)
        return int(radius)


def _nothing(value: int, radius: int) -> list[tuple[int, int]]:  # noqa: ARG001 - as a look-up
    return []


def _closed(value: int, radius: int) -> list[tuple[int, int]]:  # noqa: ARG001 - as a look-up
    raise InvalidParameter("this reader's `with` block has ended; open another by Store.reader()")
