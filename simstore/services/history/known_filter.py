"""Build a known-keys filter of the keys and texts that a store knows, for use by a crawler."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from simstore.errors import InvalidParameter
from simstore.known_filter import KnownFilter, member_hash
from simstore.model import Progress
from simstore.services.open_store.open_store import OpenStore
from simstore.storage import known

# Room for what a crawler adds, where nobody says how much.
_HEADROOM = 1.25
_LEAST_CAPACITY = 1_000


def known_filter(
    opened: OpenStore,
    *,
    false_positive_rate: float = 0.001,
    of: Sequence[str] = ("keys", "digests"),
    capacity: int | None = None,
    on_progress: Progress | None = None,
) -> KnownFilter:
    """Return a filter of the keys and the texts that a store knows.

    Keys that were skipped as duplicates are known, and their texts; orphans are not: they should
    be fetched and ingested again.

    Args:
        opened: The store.
        false_positive_rate: Largest share of unknown keys, and of unknown texts, that are taken for
            known, above 0, below 1.
        of: ``keys``, ``digests`` (of texts) or both.
        capacity: Keys, and as many texts, that it has room for; None: a quarter more than there
            are, and a thousand at least.
        on_progress: Called with members added and in all.

    Raises:
        InvalidParameter: A parameter is out of its range, or the capacity below what is known.
    """
    with opened.database.read() as connection:
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
