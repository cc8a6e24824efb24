"""Shingle sets in a pool: parities rule out only what cannot be alike enough, and most of it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from simstore import compiled
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.search.resemblance import overlap
from simstore.search.set_pool import SetPool


def family(drawn: random.Random, size: int, own: int, count: int) -> list[NDArray[np.uint64]]:
    """Return sets that share all but some of their members with a first one."""
    shared = [drawn.getrandbits(64) for _ in range(size)]
    rows = []
    for _ in range(count):
        kept = drawn.sample(shared, size - own)
        rows.append(
            np.array(sorted({*kept, *(drawn.getrandbits(64) for _ in range(own))}), np.uint64)
        )
    return rows


def test_pairs_below_the_least_resemblance_are_seldom_walked_through() -> None:
    pytest.importorskip("numba")
    compiled.enable(0)
    for least, own in ((0.8, 30), (0.5, 75), (0.95, 10), (0.3, 120)):
        drawn = random.Random(f"{least}")
        # Pages of a template, near copies of one of them, and sets of quite other sizes.
        rows = family(drawn, 200, own, 40)
        far = len(rows)
        base = rows[0]
        for share in (0.99, 0.9, 0.7):
            kept = drawn.sample(base.tolist(), int(len(base) * share))
            rows.append(np.array(sorted(kept), np.uint64))
        extra = [drawn.getrandbits(64) for _ in range(3_000)]
        rows += [
            np.array(sorted({*base.tolist(), *extra[:more]}), np.uint64) for more in (20, 3_000)
        ]
        rows += [np.array([], np.uint64), np.array([0, 1], np.uint64)]

        def read(texts: NDArray[np.int64], rows: list[NDArray[np.uint64]] = rows) -> ShingleSets:
            return from_rows([rows[text] for text in texts.tolist()])

        pool = SetPool(0, read, least)
        pool.grow(len(rows))
        every = np.arange(len(rows))
        pool.hold(every)
        alike = 0
        for text in range(len(rows)):
            for other, found in enumerate(pool.resemblances(text, every).tolist()):
                exact = overlap(rows[text], rows[other]).resemblance
                assert found == exact if exact >= least else found in (-1, exact), least
                alike += exact >= least
        before = pool.walked_count
        assert alike <= before, least
        for text in range(far):
            pool.resemblances(text, np.delete(every[:far], text))
        below = [
            overlap(rows[text], rows[other]).resemblance < least
            for text in range(far)
            for other in range(far)
            if other != text
        ]
        assert sum(below) > 1_500, least
        walked = pool.walked_count - before
        assert walked - (len(below) - sum(below)) < len(below) / 10, least
