"""Many fingerprints are looked up together, and found as one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_integers
from simstore.services.channels import fingerprint_index
from simstore.services.channels.fingerprint_index import FingerprintIndex
from simstore.store import Store

RADIUS = 3


def values_of(count: int) -> NDArray[np.uint64]:
    return np.random.default_rng(160).integers(0, 1 << 64, count, dtype=np.uint64)


def queries_of(stored: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 256 queries: stored ones with 0 to 4 bits changed, and others."""
    draw = np.random.default_rng(161)
    near = stored[:200].copy()
    for row, value in enumerate(near.tolist()):
        for bit in draw.choice(64, row % 5, replace=False).tolist():
            value ^= 1 << bit
        near[row] = value
    far = draw.integers(0, 1 << 64, 56, dtype=np.uint64)
    return np.concatenate((near, far)).reshape(-1, 1)


@contextmanager
def index_of(path: Path, stored: NDArray[np.uint64], *, packed: bool) -> Iterator[FingerprintIndex]:
    with Store.create(path, fingerprints_only=True, bits=64) as store:
        store.fingerprints.add(stored)
        store.maintenance.compact(plain=not packed)
        opened = store._opened
        with opened.database.read() as connection:
            snapshot = opened.snapshot(connection)
            assert snapshot.generation is not None
            yield FingerprintIndex(snapshot, snapshot.generation)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "packed"), [(60_000, True), (60_000, False), (4_000, True)])
def test_many_are_found_as_one_by_one(tmp_path: Path, count: int, packed: bool) -> None:
    stored = values_of(count)
    queries = queries_of(stored)
    with index_of(tmp_path / "s.db", stored, packed=packed) as index:
        plan = index.plan(RADIUS, query_count=len(queries), method="segments")
        many = index.search_many(queries, RADIUS, plan)
        alone = [one for row in queries for one in index.search_many(row[None], RADIUS, plan)]
        near = [index.near(value, RADIUS) for value in to_integers(queries)]
    assert many == alone
    assert [one.found for one in many] == near
    assert sum(bool(one.found) for one in many) == 160


@pytest.mark.slow
@pytest.mark.parametrize("crowded", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_whether_one_may_be_near_is_what_a_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool, crowded: bool
) -> None:
    stored = values_of(20_000)
    queries = queries_of(stored)
    if crowded:
        # So few postings are too many.
        monkeypatch.setattr(fingerprint_index, "_CROWDED_ROWS", 0)
    with index_of(tmp_path / "s.db", stored, packed=packed) as index:
        for radius in (0, RADIUS):
            found = [len(index.near_many(query[None], radius).query_rows) > 0 for query in queries]
            assert [index.may_be_near(query, radius) for query in queries] == found
            assert 40 <= sum(found) <= 160
