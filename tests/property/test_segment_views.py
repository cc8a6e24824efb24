"""The views show each fingerprint with its segments, packed or not, whatever a store keeps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_places import is_on_server, raw_store

from simstore.index import pages
from simstore.index.segments import segment_values
from simstore.storage.fingerprints.tail import from_stored
from simstore.store import Store

from .hexadecimal import create_hexadecimal, hexadecimal_stores
from .state import assert_sound

BOTH = pytest.mark.parametrize("bits", [64, 128])
KEPT = pytest.mark.parametrize("keep", [False, True])


@pytest.fixture(autouse=True, scope="module")
def _hexadecimal() -> Iterator[None]:
    with hexadecimal_stores():
        yield


def shown(path: Path, bits: int, table: str = "fingerprint_segments") -> list[tuple[int, ...]]:
    """Return (fingerprint, whether it is packed, segments ...) of a view's rows, in order."""
    family = 64 if bits <= 64 else 128
    columns = ", ".join(f"s{number}" for number in range(family // 16))
    packed = "is_packed" if table == "fingerprint_segments" else "1"
    with raw_store(path) as connection:
        rows = connection.execute(f"SELECT value, {packed}, {columns} FROM {table}_{family}")
        found = [
            (from_stored(bytes(row[0]) if family == 128 else row[0]), *row[1:])
            for row in rows.fetchall()
        ]
    return sorted(found)


def expected(packed: set[int], tail: set[int], bits: int) -> list[tuple[int, ...]]:
    return sorted(
        (value, int(value in packed), *segment_values(value, bits)) for value in packed | tail
    )


@BOTH
@KEPT
def test_view_shows_packed_fingerprints_and_those_of_the_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int, keep: bool
) -> None:
    monkeypatch.setattr(pages, "ROW_BYTES", 84)
    path, source = tmp_path / "s.db", random.Random(bits)
    leads = [0, 5, 0x8000, 0xFFFF]
    values = [
        source.choice([*leads, source.getrandbits(16)]) << (bits - 16)
        | source.getrandbits(bits - 16)
        for _ in range(400)
    ]
    values += [0, (1 << bits) - 1, 1 << (bits - 1)]
    with Store.create(path, fingerprints_only=True, bits=bits, keep_columns=keep) as store:
        assert store.stats().keep_columns == keep
        packed = set(values[::2])
        store.fingerprints.add(sorted(packed))
        store.maintenance.compact()
        tail = set(values[1::2]) - packed
        store.fingerprints.add(sorted(tail))
    # In a store of fingerprints alone, packed ones have their segments where these are kept.
    assert shown(path, bits) == expected(packed if keep else set(), tail, bits)
    kept = expected(packed, set(), bits) if keep else []
    assert shown(path, bits, "packed_fingerprint") == kept
    if bits == 64 and not is_on_server(path):
        with raw_store(path) as connection:
            plan = connection.execute(
                "EXPLAIN QUERY PLAN SELECT * FROM fingerprint_segments_64 WHERE s1 = 7"
            ).fetchall()
        assert any("packed_fingerprint_64 USING INDEX" in row[3] for row in plan)


@pytest.mark.slow
@BOTH
@KEPT
def test_columns_follow_whatever_changes_the_pages(tmp_path: Path, bits: int, keep: bool) -> None:
    """Documents and their fingerprints come, change and go; so do columns, and packing."""
    source, path = random.Random(bits + keep), tmp_path / "s.db"
    held: dict[int, int] = {}

    def draw() -> int:
        return source.choice([source.getrandbits(bits), source.choice([0, 1, *held.values()])])

    with create_hexadecimal(path, bits, []) as store:
        store.maintenance.compact(columns=keep)
        for step in range(12):
            new = {len(held) + number: draw() for number in range(8)}
            held |= new
            changed = {number: draw() for number in source.sample(sorted(held), 3)}
            held |= changed
            store.add_many([(str(n), f"{held[n]:x}") for n in {**new, **changed}], threads=1)
            gone = source.sample(sorted(held), 2)
            store.remove(*map(str, gone))
            for number in gone:
                held[number] = 1
            store.add_many([(str(n), "1") for n in gone], threads=1)
            if step % 3 == 0:
                store.maintenance.compact()
            elif step == 7:
                store.maintenance.compact(plain=True)
            statistics = store.stats()
            rows = shown(path, bits)
            assert sorted({row[0] for row in rows}) == sorted(set(held.values()))
            assert len(rows) == statistics.distinct_fingerprints
            assert sum(row[1] for row in rows) == statistics.packed_fingerprints
            assert [row[2:] for row in rows] == [segment_values(row[0], bits) for row in rows]
            kept = statistics.packed_fingerprints if keep else 0
            assert len(shown(path, bits, "packed_fingerprint")) == kept
            assert_sound(store)
        store.maintenance.compact(columns=not keep)
        kept = 0 if keep else statistics.packed_fingerprints
        assert store.stats().keep_columns is not keep
        assert len(shown(path, bits, "packed_fingerprint")) >= kept
        assert {row[0] for row in shown(path, bits)} == set(held.values())
        assert_sound(store)


@pytest.mark.parametrize(
    ("told", "statement"),
    [
        ("other than the 3 packed", "DELETE FROM packed_fingerprint_64 WHERE value = 1"),
        (
            "1 packed fingerprint with other",
            "UPDATE packed_fingerprint_64 SET s3 = 9 WHERE s3 = 1",
        ),
        ("should be none", "UPDATE store SET keep_columns = (1 = 0)"),
    ],
)
def test_columns_that_are_not_those_of_the_pages_are_told_and_made_anew(
    tmp_path: Path, told: str, statement: str
) -> None:
    path = tmp_path / "s.db"
    with Store.create(path, fingerprints_only=True, keep_columns=True) as store:
        store.fingerprints.add([1, 2, 3 << 40])
        store.maintenance.compact()
        assert store.maintenance.fsck() == []
    with raw_store(path) as connection:
        connection.execute(statement)
    with Store.open(path) as store:
        (finding,) = store.maintenance.fsck()
        assert told in finding.detail
        store.maintenance.compact(columns="--keep" in finding.remedy)
        assert store.maintenance.fsck() == []


def test_store_of_another_length_shows_its_segments_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with create_hexadecimal(path, 40, [0x1234567890, 5]) as store:
        store.maintenance.compact(columns=True)
        assert store.stats().packed_fingerprints == 0
        assert_sound(store)
    assert shown(path, 40) == [(5, 0, 0, 0, 5, None), (0x1234567890, 0, 0x1234, 0x5678, 0x90, None)]
