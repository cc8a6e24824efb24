"""Pages that share a row are as if each had its own, whatever comes and goes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import oracle
import pytest
from postgres_places import raw_store

from simstore.errors import CorruptStore
from simstore.fingerprint.simhash import to_words
from simstore.search import pages
from simstore.search.segments import segment_values
from simstore.storage.fingerprints import fingerprints, segment_pages
from simstore.store import Store

from .state import assert_sound

BOTH = pytest.mark.parametrize("bits", [64, 128])
# Segment values; pairs of them share rows. Bytes that repeat make records occur across others.
LEADS = (0, 1, 2, 3, 0x0100, 0x0101, 0xFFFE, 0xFFFF)


def drawn(bits: int, count: int, seed: int) -> list[int]:
    """Return fingerprints whose segments have few values."""
    source = random.Random(seed)
    found: set[int] = set()
    while len(found) < count:
        segments = source.choices(LEADS, k=bits // 16)
        found.add(sum(segment << 16 * place for place, segment in enumerate(segments)))
    return sorted(found)


def shared_count(path: Path) -> int:
    with raw_store(path) as connection:
        found = connection.execute("SELECT page FROM fingerprint_page").fetchall()
    return sum(pages.is_shared(row[0]) for row in found)


def check(store: Store, held: set[int], asked: list[int], bits: int) -> None:
    """Compare every way to look fingerprints up with the set."""
    with store._opened.database.read() as connection:
        state = store._opened.state(connection)
        assert state.generation is not None
        place = (connection, bits, state.generation.generation_id)
        for some in (asked[:2], asked):
            told = segment_pages.packed_among(*place, to_words(some, bits))
            assert told.tolist() == [value in held for value in some]
        for segment in range(bits // 16):
            count = [segment_values(value, bits)[segment] for value in held].count
            for lead in (*LEADS, 4):
                assert segment_pages.posting_count(*place, segment, [lead]) == count(lead)
            every = segment_pages.posting_count(*place, segment, [*LEADS])
            assert every == len(held)
            wanted = np.array([1, 2, 0xFFFF])
            ((start, end, read),) = list(segment_pages.read_for(*place, segment, wanted[:2]))
            assert (start, end) == (0, 2)
            leads = pages.leading_values(read).tolist()
            assert [leads.count(lead) for lead in (1, 2)] == [count(1), count(2)]
            assert leads == sorted(leads)
        low = bits - 16
        for first, last in ((1, 2), (0, 0), (3, 0x0100), (0x0101, 0xFFFF)):
            read = segment_pages.read_range(*place, first << low, (last + 1 << low) - 1)
            assert len(read) == sum(first <= value >> low <= last for value in held)
        listed = fingerprints.scan(*place)
        assert sum(map(len, listed)) == len(held)
    with store.fingerprints.reader() as reader:
        for radius in (0, 3, 5):
            expected = [
                sorted(
                    (oracle.distance(value, query), value)
                    for value in held
                    if oracle.distance(value, query) <= radius
                )
                for query in asked[:12]
            ]
            for query, near in zip(asked, expected, strict=False):
                assert reader.near(query, radius) == [(value, far) for far, value in near]
    assert_sound(store)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("whole", [True, False])
def test_every_look_up_tells_pages_of_a_shared_row_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int, whole: bool
) -> None:
    if whole:
        monkeypatch.setattr(segment_pages, "_REWRITTEN_SHARE", pages.PAGES_PER_SEGMENT)
        monkeypatch.setattr(segment_pages, "_WHOLE_SHARE", pages.PAGES_PER_SEGMENT)
    path = tmp_path / "s.db"
    values = drawn(bits, 200, bits)
    source = random.Random(bits)
    source.shuffle(values)
    held: set[int] = set()
    with Store.create(path, fingerprints_only=True, bits=bits) as store:
        # Pages grow until none is short enough to share a row, and become short again.
        for end in (9, 24, 200):
            store.fingerprints.add(values[:end])
            store.maintenance.compact()
            held = set(values[:end])
            assert (shared_count(path) > 0) == (end < 200)
            check(store, held, values, bits)
        for start, end in ((0, 150), (150, 170), (170, 188)):
            store.fingerprints.remove(values[start:end])
            held -= set(values[start:end])
            check(store, held, values, bits)
        assert shared_count(path) > 0
        store.maintenance.compact(plain=True)
        assert shared_count(path) == 0
        assert store.stats().distinct_fingerprints == len(held)


@pytest.mark.parametrize("value", [2, 3])
def test_damaged_shared_row_is_told_to_who_asks_for_either_page(tmp_path: Path, value: int) -> None:
    path = tmp_path / "s.db"
    every = 0x0001_0001_0001_0001
    with Store.create(path, fingerprints_only=True) as store:
        store.fingerprints.add([2 * every, 3 * every])
        store.maintenance.compact()
    assert shared_count(path) == 4
    with raw_store(path) as connection:
        connection.execute("UPDATE fingerprint_page SET records = CAST(records || x'01' AS BLOB)")
    with Store.open(path) as store, store.fingerprints.reader() as reader:
        for radius in (0, 3, 5):
            # The first asks for a plan, the second has it.
            for _ in range(2):
                with pytest.raises(CorruptStore):
                    reader.near(value * every, radius)
            with pytest.raises(CorruptStore):
                reader.near_many(np.array([value * every], np.uint64), radius)
        assert any(one.invariant == "pages" for one in store.maintenance.fsck())
