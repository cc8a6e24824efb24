"""The crawler's filter, as it is served: made when it is asked for, kept while it is good."""

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
    """Which filter; as :meth:`simstore.Store.known_filter` takes it."""

    false_positive_rate: float
    of: tuple[str, ...]
    capacity: int | None


@dataclass(frozen=True, slots=True)
class ServedFilter:
    """A filter that was made.

    Attributes:
        tag: Its entity tag.
        data: Its bytes.
        good_until: Until when it is served though the store has changed.
    """

    tag: str
    data: bytes
    good_until: float


class Filters:
    """Makes filters, one at a time, and keeps the latest."""

    def __init__(self, store: Store, lane: BoundedExecutor) -> None:
        self._store = store
        self._lane = lane
        self._made: OrderedDict[FilterAsked, ServedFilter] = OrderedDict()
        self._turn = asyncio.Lock()

    async def filter(self, asked: FilterAsked, held: frozenset[str]) -> ServedFilter | str:
        """Return a filter; or the tag of the one that the client holds, where that is good.

        Args:
            asked: Which filter.
            held: Tags of those that the client holds; ``*``: whatever there is.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        async with self._turn:
            tag = _tag(await self._lane.run(self._store.known_mark), asked)
            if held & {tag, "*"}:
                return tag
            known = self._made.get(asked)
            if known is None or (known.tag != tag and time.monotonic() > known.good_until):
                known = await self._lane.run(self._make, asked, tag)
                self._made[asked] = known
                self._made.move_to_end(asked)
                if len(self._made) > _MOST_KEPT:
                    self._made.popitem(last=False)
        return known.tag if known.tag in held else known

    def close(self, timeout: float | None = None) -> bool:
        """Wait for a filter that is being made; as :meth:`.lanes.BoundedExecutor.close`."""
        return self._lane.close(timeout)

    def _make(self, asked: FilterAsked, tag: str) -> ServedFilter:
        begun = time.monotonic()
        if asked.capacity is not None:
            most = max(_TIMES_KNOWN * self._store.known_count(), FREE_CAPACITY)
            if asked.capacity > most:
                raise InvalidParameter(
                    f"capacity {asked.capacity:,}: this server gives room for {most:,} at most, "
                    f"{_TIMES_KNOWN} times what it knows, or {FREE_CAPACITY:,}; `simstore export "
                    "--filter --capacity` makes any where the store lies"
                )
        made = self._store.known_filter(
            false_positive_rate=asked.false_positive_rate, of=asked.of, capacity=asked.capacity
        )
        data = made.to_bytes()
        ended = time.monotonic()
        return ServedFilter(tag, data, ended + may_be_old(ended - begun))


def _tag(mark: str, asked: FilterAsked) -> str:
    name = f"{mark}|{asked.false_positive_rate!r}|{','.join(asked.of)}|{asked.capacity}"
    return f'"{hashlib.blake2b(name.encode(), digest_size=12).hexdigest()}"'
