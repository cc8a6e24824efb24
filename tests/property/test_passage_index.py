"""The passage index after any life of a store is that of the documents that are left."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.errors import Conflict, InvalidParameter
from simstore.fingerprint.passage_recipe import Cut, IndexedText, PassageRecipe
from simstore.fingerprint.shingle_sets import runs
from simstore.index import tuning
from simstore.index.pages import DamagedPage, Entries
from simstore.index.passages import (
    PASSAGES,
    keys_of,
    pack_entries,
    pack_spans,
    unpack_entries,
    unpack_spans,
)
from simstore.services.check import passage_index
from simstore.services.check.passage_lookup import near_passages
from simstore.storage import passages
from simstore.store import Store
from simstore.text.located import located_units

Row = tuple[int, int, int]  # hash, start, length


hashes = st.one_of(st.integers(0, (1 << 40) - 1), st.sampled_from([0, 1, (1 << 40) - 1, 1 << 39]))
rows_of_texts = st.lists(
    st.tuples(hashes, st.integers(0, (1 << 31) - 1), st.integers(1, 65_535)), max_size=30
)


def indexed_text(rows: list[Row]) -> IndexedText:
    numbers, starts, lengths = np.array(rows, np.int64).reshape(-1, 3).T
    none = np.empty((0, 2), np.int32)
    return IndexedText(
        none,
        numbers.astype(np.uint64),
        starts.astype(np.int32),
        lengths.astype(np.int32),
        np.empty(0, np.uint64),
    )


@given(st.lists(rows_of_texts, max_size=4))
def test_postings_of_texts_come_back(made: list[list[Row]]) -> None:
    packed = [(number, pack_entries(indexed_text(rows))) for number, rows in enumerate(made, 7)]
    assert [blob is None for _, blob in packed] == [not rows for rows in made]
    held = [(number, blob) for number, blob in packed if blob is not None]
    found = unpack_entries([number for number, _ in held], [blob for _, blob in held])
    told = [
        (key, *values)
        for key, values in zip(found.keys.tolist(), found.values.tolist(), strict=True)
    ]
    assert told == [
        (hash_ >> 8 << 32, number, start, length)
        for number, rows in enumerate(made, 7)
        for hash_, start, length in rows
    ]


def test_damaged_postings_of_a_text_are_refused() -> None:
    whole = pack_entries(indexed_text([(1, 2, 3)]))
    assert whole is not None
    with pytest.raises(DamagedPage) as error:
        unpack_entries([5, 6], [whole, whole[1:]])
    assert error.value.place == 6


@given(st.lists(st.tuples(st.integers(0, 70_000), st.integers(1, 70_000)), max_size=20))
def test_spans_come_back(gaps: list[tuple[int, int]]) -> None:
    bounds = np.cumsum([number for gap in gaps for number in gap]).astype(np.int32).reshape(-1, 2)
    of_all = np.arange(len(bounds), dtype=np.uint64) << np.uint64(57)
    for words in (np.empty(0, np.uint64), of_all):
        spans, found = unpack_spans(pack_spans(bounds, words))
        assert np.array_equal(spans, bounds)
        assert np.array_equal(found, words)


def test_short_spans_take_two_bytes() -> None:
    spans = np.array([[0, 200], [201, 380]], np.int32)
    assert len(pack_spans(spans, np.empty(0, np.uint64))) == 4 + 2 * 2


def test_damaged_spans_are_refused() -> None:
    for blob in (b"", b"\x01", b"\x01\0\0\0a", b"\x01\0\0\0ab-", b"\x01\0\0\0a\xff123"):
        with pytest.raises(ValueError, match="damaged"):
            unpack_spans(blob)


WORDS = ["river", "stone", "lamp", "harbour", "bridge", "the", "of", "a"]
parts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.text(st.sampled_from("船在港口靠岸"), max_size=20),
    st.sampled_from(["the lamp of the bridge " * 8, "船在港口靠岸。" * 9, "", ". "]),
)
texts = st.lists(parts, max_size=4).map(". ".join)
keys = st.sampled_from([f"page {n}" for n in range(6)])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(keys, texts), min_size=1, max_size=4)),
        st.tuples(st.just("remove"), st.lists(keys, min_size=1, max_size=3)),
        st.tuples(st.just("build"), st.none()),
        st.tuples(st.just("drop"), st.none()),
        st.tuples(st.just("compact"), st.none()),
    ),
    max_size=12,
)


@contextmanager
def small_parts() -> Iterator[None]:
    with (
        mock.patch.object(passages, "TAIL_TEXTS", 3),
        mock.patch.object(passages, "PASSAGES", replace(PASSAGES, most_runs=1)),
        mock.patch.object(tuning, "MERGED_ENTRIES", 8),
        mock.patch.object(passage_index, "BATCH_DOCUMENTS", 2),
    ):
        yield


@given(st.lists(texts, max_size=6), st.booleans(), st.sampled_from(["sentences", "window"]))
def test_texts_are_indexed_together_as_one_by_one(
    made: list[str], fingerprints: bool, cut: Cut
) -> None:
    recipe = PassageRecipe(cut, fingerprints=fingerprints, sentences=True, neighbours=True)
    found = recipe.index_many(made)
    assert len(found) == len(made)
    for text, one in zip(made, found, strict=True):
        alone = recipe.index(text)
        assert one.term_count == alone.term_count
        for name in ("spans", "hashes", "starts", "lengths", "words"):
            assert np.array_equal(getattr(one, name), getattr(alone, name)), name


def expected_rows(recipe: PassageRecipe, held: dict[str, str]) -> dict[str, list[Row]]:
    found = {}
    for key, text in held.items():
        made = recipe.index(text)
        rows = zip(made.hashes.tolist(), made.starts.tolist(), made.lengths.tolist(), strict=True)
        found[key] = sorted(rows)
    return found


def check_index(store: Store, held: dict[str, str], *, fingerprints: bool = False) -> None:
    """The index says of each document what its text alone calls for, and of nothing else."""
    recipe = PassageRecipe(fingerprints=fingerprints, neighbours=True)
    expected = expected_rows(recipe, held)
    hashes = np.array(sorted({row[0] for rows in expected.values() for row in rows}), np.uint64)
    with store._opened.database.read() as connection:
        ids = dict(connection.exec_driver_sql("SELECT document_id, key FROM document").fetchall())
        assert {key.decode() for key in ids.values()} == set(held)
        asked = np.concatenate((hashes, hashes[:2], np.array([5, 1 << 39], np.uint64)))
        found = passages.postings(connection, asked)
        told: dict[str, list[Row]] = {key: [] for key in held}
        for number, document, start, length in zip(
            *(getattr(found, name).tolist() for name in found.__slots__), strict=True
        ):
            told[ids[document].decode()].append((number, start, length))
        assert {key: sorted(rows) for key, rows in told.items()} == expected
        index = passages.runs_of(connection)
        tail = passages.tail(connection, index.last)
        # Those of texts that are gone count, too.
        stored = Entries.joined([tail, *(part for run in index.runs for part in index.scan(run))])
        numbers, counts = np.unique(stored.keys, return_counts=True)
        few = passages.postings(connection, asked, most=3)
        kept = np.isin(keys_of(found.hashes), numbers[counts <= 3])
        assert np.array_equal(few.hashes, found.hashes[kept])
        assert np.array_equal(few.starts, found.starts[kept])
        spans = passages.passages_of(connection, list(ids))
        for document, key in ids.items():
            made = recipe.index(held[key.decode()])
            assert np.array_equal(spans[document][0], made.spans)
            assert np.array_equal(spans[document][1], made.words)


@pytest.mark.slow
@settings(max_examples=25)
@given(steps, st.booleans())
def test_index_after_any_life_is_that_of_what_is_left(
    life: list[tuple[str, object]], fingerprints: bool
) -> None:
    held: dict[str, str] = {}
    indexed = True
    with (
        tempfile.TemporaryDirectory() as folder,
        small_parts(),
        Store.create(Path(folder) / "store.db", synchronous="normal") as store,
    ):
        store.passages.build(fingerprints=fingerprints)
        for what, given_to in life:
            if what == "add":
                store.add_many(given_to, batch_documents=2)
                held |= dict(given_to)
            elif what == "remove":
                store.remove(*given_to, missing_ok=True)
                held = {key: text for key, text in held.items() if key not in given_to}
            elif what == "drop":
                store.maintenance.compact(drop_passages=True)
                assert store.passages.status() is None
                indexed = False
            elif what == "build":
                store.passages.build(fingerprints=fingerprints)
                indexed = True
            else:
                store.maintenance.compact()
            if indexed:
                check_index(store, held, fingerprints=fingerprints)
        assert store.maintenance.fsck() == []
        store.maintenance.compact()
        if indexed:
            check_index(store, held, fingerprints=fingerprints)
            status = store.passages.status()
            assert status is not None
            assert (status.stale_count, status.unpacked_count, status.complete) == (0, 0, True)
            assert status.run_count <= 1
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_interrupted_build_goes_on_and_covers_what_came_meanwhile(tmp_path: Path) -> None:
    held = {f"key {n}": f"the river {n} and the lamp of the harbour bridge {n}" for n in range(9)}
    with small_parts(), Store.create(tmp_path / "store.db") as store:
        store.add_many(held.items())

        class Stop(Exception):
            pass

        def stop(done: int, total: int) -> None:
            if done >= 4:
                raise Stop

        with pytest.raises(Stop):
            store.passages.build(on_progress=stop)
        status = store.passages.status()
        assert status is not None
        assert (status.complete, status.waiting_count) == (False, 5)
        assert store.maintenance.fsck() == []
        for key in ("key 0", "key 8", "new"):
            held[key] = f"changed {key}: a river of stone, and the bridge of the lamp, {key}"
            store.add(key, held[key])
        store.remove("key 7")
        del held["key 7"]
        told: list[tuple[int, int]] = []
        store.passages.build(on_progress=lambda done, total: told.append((done, total)))
        assert told[-1][1] == len(held)
        check_index(store, held)
        assert store.maintenance.fsck() == []


def plain_fingerprint(units: list[int]) -> int:
    """The SimHash of pairs of units, vote by vote."""
    if len(units) < 2:
        return units[0] if units else 0
    pairs = [
        int(runs(np.array(units[place : place + 2], np.uint64), 2)[0])
        for place in range(len(units) - 1)
    ]
    bits = 0
    for bit in range(64):
        votes = sum(1 if pair >> bit & 1 else -1 for pair in pairs)
        bits |= (votes > 0) << bit
    return bits


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(texts, min_size=1, max_size=5), texts)
def test_near_passages_are_those_within_three_bits(stored: list[str], asked: str) -> None:
    recipe = PassageRecipe(fingerprints=True)

    def passages_of(text: str) -> list[tuple[int, int, int]]:
        units = located_units(text)
        found = []
        for start, end in recipe.spans(text).tolist():
            inside = (units.starts >= start) & (units.starts < end)
            found.append((start, end, plain_fingerprint(units.hashes[inside].tolist())))
        return found

    with (
        tempfile.TemporaryDirectory() as folder,
        small_parts(),
        Store.create(Path(folder) / "store.db", synchronous="normal") as store,
    ):
        store.passages.build(fingerprints=True)
        store.add_many((f"k{number}", text) for number, text in enumerate(stored))
        expected = sorted(
            (place, document, start, end, (one ^ other).bit_count())
            for place, (_, _, one) in enumerate(passages_of(asked))
            for document, text in enumerate(stored, 1)
            for start, end, other in passages_of(text)
            if (one ^ other).bit_count() <= 3
        )
        with store._opened.database.read() as connection:
            snapshot = store._opened.snapshot(connection)
            found = near_passages(snapshot, asked)
        columns = (getattr(found, name).tolist() for name in found.__slots__)
        assert sorted(zip(*columns, strict=True)) == expected


def test_fingerprints_are_asked_for_where_they_are(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store.db") as store:
        store.passages.build()
        with store._opened.database.read() as connection:
            snapshot = store._opened.snapshot(connection)
            with pytest.raises(InvalidParameter, match=r"passages\.build\(fingerprints=True"):
                near_passages(snapshot, "text")
        with pytest.raises(Conflict, match="without fingerprints"):
            store.passages.build(fingerprints=True)
