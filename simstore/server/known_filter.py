"""Serve a known-keys filter to crawlers: built on request, cached until outdated."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass

from simstore.errors import InvalidParameter
from simstore.server.cached_value import may_be_old
from simstore.server.workers.bounded_executor import BoundedExecutor
from simstore.store import Store

_MOST_KEPT = 4
# Room that may be asked for: so many times what is known, or so much of any store (3 MB).
_TIMES_KNOWN = 4
FREE_CAPACITY = 1_000_000


@dataclass(frozen=True, slots=True)
class FilterAsked:
    """The parameters of a filter, as in :meth:`simstore.Store.filters.known`."""

    false_positive_rate: float
    of: tuple[str, ...]
    capacity: int | None


@dataclass(frozen=True, slots=True)
class ServedFilter:
    """A filter that was built, with its entity tag.

    Attributes:
        tag: Its entity tag.
        data: Its bytes.
        good_until: Until when it is served though the store has changed.
    """

    tag: str
    data: bytes
    good_until: float


class FilterCache:
    """Builds filters, one at a time, and caches the latest."""

    def __init__(self, store: Store, executor: BoundedExecutor) -> None:
        self._store = store
        self._executor = executor
        self._made: OrderedDict[FilterAsked, ServedFilter] = OrderedDict()
        self._turn = asyncio.Lock()

    async def filter(self, key: FilterAsked, held: frozenset[str]) -> ServedFilter | str:
        """Return a filter; or the tag of the one that the client holds, where that is good.

        Args:
            key: Which filter.
            held: Tags of those that the client holds; ``*``: whatever there is.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        async with self._turn:
            tag = _tag(await self._executor.run(self._store.filters.known_mark), key)
            if held & {tag, "*"}:
                return tag
            known = self._made.get(key)
            if known is None or (known.tag != tag and time.monotonic() > known.good_until):
                known = await self._executor.run(self._make, key, tag)
                self._made[key] = known
                self._made.move_to_end(key)
                if len(self._made) > _MOST_KEPT:
                    self._made.popitem(last=False)
        return known.tag if known.tag in held else known

    def close(self, timeout: float | None = None) -> bool:
        """Wait for a filter that is being made; as :meth:`.BoundedExecutor.close`."""
        return self._executor.close(timeout)

    def _make(self, key: FilterAsked, tag: str) -> ServedFilter:
        begun = time.monotonic()
        if key.capacity is not None:
            most = max(_TIMES_KNOWN * self._store.filters.known_count(), FREE_CAPACITY)
            if key.capacity > most:
                raise InvalidParameter(
                    f"capacity {key.capacity:,}: this server gives room for {most:,} at most, "
                    f"{_TIMES_KNOWN} times what it knows, or {FREE_CAPACITY:,}; `simstore export "
                    "--known-keys --capacity` makes any where the store lies"
                )
        made = self._store.filters.known(
            false_positive_rate=key.false_positive_rate, of=key.of, capacity=key.capacity
        )
        data = made.to_bytes()
        ended = time.monotonic()
        return ServedFilter(tag, data, ended + may_be_old(ended - begun))


def _tag(mark: str, key: FilterAsked) -> str:
    name = f"{mark}|{key.false_positive_rate!r}|{','.join(key.of)}|{key.capacity}"
    return f'"{hashlib.blake2b(name.encode(), digest_size=12).hexdigest()}"'
