"""The namespace ``store.filters``: known-keys filters, for crawlers."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from simstore.errors import InvalidParameter
from simstore.storage import known
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.known_filter import KnownFilter
    from simstore.model import Progress

# Room for what a crawler adds, where nobody says how much.
_HEADROOM = 1.25
_LEAST_CAPACITY = 1_000


class Filters(Namespace):
    """Known-keys filters, of keys and texts, in ``store.filters``."""

    def known(
        self,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
        capacity: int | None = None,
        on_progress: Progress | None = None,
    ) -> KnownFilter:
        """Return a known-keys filter, of keys and texts, for a crawler.

        Keys that were skipped as duplicates are known, and their texts; orphans
        are not: they should be fetched and ingested again.

        >>> known = store.filters.known()
        >>> known.knows_key("ferry-2025"), known.knows_key("harbour")
        (True, False)

        Args:
            false_positive_rate: Largest share of strangers that are taken for
                known.
            of: ``keys``, ``digests`` (of texts) or both.
            capacity: Keys, and as many texts, that it has room for; None: a
                quarter more.
            on_progress: Called with members added and in all.

        Returns:
            The filter; it can be saved, and asked without the store.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        from simstore.known_filter import KnownFilter, member_hash

        self._check_takes_documents()
        with self._opened.database.read() as connection:
            held = known.count(connection)
            if capacity is None:
                capacity = max(ceil(held * _HEADROOM), _LEAST_CAPACITY)
            elif capacity < held:
                raise InvalidParameter(
                    f"capacity {capacity:,}: the store knows {held:,} keys; give as many at least"
                )
            made = KnownFilter.create(capacity, false_positive_rate=false_positive_rate, of=of)
            done = 0
            for kind in of:
                pages = known.keys(connection) if kind == "keys" else known.digests(connection)
                for page in pages:
                    # The digest of a text is the hash by which the filter knows it.
                    made.add_hashes(kind, map(member_hash, page) if kind == "keys" else page)
                    done += len(page)
                    if on_progress is not None:
                        on_progress(done, held * len(of))
        return made

    def known_count(self) -> int:
        """Return how many keys a filter would hold.

        >>> store.filters.known_count()
        3
        """
        with self._opened.database.read() as connection:
            return known.count(connection)

    def known_mark(self) -> str:
        """Return a mark; while it is the same, so is the filter.

        It may change where the filter does not.

        >>> mark = store.filters.known_mark()
        >>> mark == store.filters.known_mark()
        True
        """
        with self._opened.database.read() as connection:
            return known.mark(connection)
