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
from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.fingerprint.shingle_sets import runs
from simstore.search import anchor_pages
from simstore.search.anchor_pages import (
    Posting,
    Postings,
    in_order,
    layout_for,
    pack,
    pack_document,
    pack_spans,
    unpack,
    unpack_document,
    unpack_spans,
    unpack_words,
)
from simstore.services.check import passage_index
from simstore.services.check.passage_lookup import near_passages
from simstore.storage import anchor_segments, passages
from simstore.store import Store
from simstore.text.located import located_units

Row = tuple[int, int, int]  # hash, start, length


@st.composite
def posting_arrays(draw: st.DrawFn) -> Postings:
    hashes = st.one_of(
        st.integers(0, (1 << 40) - 1), st.sampled_from([0, 1, (1 << 40) - 1, 1 << 39])
    )
    most = draw(st.sampled_from([200, 60_000, 1 << 20, 1 << 30]))
    row = st.tuples(
        hashes, st.integers(1, most), st.integers(0, most), st.integers(1, min(most, 65_535))
    )
    rows = draw(st.lists(row, max_size=60, unique_by=lambda one: one[:3]))
    repeats = draw(st.integers(0, 9))
    rows += [(7, 1, place, 5) for place in range(repeats)]
    return np.array(rows, Posting)


@given(posting_arrays(), st.integers(8, 40), st.booleans())
def test_postings_come_back_from_their_pages(
    postings: Postings, key_bits: int, is_narrow: bool
) -> None:
    postings = in_order(postings)
    most = (int(postings[name].max(initial=0)) for name in ("entry", "start", "length"))
    layout = layout_for(len(postings), *most)
    low_bytes = 3 if is_narrow and key_bits >= 16 else 4
    layout = replace(layout, key_bits=key_bits, low_bytes=low_bytes)
    assert layout.is_possible
    with mock.patch.object(anchor_pages, "CROWDED", 4):
        pages = list(pack(postings, layout))
    numbers = [number for number, _ in pages]
    assert numbers == sorted(set(numbers))
    found, crowded = unpack(numbers, [blob for _, blob in pages], layout)
    assert np.array_equal(in_order(found), postings)
    hashes, counts = np.unique(postings["hash"], return_counts=True)
    assert sorted(crowded.tolist()) == hashes[counts > 4].tolist()
    for number, blob in pages:
        alone, _ = unpack([number], [blob], layout)
        own = bool(number & 1)
        expected = anchor_pages.own_pages if own else layout.pages_of
        assert (expected(alone["hash"]) == number).all()


@given(posting_arrays())
def test_postings_of_a_document_come_back(postings: Postings) -> None:
    postings["entry"] = 9
    assert np.array_equal(unpack_document(9, pack_document(postings)), postings)


@given(st.lists(st.tuples(st.integers(0, 70_000), st.integers(1, 70_000)), max_size=20))
def test_spans_come_back(gaps: list[tuple[int, int]]) -> None:
    bounds = np.cumsum([number for gap in gaps for number in gap]).astype(np.int32).reshape(-1, 2)
    words = np.arange(len(bounds), dtype=np.uint64) << np.uint64(57)
    assert np.array_equal(unpack_spans(pack_spans(bounds)), bounds)
    assert len(unpack_words(pack_spans(bounds))) == 0
    assert np.array_equal(unpack_spans(pack_spans(bounds, words)), bounds)
    assert np.array_equal(unpack_words(pack_spans(bounds, words)), words)


def test_damaged_spans_are_refused() -> None:
    for blob in (b"", b"\x03abc", b"\x01abc", b"\x00"):
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
        mock.patch.object(passages, "TAIL_POSTINGS", 12),
        mock.patch.object(anchor_segments, "FAN_OUT", 2),
        mock.patch.object(anchor_segments, "_MERGED_AT_ONCE", 8),
        mock.patch.object(anchor_pages, "CROWDED", 3),
        mock.patch.object(passage_index, "BATCH_DOCUMENTS", 2),
    ):
        yield


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
        counted = passages.counts(connection, hashes).tolist()
        counts = dict(zip(hashes.tolist(), counted, strict=True))
        every = [row[0] for rows in told.values() for row in rows]
        assert all(count >= every.count(number) for number, count in counts.items())
        few = passages.postings(connection, asked, most=3)
        kept = np.isin(found.hashes, [number for number, count in counts.items() if count <= 3])
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
            assert status.segment_count <= 1
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
