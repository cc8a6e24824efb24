"""Packing changes where sketches are looked up, and no answer."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import create, raw, rows

from simstore.errors import Conflict, CorruptStore
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.minhash import sketches as make_sketches
from simstore.fingerprint.sketching import unpack_sketches
from simstore.index import tuning
from simstore.index.bands import band_kind
from simstore.model import QueryOptions
from simstore.services.channels import pack_sketches
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage import sketches
from simstore.storage.index_pages import stored_index
from simstore.storage.sketches import WORDS as WORD_TABLES
from simstore.store import Store

WORDS = (
    "river", "stone", "lamp", "harbour", "bridge", "tide", "wind", "night", "crew", "light",
    "cliff", "glass",
)  # fmt: skip


def text_of(number: int, changed: int = 0) -> str:
    drawn = np.random.default_rng(number // 4)
    words = [WORDS[place] for place in drawn.integers(0, len(WORDS), 60)]
    later = np.random.default_rng(1_000 + number)
    for place in later.integers(0, 60, number % 4 * 3 + changed):
        words[int(place)] = f"w{int(later.integers(1_000))}"
    return " ".join(words)


DOCUMENTS = [(f"d{number}", text_of(number)) for number in range(120)]
SAMPLES = [(f"s{number}", text_of(number, 5)) for number in range(0, 120, 3)]


def answers(store: Store) -> list[Any]:
    options = QueryOptions(channels=("minhash",))
    return [(one.key, one.matches) for one in store.query_many(SAMPLES, options)]


def expected(store: Store, layout: BandLayout) -> list[set[str]]:
    """Return the keys that agree with each sample in a band, by comparing with all of them."""
    opened = store._opened
    with opened.database.read() as connection:
        state = opened.state(connection)
        (_, held, _), *rest = WORD_TABLES.read_after(connection, state.scheme_id, 0)
        assert not rest
    keys = [key for key, _ in DOCUMENTS]
    stored = band_values(unpack_sketches(held), layout)
    sets = state.channels.sketching.sets(text for _, text in SAMPLES)
    wanted = band_values(make_sketches(sets), layout)
    return [
        {key for key, row in zip(keys, stored, strict=True) if (row == query).any()}
        for query in wanted
    ]


@pytest.mark.slow
@pytest.mark.parametrize("layout", [(42, 3), (16, 8)])
def test_what_agrees_in_a_band_is_found_in_pages_and_in_the_tail(
    tmp_path: Path, layout: tuple[int, int]
) -> None:
    with create(tmp_path) as store:
        store.add_many(DOCUMENTS)
        if layout == (42, 3):
            tail = answers(store)
            assert [{m.key for m in found} for _, found in tail] == expected(
                store, BandLayout(*layout)
            )
        store.maintenance.compact(layout)
        assert store.stats().unpacked_sketches == 0
        packed = answers(store)
        wanted = expected(store, BandLayout(*layout))
        assert [{m.key for m in found} for _, found in packed] == wanted
        assert any(wanted)
        assert any(len(found) < len(DOCUMENTS) for found in wanted)
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_updates_and_removals_after_packing_are_seen(tmp_path: Path) -> None:
    with create(tmp_path) as store, create_other(tmp_path) as other:
        store.add_many(DOCUMENTS)
        store.maintenance.compact()
        store.add("d0", text_of(77))
        store.add("d0", text_of(78))
        store.remove("d4", "d5")
        store.add("new", text_of(3))
        changed = [(k, t) for k, t in DOCUMENTS if k not in ("d4", "d5")]
        changed[0] = ("d0", text_of(78))
        other.add_many([*changed, ("new", text_of(3))])

        def keys(of: Store) -> list[list[tuple[str, float | None]]]:
            return [[(m.key, m.resemblance) for m in found] for _, found in answers(of)]

        assert keys(store) == keys(other)
        assert store.maintenance.fsck() == []
        before = keys(store)
        store.maintenance.compact()
        assert keys(store) == before
        assert store.maintenance.fsck() == []


def create_other(folder: Path) -> Store:
    return Store.create(folder / "other.db", synchronous="normal")


def test_tail_in_memory_follows_other_processes(tmp_path: Path) -> None:
    with create(tmp_path) as store, Store.open(tmp_path / "s.db") as other:
        store.add_many(DOCUMENTS[:10])
        assert len(other.query(text_of(8))) == len(store.query(text_of(8)))
        store.add_many(DOCUMENTS[10:])
        store.remove("d8")
        assert answers(other) == answers(store)
        store.maintenance.compact()
        assert answers(other) == answers(store)


def entries_of(store: Store) -> list[tuple[int, int]]:
    """Return all that the index of words holds."""
    opened = store._opened
    with opened.database.read() as connection:
        state = opened.state(connection)
        kind = band_kind("minhash", state.channels.layout)
        index = stored_index(connection, kind, state.scheme_id)
        return sorted(
            (key, number)
            for run in index.runs
            for held in index.scan(run)
            for key, number in zip(held.keys.tolist(), held.values[:, 0].tolist(), strict=True)
        )


def runs_of(folder: Path) -> list[tuple[str, int]]:
    held = rows(folder, "SELECT kind, count(*) FROM index_run GROUP BY kind ORDER BY kind")
    return [(kind, count) for kind, count in held if kind.startswith("minhash ")]


@pytest.mark.slow
def test_runs_that_come_one_by_one_hold_what_one_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "TAIL_SKETCHES", 9)
    with create(tmp_path) as store, create_other(tmp_path) as other:
        for start in range(0, len(DOCUMENTS), 10):
            store.add_many(DOCUMENTS[start : start + 10])
            pack_sketches.pack_long_tail(store._opened, "minhash")
            assert not pack_sketches.pack_long_tail(store._opened, "minhash")
        assert runs_of(tmp_path)[0][1] > 1
        assert store.stats().unpacked_sketches == 0
        other.add_many(DOCUMENTS)
        other.maintenance.compact()
        assert entries_of(store) == entries_of(other)
        assert store.maintenance.fsck() == []
        assert answers(store) == answers(other)
        store.maintenance.compact()
        assert runs_of(tmp_path) == [("minhash 42x3", 1)]
        assert entries_of(store) == entries_of(other)


@pytest.mark.slow
def test_interrupted_pack_leaves_the_answers_and_the_next_one_clears_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if 0 < done < total == len(DOCUMENTS):
            raise Stop

    told: list[tuple[int, int]] = []
    monkeypatch.setattr(tuning, "MERGED_ENTRIES", 64)
    monkeypatch.setattr(sketches, "_READ_ROWS", 50)
    with create(tmp_path) as store:
        store.add_many(DOCUMENTS)
        before = answers(store)
        with pytest.raises(Stop):
            store.maintenance.compact((32, 4), on_progress=stop)
        assert answers(store) == before
        assert runs_of(tmp_path) == [("minhash 32x4", 1)]
        assert store.maintenance.fsck() == []
        # It is gone on with.
        told.clear()
        store.maintenance.compact((32, 4), on_progress=stop)
        assert told[-2:] == [(50, 70), (70, 70)]
        assert store.stats().bands == "32x4"
        with pytest.raises(Stop):
            store.maintenance.compact((42, 3), on_progress=stop)
        store.maintenance.compact()
        assert runs_of(tmp_path) == [("minhash 32x4", 1)]
        store.maintenance.compact((42, 3))
        assert answers(store) == before


@pytest.mark.slow
def test_two_that_pack_at_once_pack_each_sketch_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "MERGED_ENTRIES", 64)
    monkeypatch.setattr(sketches, "_READ_ROWS", 50)
    with create(tmp_path) as store, Store.open(tmp_path / "s.db") as other:
        store.add_many(DOCUMENTS)

        def intrude(done: int, _total: int) -> None:
            if done == 50:
                assert pack_sketches.compact(other._opened, "minhash")

        assert pack_sketches.compact(store._opened, "minhash", on_progress=intrude)
        assert store.stats().unpacked_sketches == 0
        assert len(entries_of(store)) == 42 * len(DOCUMENTS)
        assert store.maintenance.fsck() == []


def test_another_layout_is_seen_by_other_processes(tmp_path: Path) -> None:
    with create(tmp_path) as store, Store.open(tmp_path / "s.db") as other:
        store.add_many(DOCUMENTS[:40])
        assert answers(other) == answers(store)
        store.maintenance.compact((16, 8))
        assert other.stats().bands == "16x8"
        assert answers(other) == answers(store)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("UPDATE sketch SET sketch = substr(sketch, 1, 254) WHERE sketch_id = 9", "sketch"),
        ("UPDATE sketch SET sketch = zeroblob(256) WHERE sketch_id = 9", "sketch"),
        ("UPDATE sketch SET size = size + 1 WHERE sketch_id = 9", "sketch"),
        ("DELETE FROM sketch WHERE sketch_id = 9", "sketch"),
        ("UPDATE index_page SET entries = substr(entries, 2)", "bands"),
        ("DELETE FROM index_page WHERE page = (SELECT min(page) FROM index_page)", "bands"),
        (
            "UPDATE index_page SET page = page + 1 WHERE page = (SELECT min(page) FROM index_page)",
            "bands",
        ),
        (
            "DELETE FROM index_page WHERE page = (SELECT max(page) FROM index_page)",
            "bands",
        ),
        (
            "UPDATE index_page SET entries = zeroblob(length(entries)) "
            "WHERE page = (SELECT max(page) FROM index_page)",
            "bands",
        ),
        ("UPDATE index_run SET last_source = last_source - 1", "bands"),
        ("UPDATE index_run SET entry_count = entry_count - 1", "bands"),
        ("UPDATE index_run SET page_bits = 60", "bands"),
    ],
)
def test_fsck_finds_damage(tmp_path: Path, damage: str, kind: str) -> None:
    with create(tmp_path, channels=("minhash",)) as store:
        store.add_many(DOCUMENTS)
        store.maintenance.compact()
    with raw(tmp_path) as connection:
        assert connection.execute(damage).rowcount > 0
    with Store.open(tmp_path / "s.db") as store:
        found = store.maintenance.fsck()
        assert kind in {one.invariant for one in found}
        assert all(one.remedy for one in found)
        if "index_page" in damage or "page_bits" in damage:
            store.maintenance.compact()
            assert store.maintenance.fsck() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sketch SET sketch = substr(sketch, 1, 254)",
        "UPDATE index_page SET entries = x'00'",
    ],
)
def test_query_on_damage_is_one_clear_error(tmp_path: Path, damage: str) -> None:
    with create(tmp_path, channels=("minhash",)) as store:
        store.add_many(DOCUMENTS)
        store.maintenance.compact()
    with raw(tmp_path) as connection:
        connection.execute(damage)
    with Store.open(tmp_path / "s.db") as store, pytest.raises(CorruptStore, match="damaged"):
        answers(store)


@pytest.mark.slow
def test_reindex_by_another_process_while_packing_keeps_its_own_channels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "MERGED_ENTRIES", 64)
    monkeypatch.setattr(sketches, "_READ_ROWS", 50)
    with create(tmp_path) as store, Store.open(tmp_path / "s.db") as other:
        store.add_many(DOCUMENTS)
        done = []

        def intrude(packed: int, _total: int) -> None:
            if packed == 50 and not done:
                done.append(
                    other.maintenance.reindex(
                        SchemeChoice("web", accents="strip"), channels=("simhash",)
                    )
                )

        with pytest.raises(Conflict, match="try again"):
            store.maintenance.compact((20, 5), on_progress=intrude)
        assert done == ["web/1"]
    with Store.open(tmp_path / "s.db") as store:
        assert store.stats().channels == "simhash"
        assert store.maintenance.fsck() == []
        store.maintenance.reindex(channels=("simhash", "minhash"))
        assert store.maintenance.fsck() == []


def _packing_peak(store: Store) -> int:
    """Return the most bytes that a packing holds; threads of earlier tests may add to them."""
    gc.collect()
    tracemalloc.start()
    try:
        pack_sketches.compact(store._opened, "minhash")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.thorough
def test_packing_holds_no_more_of_a_larger_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Either store has more entries than may be held, so each is packed and merged in parts.
    monkeypatch.setattr(tuning, "MERGED_ENTRIES", 20_000)
    monkeypatch.setattr(sketches, "_READ_ROWS", 500)
    peaks = []
    with create(tmp_path) as store:
        for first, end in ((0, 1_100), (1_100, 4_400)):
            store.add_many((f"d{number}", text_of(4 * number)) for number in range(first, end))
            peaks.append(_packing_peak(store))
    assert peaks[1] < 1.2 * peaks[0]
