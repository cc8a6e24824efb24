"""The namespace ``store.filters``: known-keys filters, for crawlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.known_filter import KnownFilter
    from simstore.model import Progress


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
        self._check_takes_documents()
        from simstore.services.history.known_filter import known_filter

        return known_filter(
            self._opened,
            false_positive_rate=false_positive_rate,
            of=of,
            capacity=capacity,
            on_progress=on_progress,
        )

    def known_count(self) -> int:
        """Return how many keys a filter would hold.

        >>> store.filters.known_count()
        3
        """
        from simstore.storage import known

        with self._opened.database.read() as connection:
            return known.count(connection)

    def known_mark(self) -> str:
        """Return a mark; while it is the same, so is the filter.

        It may change where the filter does not.

        >>> mark = store.filters.known_mark()
        >>> mark == store.filters.known_mark()
        True
        """
        from simstore.storage import known

        with self._opened.database.read() as connection:
            return known.mark(connection)
