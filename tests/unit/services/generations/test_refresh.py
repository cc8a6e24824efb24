"""The vocabulary, its generations, and how far they have drifted."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from stores import SIMTOOL, TEXTS, create, filled, rows

from simstore import Files
from simstore.errors import InvalidParameter, StaleGeneration
from simstore.model import QueryOptions
from simstore.store import Store


def test_top_of_the_vocabulary_is_that_of_all_counts_however_they_lie_about(tmp_path: Path) -> None:
    """Counts are spread over the table and deltas that were never merged."""
    seed = 1
    chance = random.Random(seed)
    held: dict[str, str] = {}
    with create(tmp_path) as store:
        for _ in range(12):
            key = f"k{chance.randrange(6)}"
            if key in held and chance.random() < 0.3:
                store.remove(key)
                del held[key]
            else:
                held[key] = " ".join(chance.choice("abcdefgh") for _ in range(chance.randrange(9)))
                store.add(key, held[key])
            if chance.random() < 0.2:
                store.maintenance.compact()
    totals = Counter(word for text in held.values() for word in text.split())
    documents = Counter(word for text in held.values() for word in set(text.split()))
    ordered = [
        (word, documents[word], totals[word])
        for word in sorted(totals, key=lambda word: (-totals[word], word))
    ]
    with Store.open(tmp_path / "s.db", read_only=True) as store:
        for limit in [None, *range(1, 10)]:
            found = [
                (v.term, v.document_count, v.total_count) for v in store.vocabulary.terms(limit)
            ]
            assert found == ordered[:limit]


def test_status_says_how_far_the_generation_has_drifted(tmp_path: Path) -> None:
    with filled(tmp_path, SIMTOOL, policy="frozen") as store:
        store.vocabulary.refresh()
        fresh = store.vocabulary.status()
        assert (fresh.fresh, fresh.changed_ranks, fresh.entering_terms) == (True, 0, 0)
        assert (fresh.changed_fingerprints, fresh.waiting) == (0, 0)
        assert fresh.sampled == len(TEXTS)
        assert fresh.rank_count == 5
        store.add("rivers", "river " * 50)
        drifted = store.vocabulary.status()
        assert not drifted.fresh
        assert (drifted.changed_ranks, drifted.entering_terms) == (5, 1)
        assert drifted.changed_fingerprints > 0
        assert drifted.sampled == len(TEXTS) + 1
        store.vocabulary.refresh()
        again = store.vocabulary.status()
        assert (again.fresh, again.changed_ranks, again.changed_fingerprints) == (True, 0, 0)


def test_policy_can_be_changed(tmp_path: Path) -> None:
    with filled(tmp_path, SIMTOOL) as store:
        store.vocabulary.set_policy("frozen")
        store.add("a", "river river river")
        assert not store.stats().fresh
        store.vocabulary.set_policy("live")
        store.add("b", "lamp")
        assert store.stats().fresh
        with pytest.raises(InvalidParameter, match="frozen"):
            store.vocabulary.set_policy("lively")  # type: ignore[arg-type]


def test_store_without_generation_answers_nothing(tmp_path: Path) -> None:
    with create(tmp_path, SIMTOOL) as store:
        options = QueryOptions(plan="segments")
        assert store.query_many([("", "river")], options)[0].matches == ()
        store.add("a", "river", refresh=False)
        assert store.query_many([("", "river")], options)[0].matches == ()
        assert store.stats().waiting == 1
        assert store.maintenance.fsck() == []


def test_stale_answer_says_so_and_fresh_one_can_be_required(tmp_path: Path) -> None:
    sample = tmp_path / "sample.txt"
    sample.write_bytes(b"sample\nriver\n\f")
    with filled(tmp_path, SIMTOOL) as store:
        store.add("rivers", "river " * 50, refresh=False)
        stale = store.query_many(Files(str(sample)), record=True)
        assert stale.stale
        assert stale.run_id is not None
        assert store.report(stale.run_id).stale == stale.stale
        fresh = store.query_many(Files(str(sample)), require_fresh=True, record=True)
        assert fresh.stale is None
        assert [m.key for m in fresh.samples[0].matches] == ["rivers"]
        store.add("rivers", "river " * 60, refresh=False)
    with (
        Store.open(tmp_path / "s.db", read_only=True) as store,
        pytest.raises(StaleGeneration, match="refresh"),
    ):
        store.query_many(Files(str(sample)), require_fresh=True, record=True)


class Interrupted(Exception):
    """Stands for a process that ends in the middle."""


def test_interrupted_refresh_leaves_the_standing_generation(tmp_path: Path) -> None:
    def interrupt(_done: int, _total: int) -> None:
        raise Interrupted

    with filled(tmp_path, SIMTOOL) as store:
        before = [(one.key, one.fingerprint) for one in store]
        with pytest.raises(Interrupted):
            store.vocabulary.refresh(force=True, on_progress=interrupt)
        assert [(one.key, one.fingerprint) for one in store] == before
        assert store.maintenance.fsck() == []
        store.add("rivers", "river " * 50)
        assert store.stats().fresh
        assert store.maintenance.fsck() == []
    statuses = rows(tmp_path, "SELECT status FROM generation")
    assert statuses == [("standing",)]
