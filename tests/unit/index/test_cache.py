from __future__ import annotations

import numpy as np

from simstore.index.cache import Cache


def test_a_name_has_the_value_of_its_last_key_only() -> None:
    cache = Cache(1_000)
    assert cache.made("ranks", 1, lambda: "old") == "old"
    assert cache.made("ranks", 1, lambda: "made again") == "old"
    cache.put("ranks", 2, "new")
    assert cache.get("ranks", 1) is None
    assert cache.get("ranks", 2) == cache.latest("ranks") == "new"
    cache.forget()
    assert cache.latest("ranks") is None


def test_values_used_longest_ago_leave_when_the_bound_is_exceeded() -> None:
    cache = Cache(100)
    for name in range(4):
        cache.put(name, "key", np.zeros(3))
    assert cache.get(0, "key") is not None
    cache.put(4, "key", np.zeros(3))
    assert [name for name in range(5) if cache.latest(name) is not None] == [0, 2, 3, 4]
    # A replaced value no longer counts, and one that exceeds the bound alone is held.
    cache.put(4, "other", np.zeros(1))
    cache.put(5, "key", np.zeros(2))
    assert cache.latest(2) is not None
    cache.put(6, "key", np.zeros(50))
    assert [name for name in range(7) if cache.latest(name) is not None] == [6]
