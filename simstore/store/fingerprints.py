"""The namespace ``store.fingerprints``: add, remove and look up fingerprints by value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.model import Progress
    from simstore.services.fingerprints.fingerprint_store import FingerprintValues
    from simstore.services.fingerprints.reader import FingerprintReader


class Fingerprints(Namespace):
    """Fingerprints by their values, in ``store.fingerprints``.

    Of any store they can be read; :meth:`add` and :meth:`remove` are for a
    store of fingerprints alone, ``Store.create(...,
    fingerprints_only=True)``.
    """

    def add(
        self,
        values: FingerprintValues,
        *,
        apart: int | None = None,
        on_progress: Progress | None = None,
    ) -> int:
        """Add fingerprints; return how many were not there.

        The store is one of fingerprints alone.

        >>> with Store.create("values.db", fingerprints_only=True) as alone:
        ...     alone.fingerprints.add([0xFF, 0xFE, 0xFF])
        2

        Args:
            values: An array of uint64, shape (n,) up to 64 bits, else (n, 2),
                the most significant word first; or integers.
            apart: Leave out what lies within so many bits of one that is there,
                or of one before it; None: only what is there.
            on_progress: Called with fingerprints added and in all; what it was
                told is durable.

        Raises:
            InvalidParameter: The store is one of documents, a value does not
                fit M, or the distance is not from 0 to M.
        """
        from simstore.services.fingerprints.fingerprint_store import add_fingerprints

        return add_fingerprints(self._opened, values, on_progress, apart=apart)

    def remove(self, values: FingerprintValues, *, on_progress: Progress | None = None) -> int:
        """Remove fingerprints; return how many were there.

        The store is one of fingerprints alone.

        >>> with Store.create("values.db", fingerprints_only=True) as alone:
        ...     alone.fingerprints.add([0xFF, 0xFE])
        ...     alone.fingerprints.remove([0xFF, 0xAA])
        2
        1

        Args:
            values: As for :meth:`add_fingerprints`.
            on_progress: Called with fingerprints done and in all; what it was
                told is durable.

        Raises:
            InvalidParameter: The store is one of documents, or a value does not
                fit M.
        """
        from simstore.services.fingerprints.fingerprint_store import remove_fingerprints

        return remove_fingerprints(self._opened, values, on_progress)

    @contextmanager
    def reader(self, *, resident: bool | None = None) -> Iterator[FingerprintReader]:
        """Yield a reader of the fingerprints of one snapshot.

        >>> with Store.create("values.db", fingerprints_only=True) as alone:
        ...     alone.fingerprints.add([0xFF, 0xFE])
        ...     with alone.fingerprints.reader() as reader:
        ...         reader.near(0xFF)
        2
        [(255, 0), (254, 1)]

        Args:
            resident: Answer from memory, where all fingerprints are read to
                first; None: as the store was opened.
        """
        from simstore.services.fingerprints.reader import FingerprintReader
        from simstore.services.open_store.resident_index import ResidentIndex

        kept = self._opened.resident
        if resident is None:
            resident = kept is not None
        with self._opened.database.read() as connection:
            snapshot = self._opened.snapshot(connection)
            index = (kept or ResidentIndex()) if resident else None
            reader = FingerprintReader(snapshot, index)
            try:
                yield reader
            finally:
                reader.close()
