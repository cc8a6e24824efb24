"""Sketches and titles are found as all of them compared one by one say, whatever was packed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.sketching import unpack_sketches
from simstore.fingerprint.titles import asked_forms, stored_forms, title_words
from simstore.index import pages, postings, tuning
from simstore.index.bands import KEY_BITS, band_keys, form_keys
from simstore.index.pages import Entries
from simstore.index.postings import Kind
from simstore.services.channels import pack_sketches, sketch_search
from simstore.services.channels.character_part import CharacterSearch
from simstore.services.channels.sketch_search import SketchSearch
from simstore.storage.index_pages import stored_index
from simstore.storage.sketches import SKETCHES
from simstore.store import Store

from .state import assert_sound

few = settings(max_examples=max(settings.default.max_examples // 10, 3))
WORDS = ["river", "stone", "lamp", "harbour", "bridge", "tide"]
TITLE = st.lists(st.sampled_from(WORDS), min_size=0, max_size=5)
TEXT = st.builds(
    lambda start, end: " ".join(WORDS * 4 + [f"word{n}" for n in range(start, start + end)]),
    st.integers(0, 30),
    st.integers(0, 30),
)
TEXTS = st.one_of(TITLE.map(" ".join), TEXT)
KEYS = st.sampled_from("abcdefgh")
NAMES = ("minhash", "characters")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(KEYS, TEXTS), min_size=1, max_size=5)),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.sampled_from(["pack", "compact", "ask", "fail"]), st.none()),
        st.tuples(st.just("bands"), st.sampled_from([(42, 3), (16, 8), (20, 2)])),
    ),
    max_size=8,
)


class _Fails(Exception):
    pass


@pytest.fixture(autouse=True)
def _tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "TAIL_SKETCHES", 2)
    monkeypatch.setattr(tuning, "MERGED_ENTRIES", 500)
    monkeypatch.setattr(postings, "_LEAST_LEVEL_BITS", 4)


def compare(store: Store, asked: list[str], few_keys: int) -> None:
    """Compare what is found with all that is stored."""
    opened = store._opened
    with opened.database.read() as connection, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketch_search, "_FEW_KEYS", few_keys)
        snapshot = opened.snapshot(connection)
        ids = {one.document_id: one.text or "" for one in store.list(with_text=True)}
        for name in NAMES:
            recipe = snapshot.channels.recipe(name)
            rows = SKETCHES[name].of_documents(connection, snapshot.scheme_id, list(ids))
            held = {number: row.packed for number, row in rows.items() if row.packed}
            sizes, made = recipe.sketching.sketched(asked)
            wanted = made[sizes > 0]
            for least in (0.0, 0.8):
                search = SketchSearch(snapshot, name, least)
                layout = search.layout
                own = band_values(unpack_sketches(list(held.values()), recipe.sketching), layout)
                expected = [
                    {n for n, row in zip(held, own, strict=True) if (row == query).any()}
                    for query in band_values(wanted, layout)
                ]
                assert [set(one) for one in search.find(wanted)] == expected
                # Removed sketches may be found, too.
                assert all(
                    search.may_agree(one) or not found
                    for one, found in zip(wanted, expected, strict=True)
                )
        words = [title_words(text) for text in asked]
        named = CharacterSearch(snapshot, "characters")._named(words)
        assert [set(one) for one in named] == [
            {n for n, text in ids.items() if asked_forms(own) & stored_forms(title_words(text))}
            for own in words
        ]


def fail(store: Store) -> None:
    """Pack in a transaction that is undone after others have looked at it."""
    opened = store._opened
    with suppress(_Fails), opened.write() as connection:
        snapshot = opened.snapshot(connection)
        index = SketchSearch(snapshot, "minhash")._index
        some = Entries(
            np.arange(9, dtype=np.uint64) << np.uint64(40), np.full((9, 1), 7, np.uint64)
        )
        index.add(some, index.last + 9)
        index.look_up_few(some.keys)
        raise _Fails


@pytest.mark.slow
@few
@given(STEPS, st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from([0, 10_000]))
def test_any_history_finds_what_all_compared_say(
    steps: list[tuple[str, Any]], asked: list[str], few_keys: int
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", synchronous="normal", channels=NAMES) as store,
        Store.open(Path(folder) / "s.db") as other,
    ):
        for step, value in steps:
            if step == "add":
                store.add_many(value, threads=1)
            elif step == "remove":
                if value in {one.key for one in store.list()}:
                    store.remove(value)
            elif step == "pack":
                for name in NAMES:
                    pack_sketches.pack_long_tail(store._opened, name)
            elif step == "compact":
                store.maintenance.compact()
            elif step == "bands":
                other.maintenance.compact(value)
                assert store.stats().bands.startswith(str(BandLayout(*value)))
            elif step == "fail":
                fail(store)
            else:
                compare(other, asked, few_keys)
        for one in (store, other):
            compare(one, asked, few_keys)
        assert_sound(store)


def entry_batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    source = np.random.default_rng(3)
    pool = source.integers(0, 1 << 64, 40, np.uint64, endpoint=False)
    for count in (0, 1, 700, 30, 4_000, 5, 90):
        yield pool[source.integers(0, 40, count)], source.integers(0, 3_000, count, np.uint64)


@pytest.mark.parametrize("kind", [Kind("a", KEY_BITS, 1), Kind("b", 64, 1, is_filtered=False)])
@pytest.mark.parametrize("row_bytes", [40, 1_974])
def test_few_keys_find_what_many_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, row_bytes: int
) -> None:
    # Crowded pages of many rows, in several runs.
    monkeypatch.setattr(pages, "ROW_BYTES", row_bytes)
    held: set[tuple[int, int]] = set()
    mask = (1 << 64) - (1 << (64 - kind.key_bits))
    with Store.create(tmp_path / "s.db") as store, store._opened.write() as connection:
        index = stored_index(connection, kind, 1)
        for keys, numbers in entry_batches():
            index.add(Entries(keys, numbers[:, None]))
            held |= {(k & mask, n) for k, n in zip(keys.tolist(), numbers.tolist(), strict=True)}
        present = sorted({key for key, _ in held})
        asked = np.array([*present[::3], 5, present[-1] ^ (1 << 63)], np.uint64)
        expected = sorted(
            (turn, number)
            for turn, own in enumerate(asked.tolist())
            for key, number in held
            if key == own & mask
        )
        few = index.look_up_few(asked)
        assert sorted({(turn, number) for turn, (number,) in few}) == expected
        turns, found = index.look_up(asked)
        many = zip(turns.tolist(), found.values[:, 0].tolist(), strict=True)
        assert sorted(many) == sorted((turn, number) for turn, (number,) in few)


def test_a_key_of_a_band_is_no_other_bands() -> None:
    hashes = np.full((1, 256), 0x123456789ABCDEF0, np.uint64)
    assert len(np.unique(band_keys(hashes))) == 256
    assert (band_keys(hashes)[:, :20] == band_keys(hashes[:, :20])).all()
    assert form_keys([(1 << 63) - 1, 0]).tolist() == [((1 << 32) - 1) << 32, 0]
