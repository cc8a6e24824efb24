"""A reader and a store of fingerprints alone answer as a look at everything does."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore import Store
from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import to_integers, to_words
from simstore.index import tuning
from simstore.services.channels import fingerprint_index
from simstore.services.fingerprints import fingerprint_store as given_service
from simstore.services.fingerprints.reader import FingerprintReader

from .hexadecimal import create_hexadecimal, hexadecimal_stores
from .strategies import bits_and_radius

FEW = max(settings.default.max_examples // 3, 5)


@pytest.fixture(autouse=True, scope="module")
def _hexadecimal() -> Iterator[None]:
    with hexadecimal_stores():
        yield


def flip(source: random.Random, value: int, width: int, count: int) -> int:
    return value ^ sum(1 << place for place in source.sample(range(width), count))


def drawn(width: int, radius: int, seed: int) -> tuple[list[int], list[int]]:
    """Return distinct fingerprints and samples, some of them at radius and radius + 1."""
    source = random.Random(seed)
    samples = [source.getrandbits(width), 0, (1 << width) - 1]
    stored = {source.getrandbits(width) for _ in range(20)}
    for sample in samples:
        stored |= {
            flip(source, sample, width, min(distance, width))
            for distance in (0, radius, radius, radius + 1)
        }
    return sorted(stored), samples


def near(stored: list[int], sample: int, radius: int) -> list[tuple[int, int]]:
    return [(stored[place], distance) for place, distance in oracle.within(stored, sample, radius)]


def assert_answers(
    reader: FingerprintReader, stored: list[int], samples: list[int], radius: int
) -> None:
    """Every form of the question gives the oracle's answer."""
    assert reader.count == len(stored)
    right = [near(stored, sample, radius) for sample in samples]
    assert [reader.near(sample, radius) for sample in samples] == right
    for queries in (samples, to_words(samples, reader.bits)):
        rows, words, distances = reader.near_many(queries, radius)
        found: list[list[tuple[int, int]]] = [[] for _ in samples]
        for row, value, distance in zip(
            rows.tolist(), to_integers(words), distances.tolist(), strict=True
        ):
            found[row].append((value, distance))
        assert found == right
    pairs = [
        (one, other, distance)
        for left, right, distances in reader.near_pairs(radius)
        for one, other, distance in zip(
            to_integers(left), to_integers(right), distances.tolist(), strict=True
        )
    ]
    assert sorted(pairs) == [
        (one, other, oracle.distance(one, other))
        for place, one in enumerate(stored)
        for other in stored[place + 1 :]
        if oracle.distance(one, other) <= radius
    ]
    held = [value for part in reader.fingerprints() for value in to_integers(part)]
    assert sorted(held) == stored


@settings(max_examples=FEW)
@given(bits_and_radius(), st.integers(0, 2**32), st.booleans())
def test_reader_equals_the_oracle(shape: tuple[int, int], seed: int, resident: bool) -> None:
    width, radius = shape[0], min(shape[1], 5)
    stored, samples = drawn(width, radius, seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", fingerprints_only=True, bits=width) as store,
    ):
        source = random.Random(seed)
        early = source.sample(stored, len(stored) // 2)
        assert store.fingerprints.add(early) == len(early)
        if width in (64, 128) and source.random() < 0.7:
            store.maintenance.compact()
        assert store.fingerprints.add([*stored, *stored[:3]]) == len(stored) - len(early)
        with store.fingerprints.reader(resident=resident) as reader:
            assert_answers(reader, stored, samples, radius)
        assert store.maintenance.fsck() == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("resident", [False, True])
def test_what_comes_and_goes_is_seen_by_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, resident: bool
) -> None:
    """Whether values are added to the tail or to pages, one by one or many at once."""
    monkeypatch.setattr(tuning, "COLUMN_FINGERPRINTS", 30)
    monkeypatch.setattr(tuning, "TAIL_FINGERPRINTS", 8)
    monkeypatch.setattr(given_service, "CHUNK_FINGERPRINTS", 25)
    path = tmp_path / "s.db"
    Store.create(path, fingerprints_only=True, bits=width, synchronous="normal").close()
    source = random.Random(width)
    held: set[int] = set()
    packed = set()
    with Store.open(path, resident=resident, synchronous="normal") as store:
        for step in range(14):
            new = [source.getrandbits(width) for _ in range(source.choice([1, 3, 12, 60]))]
            new += source.sample(sorted(held), min(3, len(held)))
            added = store.fingerprints.add(to_words(new, width))
            assert added == len({*new} - held)
            held |= {*new}
            gone = [*source.sample(sorted(held), len(held) // 5), source.getrandbits(width)]
            assert store.fingerprints.remove(gone) == len({*gone} & held)
            held -= {*gone}
            if step % 5 == 3:
                store.maintenance.compact(plain=True)
            statistics = store.stats()
            packed.add(statistics.packed_fingerprints)
            assert statistics.distinct_fingerprints == len(held)
            stored = sorted(held)
            samples = [flip(source, source.choice(stored), width, n) for n in range(4)]
            with store.fingerprints.reader() as reader:
                assert_answers(reader, stored, samples, 3)
        assert store.maintenance.fsck() == []
    assert len(packed) > 4


@pytest.mark.parametrize(("width", "radius"), [(16, 3), (64, 0), (64, 3), (128, 5)])
def test_many_queries_at_once_are_answered_as_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, radius: int
) -> None:
    """Whether the tail is in memory or in the file, and everything is compared or not."""
    stored, samples = drawn(width, radius, width + radius)
    right = [near(stored, sample, radius) for sample in samples]
    with Store.create(tmp_path / "s.db", fingerprints_only=True, bits=width) as store:
        store.fingerprints.add(stored[::2])
        if width > 16:
            store.maintenance.compact()
        store.fingerprints.add(stored)
        for method, each in (("segments", 1 << 20), ("segments", 0), ("scan", 0)):
            # The tail is read into memory, or looked up by its columns.
            monkeypatch.setattr(tuning, "TAIL_EACH", each)
            with store.fingerprints.reader() as reader, monkeypatch.context() as patch:
                index = reader._index
                assert index is not None
                plan = index.plan(radius, method=method)
                patch.setattr(fingerprint_index, "_plan", lambda *_, plan=plan: plan)
                rows, words, distances = reader.near_many(samples, radius)
            found: list[list[tuple[int, int]]] = [[] for _ in samples]
            for row, value, distance in zip(
                rows.tolist(), to_integers(words), distances.tolist(), strict=True
            ):
                found[row].append((value, distance))
            assert found == right


def test_reader_knows_the_documents_of_a_fingerprint(tmp_path: Path) -> None:
    stored = [5, 9, 5, 1]
    with create_hexadecimal(tmp_path / "s.db", 64, stored) as store:
        for pack in (lambda: None, store.maintenance.compact):
            pack()
            with store.fingerprints.reader() as reader:
                assert reader.near(5, 1) == [(5, 0), (1, 1)]
                assert reader.documents_with([5, 1, 7]) == [(5, "0"), (5, "2"), (1, "3")]
                assert reader.near(0) == [(1, 1), (5, 2), (9, 2)]


def test_what_is_no_fingerprint_is_refused(tmp_path: Path) -> None:
    cases: list[tuple[object, str]] = [
        ([1 << 64], "from 0 to"),
        ([-1], "from 0 to"),
        ([1.5], "not float"),
        ([True], "not bool"),
        (np.array([1.0]), "float64"),
        (np.array([1]), "int64"),
        (np.zeros((2, 2), np.uint64), "shape"),
    ]
    with (
        Store.create(tmp_path / "s.db", fingerprints_only=True) as store,
        store.fingerprints.reader() as reader,
    ):
        for values, reason in cases:
            for use in (store.fingerprints.add, store.fingerprints.remove, reader.near_many):
                with pytest.raises(InvalidParameter, match=reason):
                    use(values)
        with pytest.raises(InvalidParameter, match="radius 65"):
            reader.near(0, 65)
        with pytest.raises(InvalidParameter, match="radius -1"):
            reader.near_many([0], -1)
        with pytest.raises(InvalidParameter, match="from 0 to"):
            reader.near(1 << 64)
        with pytest.raises(InvalidParameter, match="whole number of bits, not float"):
            reader.near(0, 1.5)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="whole number of bits, not bool"):
            reader.near_many([0], True)


