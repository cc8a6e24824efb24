"""Values that a process keeps in memory from one transaction to the next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class Cache:
    """Named values, each valid for one key, within a bound in bytes.

    A key names everything that the value was made from: a scheme, a generation with its edition,
    the rows of an index. A snapshot with another key, newer or older, gets no value. Above the
    bound, the least recently used values are dropped, but never the last one. The size of a value
    is its ``memory_bytes`` or ``nbytes``; others count as nothing. Threads may share a cache.

    >>> cache = Cache(1_000)
    >>> cache.put("ranks", 7, {"the": 0})
    {'the': 0}
    >>> cache.get("ranks", 7), cache.get("ranks", 8)
    ({'the': 0}, None)

    Args:
        most_bytes: The bound.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[Hashable, tuple[Any, Any, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, name: Hashable, key: Any) -> Any:
        """Return the value of a name and a key; None: there is none."""
        with self._lock:
            held = self._held.get(name)
            if held is None or held[0] != key:
                return None
            self._held.move_to_end(name)
            return held[1]

    def latest(self, name: Hashable) -> Any:
        """Return the value of a name under any key; None: there is none."""
        held = self._held.get(name)
        return None if held is None else held[1]

    def put(self, name: Hashable, key: Any, value: Any) -> Any:
        """Replace the value of a name, and return it."""
        size = int(getattr(value, "memory_bytes", getattr(value, "nbytes", 0)))
        with self._lock:
            _, _, freed = self._held.pop(name, (None, None, 0))
            self._held[name] = key, value, size
            self._bytes += size - freed
            while self._bytes > self._most_bytes and len(self._held) > 1:
                _, (_, _, freed) = self._held.popitem(last=False)
                self._bytes -= freed
        return value

    def made(self, name: Hashable, key: Any, make: Callable[[], Any]) -> Any:
        """Return the value of a name and a key; make it if there is none."""
        found = self.get(name, key)
        return self.put(name, key, make()) if found is None else found

    def forget(self) -> None:
        """Drop all values, as some may come from a transaction that was rolled back."""
        with self._lock:
            self._held.clear()
            self._bytes = 0
