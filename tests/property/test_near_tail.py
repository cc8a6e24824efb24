"""What is kept of a tail in memory misses nothing of it, whoever changes the store, and how."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from simstore.index import tuning
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage.fingerprints import fingerprints, tail
from simstore.store import Store

from .test_batches import new_store
from .test_clusters import TEXTS


def words_of(values: list[int], bits: int) -> NDArray[np.uint64]:
    count = 2 if bits > 64 else 1
    rows = [[value >> (64 * place) & (2**64 - 1) for place in range(count)] for value in values]
    return np.array(rows, np.uint64).reshape(-1, count)


FEW_TEXTS = st.lists(TEXTS, min_size=1, max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "add by another", "break off"]), FEW_TEXTS),
        st.tuples(st.just("add"), FEW_TEXTS),
        st.tuples(st.sampled_from(["remove", "compact", "plain"]), st.just([])),
    ),
    max_size=8,
)


@pytest.mark.sqlite("writers of a server write beside each other, and keep no tail")
@settings(max_examples=max(settings.default.max_examples // 2, 1))
@given(STEPS)
def test_kept_tail_holds_all_that_the_tail_holds(steps: list[tuple[str, list[str]]]) -> None:
    with (
        new_store(SchemeChoice("web")) as (place, store),
        Store.open(place / "s.db", synchronous="normal") as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(tuning, "TAIL_EACH", 1 << 20)
        keys: list[str] = []
        for step, texts in steps:
            new = [f"page {len(keys) + number}" for number in range(len(texts))]
            documents = list(zip(new, texts, strict=True))
            if step == "add":
                store.add_many(documents, on_duplicate="flag", threads=1)
                keys += new
            elif step == "add by another":
                other.add_many(documents)
                keys += new
            elif step == "break off":
                with pytest.raises(ZeroDivisionError):
                    break_off(store, texts)
            elif step == "remove" and keys:
                store.remove(keys.pop(len(keys) // 2))
            elif step in ("compact", "plain"):
                store.maintenance.compact(plain=step == "plain")
            check_kept(store)


def break_off(store: Store, texts: list[str]) -> None:
    """Add fingerprints in a transaction that comes to nothing."""
    opened = store._opened
    with opened.write() as connection:
        snapshot = opened.snapshot(connection)
        assert snapshot.generation is not None
        words = words_of([len(text) + 1 for text in texts], 64)
        fingerprints.add(
            connection, 64, snapshot.generation.generation_id, np.unique(words, axis=0)
        )
        opened.note_added(snapshot, words)
        raise ZeroDivisionError


def check_kept(store: Store) -> None:
    opened = store._opened
    with opened.database.read() as connection:
        row = opened.state(connection).generation
        assert row is not None
        tables = opened.tail_tables(connection, 64, row, 1)
        assert tables is not None
        parts = tail.scan(connection, 64, row.generation_id)
        held = np.concatenate([words_of([], 64), *parts])
    rows, found, _ = tables.near_many(held, 0)
    assert set(rows.tolist()) == set(range(len(held)))
    assert (found == held[rows]).all()
