"""Shingle sets in memory: what is asked for again stays, what is not makes room."""

from __future__ import annotations

import numpy as np

from simstore.services.open_store.shingle_cache import ShingleCache


def a_set(number: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.arange(number, number + 10, dtype=np.uint64)


def key(number: int) -> bytes:
    return number.to_bytes(16)


def test_what_is_asked_for_again_stays_and_the_rest_makes_room() -> None:
    kept = ShingleCache(1, most=400)
    for number in range(200):
        kept.put({key(number): a_set(number)})
        # The first is an original that comes again.
        assert kept.of([key(0)])[key(0)].tolist() == a_set(0).tolist()
        # Two halves of 200 shingles, and one text more in each.
        assert len(kept) <= 42
    assert key(100) not in kept.of([key(100)])
    latest = [key(number) for number in range(182, 200)]
    assert list(kept.of(latest)) == latest


def test_what_is_kept_does_not_change_with_what_it_was_made_of() -> None:
    kept = ShingleCache(1, most=400)
    rows = np.arange(20, dtype=np.uint64)
    kept.put({key(1): rows[:10]})
    rows[:] = 7
    assert kept.of([key(1), key(2)])[key(1)].tolist() == list(range(10))
