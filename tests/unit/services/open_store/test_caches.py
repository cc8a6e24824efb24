"""Caches of an open store: what is read once, when it is read anew, and what makes room."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simstore import QueryOptions, Store
from simstore.services.open_store import caches
from simstore.services.open_store.caches import (
    ShingleCache,
    SnapshotCache,
    TailCache,
    fits_in_memory,
)
from simstore.storage import vocabularies
from simstore.storage.generations import GenerationRow
from simstore.storage.sketches import SketchTables

TEXTS = [f"a text about {word} and its {other}" for word, other in zip("abcdef", "ghijkl")]  # noqa: B905


def a_set(number: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.arange(number, number + 10, dtype=np.uint64)


def key(number: int) -> bytes:
    return number.to_bytes(16)


def test_what_is_asked_for_again_stays_and_the_rest_makes_room() -> None:
    kept = ShingleCache(most=400)
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
    kept = ShingleCache(most=400)
    rows = np.arange(20, dtype=np.uint64)
    kept.put({key(1): rows[:10]})
    rows[:] = 7
    assert kept.of([key(1), key(2)])[key(1)].tolist() == list(range(10))


def test_a_value_is_made_once_for_all_snapshots_with_its_key() -> None:
    made: list[int] = []
    cache: SnapshotCache[int, str] = SnapshotCache()

    def value_of(generation: int) -> str:
        def make() -> str:
            made.append(generation)
            return f"of {generation}"

        return cache.made(generation, make)

    assert cache.is_empty
    assert [value_of(generation) for generation in (1, 1, 2, 2)] == ["of 1"] * 2 + ["of 2"] * 2
    assert made == [1, 2]
    # An older snapshot gets nothing of a newer one.
    assert cache.get(1) is None
    assert value_of(1) == "of 1"
    cache.forget()
    assert cache.is_empty
    assert cache.get(1) is None


def test_a_value_that_cannot_be_made_leaves_what_is_held() -> None:
    cache: SnapshotCache[int, str] = SnapshotCache()
    cache.put(1, "one")

    def fail() -> str:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        cache.made(2, fail)
    assert cache.get(1) == "one"


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, counts: Counter[str]) -> None:
    whole = getattr(owner, name)

    def count(*args: Any, **keywords: Any) -> Any:
        counts[name] += 1
        return whole(*args, **keywords)

    monkeypatch.setattr(owner, name, count)


def test_ranks_are_read_once_a_generation_by_each_open_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()
    counted(monkeypatch, vocabularies, "ranked_terms", counts)
    path = tmp_path / "s.db"
    with (
        Store.create(path, scheme="simtool", policy="live") as writer,
        Store.open(path, read_only=True) as reader,
    ):
        writer.add_many(enumerate(TEXTS))
        counts.clear()
        for text in TEXTS * 3:
            assert reader.query(text, QueryOptions(radius=0))
        assert counts["ranked_terms"] == 1
        # Another generation stands by now, which another open store has made.
        writer.add("more", "words that change the ranks")
        counts.clear()
        for text in TEXTS * 3:
            assert reader.query(text, QueryOptions(radius=0))
        assert counts["ranked_terms"] == 1


def test_sketches_that_are_not_packed_are_read_once_until_some_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()
    counted(monkeypatch, SketchTables, "read_after", counts)
    rows: list[int] = []
    whole = SketchTables.read_after

    def read_after(*args: Any) -> Any:
        for numbers, packed in whole(*args):
            rows.append(len(numbers))
            yield numbers, packed

    monkeypatch.setattr(SketchTables, "read_after", read_after)
    with Store.create(tmp_path / "s.db") as store:
        store.add_many(enumerate(TEXTS))
        for _ in range(3):
            store.query(TEXTS[0], channels=("minhash",))
        assert (sum(rows), counts["read_after"]) == (len(TEXTS), 1)
        # What this store adds joins what is held.
        store.add("more", "a text about m and its n")
        store.query(TEXTS[0], channels=("minhash",))
        assert (sum(rows), counts["read_after"]) == (len(TEXTS), 1)
        # What came since is read beside what is held.
        with Store.open(tmp_path / "s.db") as other:
            other.add("most", "a text about o and its p")
        store.query(TEXTS[0], channels=("minhash",))
        assert (sum(rows), counts["read_after"]) == (len(TEXTS) + 1, 2)


@pytest.mark.sqlite("PostgreSQL looks up the tail in the server")
@pytest.mark.parametrize(("each", "share", "asked"), [(1, 1_000, 40), (8, 1_000, 5), (1, 4, 4)])
def test_a_tail_is_read_when_looking_up_has_read_as_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int, share: int, asked: int
) -> None:
    monkeypatch.setattr(caches, "_TAIL_EACH", each)
    # A look-up in a longer tail reads more of it.
    monkeypatch.setattr(caches, "_TAIL_SHARE", share)
    with Store.create(tmp_path / "s.db") as store:
        words = [f"w{number}" for number in range(400)]
        store.add_many((str(n), " ".join(words[10 * n : 10 * n + 10])) for n in range(40))
        opened = store._opened
        with opened.database.read() as connection:
            row = opened.state(connection).generation
            assert row is not None
            assert row.fingerprint_count == 40
            cache = TailCache()
            found = [cache.read(connection, 64, row, 1) is not None for _ in range(asked)]
    assert found == [False] * (asked - 1) + [True]


@pytest.mark.parametrize(("bits", "most"), [(64, 4_000_000), (128, 1_000_000), (16, 16_000_000)])
def test_as_many_fingerprints_are_kept_as_take_the_same_memory(bits: int, most: int) -> None:
    row = GenerationRow(1, 1, "standing", 0, fingerprint_count=most)
    assert fits_in_memory(row, bits)
    assert not fits_in_memory(replace(row, fingerprint_count=most + 1), bits)
