"""Packing changes where fingerprints are looked up, and no answer."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_places import raw_store

from simstore.errors import CorruptStore
from simstore.index import pages, tuning
from simstore.model import QueryOptions
from simstore.storage.fingerprints import fingerprints
from simstore.store import Store

from .hexadecimal import create_hexadecimal, hexadecimal_stores
from .state import assert_sound

PACKED = st.sampled_from([64, 128])


@pytest.fixture(autouse=True, scope="module")
def _hexadecimal() -> Iterator[None]:
    with hexadecimal_stores():
        yield


def flip(source: random.Random, value: int, width: int, count: int) -> int:
    return value ^ sum(1 << place for place in source.sample(range(width), count))


def found(store: Store, samples: list[int], radius: int, plan: str) -> list[list[tuple[int, int]]]:
    options = QueryOptions(radius=radius, plan=plan)  # type: ignore[arg-type]
    results = store.query_many([("", f"{sample:x}") for sample in samples], options)
    return [[(int(match.key), match.distance) for match in one.matches] for one in results]


@pytest.fixture(params=["rows of 42 bytes", "rows as released"])
def short_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut pages into rows of some entries too, and merge runs a few entries at a time."""
    if request.param == "rows of 42 bytes":
        monkeypatch.setattr(pages, "ROW_BYTES", 42)
        monkeypatch.setattr(tuning, "MERGED_ENTRIES", 4)


def pack_some(store: Store, limit: int) -> int:
    """Pack one batch, as a pack that was killed after it."""
    opened = store._opened
    with opened.write() as connection:
        state = opened.state(connection)
        assert state.generation is not None
        return fingerprints.pack_some(connection, state.scheme.bits, state.generation, limit)