@pytest.mark.slow
@pytest.mark.parametrize(("packed", "resident"), [(False, False), (True, True)])
def test_numbers_of_numpy_are_numbers(tmp_path: Path, packed: bool, resident: bool) -> None:
    values = np.array([5, 1 << 62, 7, (1 << 64) - 1], np.uint64)
    with Store.create(tmp_path / "s.db", fingerprints_only=True) as store:
        store.fingerprints.add(values)
        if packed:
            store.maintenance.compact()
        with store.fingerprints.reader(resident=resident) as reader:
            for radius in (0, 3, 64):
                for value in values:
                    found = reader.near(value, np.int64(radius))  # type: ignore[arg-type]
                    assert found == reader.near(int(value), radius)
                    assert (int(value), 0) in found


def test_reader_refuses_after_its_block(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", fingerprints_only=True) as store:
        store.fingerprints.add([5])
        with store.fingerprints.reader() as reader:
            assert reader.near(5) == [(5, 0)]
        for ask in (
            lambda: reader.near(5),
            lambda: reader.near_many([5]),
            lambda: list(reader.near_pairs()),
            lambda: list(reader.fingerprints()),
            lambda: reader.documents_with([5]),
        ):
            with pytest.raises(InvalidParameter, match="block has ended"):
                ask()


def test_array_of_too_many_bits_is_refused(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", fingerprints_only=True, bits=70) as store:
        assert store.fingerprints.add(np.array([[63, 5]], np.uint64)) == 1
        with pytest.raises(InvalidParameter, match="more than 70 bits"):
            store.fingerprints.add(np.array([[64, 5]], np.uint64))


@pytest.mark.slow
@settings(max_examples=FEW)
@given(bits_and_radius(), st.integers(0, 2**32), st.sampled_from([3, 1 << 16]))
def test_fingerprints_that_are_near_one_before_them_are_left_out(
    size: tuple[int, int], seed: int, chunk: int
) -> None:
    width, radius = size
    stored, samples = drawn(width, radius, seed)
    source = random.Random(seed)
    given_values = [*stored, *samples, *source.sample(stored, min(len(stored), 5))]
    source.shuffle(given_values)
    expected: list[int] = []
    for value in given_values:
        if not any((value ^ other).bit_count() <= radius for other in expected):
            expected.append(value)
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        Store.create(Path(folder) / "f.db", fingerprints_only=True, bits=width) as store,
    ):
        patch.setattr(given_service, "APART_FINGERPRINTS", chunk)
        assert store.fingerprints.add(given_values, apart=radius) == len(expected)
        assert store.fingerprints.add(given_values, apart=radius) == 0
        with store.fingerprints.reader() as reader:
            assert reader.count == len(expected)
            assert all(reader.near(value, 0) for value in expected)