@pytest.mark.slow
@pytest.mark.usefixtures("short_rows")
@settings(max_examples=max(settings.default.max_examples // 3, 5))
@given(PACKED, st.integers(0, 6), st.integers(0, 2**32), st.data())
def test_answers_are_the_same_before_during_and_after(
    width: int, radius: int, seed: int, data: st.DataObject
) -> None:
    """Any sequence of packing, unpacking, adding, changing and removing equals the oracle."""
    source = random.Random(seed)
    samples = [source.getrandbits(width), 0, (1 << width) - 1]
    held: dict[int, int] = {}

    def value() -> int:
        drawn = source.choice([*samples, *held.values(), source.getrandbits(width)])
        return flip(source, drawn, width, source.randint(0, radius + 2))

    with (
        tempfile.TemporaryDirectory() as folder,
        create_hexadecimal(Path(folder) / "s.db", width, []) as store,
    ):
        steps = data.draw(
            st.lists(
                st.sampled_from(["add", "add", "change", "remove", "pack", "some", "back"]),
                min_size=3,
                max_size=9,
            )
        )
        store.add_many([(str(n), f"{held.setdefault(n, value()):x}") for n in range(12)], threads=1)
        for step in steps:
            if step == "add":
                new = range(len(held) + 100, len(held) + 106)
                store.add_many(
                    [(str(n), f"{held.setdefault(n, value()):x}") for n in new], threads=1
                )
            elif step == "change":
                changed = source.sample(sorted(held), min(3, len(held)))
                held |= {number: value() for number in changed}
                store.add_many([(str(n), f"{held[n]:x}") for n in changed], threads=1)
            elif step == "remove":
                gone = source.sample(sorted(held), min(4, len(held)))
                store.remove(*map(str, gone))
                held = {number: kept for number, kept in held.items() if number not in gone}
            elif step in ("pack", "back"):
                store.maintenance.compact(plain=step == "back")
            else:
                pack_some(store, source.randint(1, 8))
            numbers = [int(one.key) for one in store.list()]
            assert sorted(numbers) == sorted(held)
            expected = [
                [(numbers[place], distance) for place, distance in
                 oracle.within([held[n] for n in numbers], sample, radius)]
                for sample in samples
            ]  # fmt: skip
            plans = ["auto", "scan", *(["segments"] if radius <= 4 else [])]
            for plan in plans:
                assert found(store, samples, radius, plan) == expected, (step, plan)
            statistics = store.stats()
            assert statistics.distinct_fingerprints == len(set(held.values()))
            if step == "pack":
                assert statistics.packed_fingerprints == statistics.distinct_fingerprints
            elif step == "back":
                assert statistics.packed_fingerprints == 0
        assert_sound(store)


@pytest.mark.parametrize("width", [64, 128])
def test_first_stops_at_a_page_and_at_a_row(tmp_path: Path, width: int) -> None:
    stored = [1 << (width - 1), 1]
    with create_hexadecimal(tmp_path / "s.db", width, stored[:1]) as store:
        store.maintenance.compact()
        store.add("1", f"{stored[1]:x}")
        options = QueryOptions(radius=3, first=True, plan="segments")
        (result,) = store.query_many([("", "0")], options)
        assert result.matches
        assert found(store, [0], 3, "segments") == [[(0, 1), (1, 1)]]


def test_other_lengths_have_no_pages(tmp_path: Path) -> None:
    with create_hexadecimal(tmp_path / "s.db", 32, [1, 2]) as store:
        for plain in (False, True):
            store.maintenance.compact(plain=plain)
            assert store.stats().packed_fingerprints == 0
        assert_sound(store)


@pytest.mark.slow
def test_every_broken_page_is_told(tmp_path: Path) -> None:
    stored = [random.Random(n).getrandbits(64) for n in range(30)]

    def packed(path: Path) -> Store:
        store = create_hexadecimal(path, 64, stored)
        store.maintenance.compact()
        return store

    third = "page / (1 << 40) = (SELECT run_id FROM index_run WHERE kind LIKE '%segment 2')"
    last = f"page = (SELECT max(page) FROM index_page WHERE {third})"
    for number, (told, statement) in enumerate(
        (
            ("30 counted", f"DELETE FROM index_page WHERE {last}"),
            ("damaged", f"UPDATE index_page SET entries = x'01' WHERE {third}"),
            ("another checksum", f"UPDATE index_page SET page = page + 1 WHERE {last}"),
            ("of no run", "INSERT INTO index_page VALUES (99 << 40, x'010203040506')"),
            ("30 are held, 31 counted", "UPDATE generation SET fingerprint_count = 31"),
            (
                "30 packed, 29 counted",
                "UPDATE generation SET fingerprint_count = 29, packed_count = 29",
            ),
            (
                "without a document",
                "DELETE FROM document_fingerprint_64 WHERE value = "
                "(SELECT min(value) FROM document_fingerprint_64)",
            ),
            (
                "tail too",
                "INSERT INTO fingerprint_64 (generation_id, value, s0, s1, s2, s3) "
                "SELECT generation_id, value, 0, 0, 0, 0 FROM document_fingerprint_64 LIMIT 1",
            ),
        )
    ):
        path = tmp_path / f"{number}.db"
        packed(path).close()
        with raw_store(path) as connection:
            connection.execute(statement)
        with Store.open(path, synchronous="normal") as store:
            details = [finding.detail for finding in store.maintenance.fsck()]
        assert any(told in detail for detail in details), (told, details)


@pytest.mark.parametrize("records", ["'text'", "5"])
@pytest.mark.parametrize("radius", [0, 5])
def test_row_that_holds_no_records_is_told_by_every_look_up(
    tmp_path: Path, records: str, radius: int
) -> None:
    with Store.create(tmp_path / "s.db", fingerprints_only=True) as store:
        store.fingerprints.add([1, 2, 3 << 40])
        store.maintenance.compact()
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection, connection:
        connection.execute(f"UPDATE index_page SET entries = {records}")
    with Store.open(tmp_path / "s.db") as store, store.fingerprints.reader() as reader:
        for _ in range(2):
            with pytest.raises(CorruptStore):
                reader.near(1, radius)
        with pytest.raises(CorruptStore):
            reader.near_many(np.array([1], np.uint64), radius)
        with pytest.raises(CorruptStore):
            list(reader.near_pairs(radius))


@pytest.mark.parametrize("width", [64, 128])
def test_removed_fingerprints_come_again_and_are_merged_away(tmp_path: Path, width: int) -> None:
    source = random.Random(width)
    values = [source.getrandbits(width) for _ in range(300)]
    with Store.create(tmp_path / "s.db", fingerprints_only=True, bits=width) as store:
        held: set[int] = set()
        for step in range(12):
            added = source.sample(values, 60)
            assert store.fingerprints.add(added) == len(set(added) - held)
            held |= set(added)
            if step % 3 == 0:
                store.maintenance.compact()
            gone = [*source.sample(values, 40), values[0], values[0]]
            assert store.fingerprints.remove(gone) == len(held & set(gone))
            held -= set(gone)
            assert store.stats().distinct_fingerprints == len(held)
            with store.fingerprints.reader() as reader:
                near = {value for one in values for value, _ in reader.near(one, 0)}
            assert near == held
        assert_sound(store)
